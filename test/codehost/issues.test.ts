import { ignores, onGitea, onGithub, onGogs, shows } from './golden.ts';
import { gitea, github, gogs } from './hosts.ts';

const issue = {
  number: 7,
  title: 'The gate squeaks',
  user: { login: 'anna', id: 1 },
  body: 'Every morning.',
  html_url: 'https://github.com/anna/garden/issues/7',
};
const giteaIssue = {
  html_url: 'https://gitea.example/ben/shed/issues/4',
  number: 4,
  user: gitea.sender,
  title: 'It leaks',
  body: '',
  pull_request: null,
};
const gogsIssue = { number: 6, user: gogs.sender, title: 'Mice', body: 'Many.', pull_request: null };

describe('codehost: issues', () => {
  onGithub(
    'GitHub, opened',
    'issues',
    { action: 'opened', issue },
    {
      title: '[anna/garden] Issue opened: #7 The gate squeaks',
      url: 'https://github.com/anna/garden/issues/7',
      description: 'Every morning.',
      color: 0x1f883d,
    },
  );
  onGithub(
    'GitHub, opened with a null body',
    'issues',
    { action: 'opened', issue: { ...issue, body: null } },
    { title: '[anna/garden] Issue opened: #7 The gate squeaks', url: 'https://github.com/anna/garden/issues/7', color: 0x1f883d },
  );
  const rows: [string, string | null | undefined, string, number][] = [
    ['reopened', 'reopened', 'Issue reopened', 0x1f883d],
    ['closed', 'completed', 'Issue closed', 0xcf222e],
    ['closed', undefined, 'Issue closed', 0xcf222e],
    ['closed', 'not_planned', 'Issue closed as not planned', 0x6e7781],
    ['closed', 'duplicate', 'Issue closed as duplicate', 0x6e7781],
  ];
  for (const [action, reason, title, color] of rows)
    onGithub(
      `GitHub, ${action} ${reason}`,
      'issues',
      { action, issue: { ...issue, state_reason: reason } },
      { title: `[anna/garden] ${title}: #7 The gate squeaks`, url: 'https://github.com/anna/garden/issues/7', color },
    );
  onGitea(
    'Gitea and Forgejo, closed',
    'issues',
    { action: 'closed', number: 4, issue: giteaIssue, commit_id: '' },
    { title: '[ben/shed] Issue closed: #4 It leaks', url: 'https://gitea.example/ben/shed/issues/4', color: 0xcf222e },
  );
  onGogs(
    'Gogs, which sends no link',
    'issues',
    { action: 'opened', number: 6, issue: gogsIssue },
    {
      title: '[carl/barn] Issue opened: #6 Mice',
      url: 'https://example.org/gogs/carl/barn/issues/6',
      description: 'Many.',
      color: 0x1f883d,
    },
  );

  const body = (text: string) => ({ action: 'opened', issue: { ...issue, body: text }, ...github });
  shows(
    'a body with a picture, links, a quote and a list',
    'issues',
    body('![gate](https://x.example/g.png)\n> See [the log](https://x.example/l).\n\n- one\n* two\n\thttps://x.example'),
    { description: 'gate\n> See the log.\n- one\n\\* two\n \\https://x.example' },
  );
  shows('a body with only template comments', 'issues', body('<!-- Say what\nhappened --><!-- more'), {
    title: '[anna/garden] Issue opened: #7 The gate squeaks',
  });
  shows('a long body is cut at a line', 'issues', body(`${'a'.repeat(300)}\n${'b'.repeat(300)}`), { description: `${'a'.repeat(300)}…` });
  shows('a long body is cut at a word', 'issues', body('one two '.repeat(100)), { description: `${'one two '.repeat(49)}one…` });
  shows('a body of one long word is cut by code points', 'issues', body('😀'.repeat(500)), { description: `${'😀'.repeat(399)}…` });
  shows('a long body is cut after 10 lines', 'issues', body('x\n\n'.repeat(30)), { description: `${'x\n'.repeat(9)}x…` });

  for (const action of ['edited', 'assigned', 'labeled', 'label_updated', 'milestoned', 'deleted', 'pinned', 'transferred'])
    ignores(action, 'issues', { action, issue, ...github }, `action \`${action}\` of \`issues\` is not posted`, action);
  ignores('no issue', 'issues', { action: 'closed' }, 'the payload has no `issue`', 'closed');
});

describe('codehost: issue_comment', () => {
  const comment = {
    id: 8_589_934_800,
    user: { login: 'anna', id: 1 },
    body: 'Same here.',
    html_url: 'https://github.com/anna/garden/issues/7#issuecomment-8589934800',
  };
  onGithub(
    'GitHub, on an issue',
    'issue_comment',
    { action: 'created', issue, comment },
    {
      title: '[anna/garden] New comment on issue: #7 The gate squeaks',
      url: 'https://github.com/anna/garden/issues/7#issuecomment-8589934800',
      description: 'Same here.',
      color: 0x57606a,
    },
  );
  const onPull = { ...issue, pull_request: { url: 'https://api.github.com/repos/anna/garden/pulls/7', merged_at: null } };
  onGithub(
    'GitHub, on a pull request',
    'issue_comment',
    { action: 'created', issue: onPull, comment },
    {
      title: '[anna/garden] New comment on pull request: #7 The gate squeaks',
      url: 'https://github.com/anna/garden/issues/7#issuecomment-8589934800',
      description: 'Same here.',
      color: 0x57606a,
    },
  );
  onGitea(
    'Gitea and Forgejo, on a pull request',
    'issue_comment',
    {
      action: 'created',
      issue: giteaIssue,
      comment: { id: 90, html_url: 'https://gitea.example/ben/shed/pulls/4#issuecomment-90', user: gitea.sender, body: 'LGTM' },
      is_pull: true,
    },
    {
      title: '[ben/shed] New comment on pull request: #4 It leaks',
      url: 'https://gitea.example/ben/shed/pulls/4#issuecomment-90',
      description: 'LGTM',
      color: 0x57606a,
    },
  );
  onGogs(
    'Gogs, which sends no link',
    'issue_comment',
    { action: 'created', issue: gogsIssue, comment: { id: 8_589_934_833, user: gogs.sender, body: 'A cat?' } },
    {
      title: '[carl/barn] New comment on issue: #6 Mice',
      url: 'https://example.org/gogs/carl/barn/issues/6#issuecomment-8589934833',
      description: 'A cat?',
      color: 0x57606a,
    },
  );
  shows(
    'a comment of a deleted account',
    'issue_comment',
    { action: 'created', issue, comment: { ...comment, user: null }, ...github, sender: null },
    { title: '[anna/garden] New comment on issue: #7 The gate squeaks' },
  );
  for (const action of ['edited', 'deleted'])
    ignores(
      action,
      'issue_comment',
      { action, issue, comment, ...github },
      `action \`${action}\` of \`issue_comment\` is not posted`,
      action,
    );
  ignores('no comment', 'issue_comment', { action: 'created', issue }, 'the payload has no `comment`', 'created');
  ignores('no issue', 'issue_comment', { action: 'created', comment }, 'the payload has no `issue`', 'created');
});
