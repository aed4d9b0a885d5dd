import { ignores, onGitea, onGithub, onGogs, posts, shows } from './golden.ts';
import { gitea, github, gogs } from './hosts.ts';

const pull = {
  number: 12,
  title: 'Fix the hinge',
  user: { login: 'dora', id: 5, html_url: 'https://github.com/dora' },
  body: null,
  html_url: 'https://github.com/anna/garden/pull/12',
  merged: false,
  head: { label: 'dora:hinge', ref: 'hinge' },
  base: { label: 'anna:main', ref: 'main' },
  additions: 1_520,
  deletions: 4,
  changed_files: 3,
};
const event = (action: string, change: object = {}) => ({ action, number: 12, pull_request: { ...pull, ...change }, ...github });
const footer = { text: 'hinge → main · +1,520 −4 in 3 files' };

describe('codehost: pull_request', () => {
  onGithub(
    'GitHub, opened with a body',
    'pull_request',
    event('opened', { body: '## Why\r\n\r\nIt **squeaks**.\r\n\r\n```sh\nmake oil\n```\r\n<!-- template -->' }),
    {
      title: '[anna/garden] Pull request opened: #12 Fix the hinge',
      url: 'https://github.com/anna/garden/pull/12',
      description: 'Why\nIt \\*\\*squeaks\\*\\*.\nmake oil',
      color: 0x1f883d,
      footer,
    },
  );
  const rows: [string, object, string, number][] = [
    ['opened', {}, 'Pull request opened', 0x1f883d],
    ['opened', { draft: true }, 'Draft pull request opened', 0x6e7781],
    ['reopened', { body: 'Not shown again.' }, 'Pull request reopened', 0x1f883d],
    ['reopened', { draft: true }, 'Draft pull request reopened', 0x6e7781],
    ['ready_for_review', {}, 'Pull request ready for review', 0x1f883d],
    ['closed', { state: 'closed' }, 'Pull request closed', 0xcf222e],
    ['closed', { state: 'closed', draft: true, body: 'Not shown again.' }, 'Pull request closed', 0xcf222e],
    ['closed', { state: 'closed', merged: true, merged_at: '2026-03-01T10:00:00Z' }, 'Pull request merged', 0x8250df],
  ];
  for (const [action, change, title, color] of rows)
    onGithub(`GitHub, ${action} ${JSON.stringify(change)}`, 'pull_request', event(action, change), {
      title: `[anna/garden] ${title}: #12 Fix the hinge`,
      url: 'https://github.com/anna/garden/pull/12',
      color,
      footer,
    });

  const giteaPull = {
    number: 3,
    user: gitea.sender,
    title: 'Paint it',
    body: 'Green.',
    html_url: 'https://gitea.example/ben/shed/pulls/3',
    merged: false,
    base: { ref: 'main' },
    head: { ref: 'paint' },
  };
  const giteaEvent = { action: 'opened', number: 3, pull_request: giteaPull, ...gitea };
  onGitea('Gitea, opened', 'pull_request', giteaEvent, {
    title: '[ben/shed] Pull request opened: #3 Paint it',
    url: 'https://gitea.example/ben/shed/pulls/3',
    description: 'Green.',
    color: 0x1f883d,
    footer: { text: 'paint → main' },
  });
  onGitea(
    'Forgejo, merged',
    'pull_request',
    { ...giteaEvent, action: 'closed', pull_request: { ...giteaPull, state: 'closed', merged: true } },
    {
      title: '[ben/shed] Pull request merged: #3 Paint it',
      url: 'https://gitea.example/ben/shed/pulls/3',
      color: 0x8250df,
      footer: { text: 'paint → main' },
    },
  );
  onGogs(
    'Gogs, opened',
    'pull_request',
    {
      action: 'opened',
      number: 5,
      pull_request: {
        number: 5,
        user: gogs.sender,
        title: 'Thatch',
        body: '',
        head_branch: 'thatch',
        base_branch: 'master',
        html_url: 'https://example.org/gogs/carl/barn/pulls/5',
        merged: false,
      },
    },
    {
      title: '[carl/barn] Pull request opened: #5 Thatch',
      url: 'https://example.org/gogs/carl/barn/pulls/5',
      color: 0x1f883d,
      footer: { text: 'thatch → master' },
    },
  );

  posts(
    'a payload with only the action',
    'pull_request',
    { action: 'opened', pull_request: {} },
    { title: 'Pull request opened', color: 0x1f883d },
  );
  shows(
    'no sender: shows the author of the pull request',
    'pull_request',
    { ...event('opened'), sender: null },
    { author: { name: 'dora', url: 'https://github.com/dora' } },
  );
  shows('a number that JSON cannot hold exactly is ignored', 'pull_request', event('opened', { number: 2 ** 63 }), {
    title: '[anna/garden] Pull request opened: #12 Fix the hinge',
  });
  shows(
    'numbers that are not whole are ignored',
    'pull_request',
    { ...event('opened', { number: '12; drop' }), number: 1.5 },
    { title: '[anna/garden] Pull request opened: Fix the hinge' },
  );
  shows(
    'a title with markup, mentions and a right-to-left override',
    'pull_request',
    event('opened', { title: '**x** @here\u202e\u0000 <@&1000000000000000001>\n[a](https://b.example)' }),
    { title: '[anna/garden] Pull request opened: #12 \\*\\*x\\*\\* \\@here \\<@&1000000000000000001> [a](\\https://b.example)' },
  );

  for (const action of ['edited', 'synchronize', 'labeled', 'assigned', 'review_requested', 'converted_to_draft', 'constructor'])
    ignores(`GitHub, ${action}`, 'pull_request', event(action), `action \`${action}\` of \`pull_request\` is not posted`, action);
  ignores(
    'Gitea, synchronized',
    'pull_request',
    { ...giteaEvent, action: 'synchronized' },
    'action `synchronized` of `pull_request` is not posted',
    'synchronized',
  );
  ignores('no action', 'pull_request', { ...event('x'), action: 7 }, '`pull_request` without an action is not posted');
  ignores('no pull request', 'pull_request', { action: 'opened', pull_request: [] }, 'the payload has no `pull_request`', 'opened');
});
