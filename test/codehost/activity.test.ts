// Tests of the parsers and embeds of code host webhooks, with payloads as GitHub, Gitea, Forgejo and Gogs send them.
import { expect } from 'chai';
import { checkEmbeds } from '../../lib/domain/messages/draft.ts';
import { parseDelivery, renderOverflow } from '../../lib/domain/webhooks/codehost/index.ts';
import { ignores, onGitea, onGithub, onGogs, posts, shows } from './golden.ts';
import { gitea, github, githubAuthor, gogs, sha } from './hosts.ts';

describe('codehost: create and delete', () => {
  const rows: [string, string, string, number][] = [
    ['create', 'branch', 'Branch created', 0x0969da],
    ['create', 'tag', 'Tag created', 0x0969da],
    ['delete', 'branch', 'Branch deleted', 0x6e7781],
    ['delete', 'tag', 'Tag deleted', 0x6e7781],
  ];
  for (const [event, kind, title, color] of rows) {
    onGithub(
      `GitHub, ${kind}`,
      event,
      { ref: 'fix/hinge', ref_type: kind, master_branch: 'main', description: null, pusher_type: 'user' },
      { title: `[anna/garden] ${title}: fix/hinge`, url: 'https://github.com/anna/garden', color },
    );
    onGitea(
      `Gitea and Forgejo, ${kind}`,
      event,
      { sha: sha('b'), ref: 'paint', ref_type: kind, pusher_type: 'user' },
      { title: `[ben/shed] ${title}: paint`, url: 'https://gitea.example/ben/shed', color },
    );
    onGogs(
      `Gogs, ${kind}, a full ref`,
      event,
      { ref: kind === 'tag' ? 'refs/tags/v1' : 'refs/heads/v1', ref_type: kind, default_branch: 'master' },
      { title: `[carl/barn] ${title}: v1`, url: 'https://example.org/gogs/carl/barn', color },
    );
  }
  ignores(
    'a repository',
    'create',
    { ref: null, ref_type: 'repository', ...github },
    '`create` of `repository` is not posted; only branches and tags are',
  );
  ignores('no ref', 'delete', { ref_type: 'tag', ...github }, '`delete` of a tag without a name');
});

describe('codehost: star and fork', () => {
  onGithub(
    'GitHub',
    'star',
    { action: 'created', starred_at: '2026-03-01T10:00:00Z' },
    { title: '[anna/garden] New star', url: 'https://github.com/anna/garden', color: 0xeac54f, footer: { text: '1,204 stars' } },
  );
  ignores(
    'a removed star',
    'star',
    { action: 'deleted', starred_at: null, ...github },
    'action `deleted` of `star` is not posted',
    'deleted',
  );
  ignores('the old event name of a star', 'watch', { action: 'started', ...github }, '`watch` is posted as `star`', 'started');

  const made = {
    id: 8_589_935_000,
    name: 'garden',
    full_name: 'eve/garden',
    fork: true,
    html_url: 'https://github.com/eve/garden',
    owner: { login: 'eve' },
  };
  onGithub(
    'GitHub',
    'fork',
    { forkee: made },
    { title: '[anna/garden] Forked to eve/garden', url: 'https://github.com/eve/garden', color: 0x57606a, footer: { text: '12 forks' } },
  );
  const giteaFork = { ...gitea.repository, full_name: 'fay/shed', fork: true, html_url: 'https://gitea.example/fay/shed', forks_count: 0 };
  onGitea(
    'Gitea and Forgejo, whose forkee is the repository that was forked',
    'fork',
    { forkee: gitea.repository, repository: giteaFork, sender: gitea.sender },
    { title: '[ben/shed] Forked to fay/shed', url: 'https://gitea.example/fay/shed', color: 0x57606a, footer: { text: '1 fork' } },
  );
  shows(
    'Gitea, a fork of a fork',
    'fork',
    {
      forkee: giteaFork,
      repository: { ...giteaFork, full_name: 'gil/shed', html_url: 'https://gitea.example/gil/shed', parent: { full_name: 'fay/shed' } },
      sender: gitea.sender,
    },
    { title: '[fay/shed] Forked to gil/shed', url: 'https://gitea.example/gil/shed' },
  );
  shows(
    'GitHub, a fork of a fork',
    'fork',
    { forkee: made, ...github, repository: { ...github.repository, fork: true } },
    { title: '[anna/garden] Forked to eve/garden' },
  );
  onGogs(
    'Gogs',
    'fork',
    { forkee: { ...gogs.repository, full_name: 'hal/barn', fork: true, html_url: 'https://example.org/gogs/hal/barn' } },
    { title: '[carl/barn] Forked to hal/barn', url: 'https://example.org/gogs/hal/barn', color: 0x57606a, footer: { text: '1 fork' } },
  );
  ignores('no forkee', 'fork', github, 'the payload has no `forkee`');
});

describe('codehost: ping and other events', () => {
  const hook = {
    type: 'Repository',
    id: 8_589_935_100,
    name: 'web',
    active: true,
    events: ['push', 'issues'],
    config: { url: 'https://chat.example/api/webhooks/1/secret' },
  };
  onGithub(
    'GitHub, a repository',
    'ping',
    { zen: 'Keep it logically awesome.', hook_id: 8_589_935_100, hook },
    {
      title: '[anna/garden] Webhook connected',
      url: 'https://github.com/anna/garden',
      description: 'Activity will be posted here. The code host sends: push, issues',
      color: 0x1f883d,
    },
  );
  posts(
    'GitHub, an organization, every event',
    'ping',
    { zen: 'Design for failure.', hook: { ...hook, events: ['*'] }, organization: { login: 'gardeners', id: 3 }, sender: github.sender },
    {
      author: githubAuthor,
      title: '[gardeners] Webhook connected',
      description: 'Activity will be posted here. The code host sends: every event',
      color: 0x1f883d,
    },
  );
  posts('an empty payload', 'ping', {}, { title: 'Webhook connected', description: 'Activity will be posted here.', color: 0x1f883d });

  for (const event of [
    'wiki',
    'check_run',
    'pull_request_review_comment',
    'repository',
    'package',
    'action_run_failure',
    'constructor',
    '',
  ])
    ignores('posts nothing', event, { action: 'created', ...gitea }, `event \`${event}\` is not posted`, 'created');
  for (const payload of [null, 'text', 7, true, [], [{ action: 'opened' }]])
    ignores(`payload ${JSON.stringify(payload)}`, 'issues', payload, 'the payload is not a JSON object');
  it('a long event name and a long action are cut in the log', () => {
    expect(parseDelivery('e'.repeat(5_000), { action: 'a'.repeat(5_000) })).to.deep.equal({
      action: `${'a'.repeat(59)}…`,
      ignored: `event \`${'e'.repeat(59)}…\` is not posted`,
    });
  });

  const links = (repository: object, sender: object) => ({
    action: 'created',
    repository: { full_name: 'a/b', ...repository },
    sender: { login: 'x', ...sender },
  });
  const title = { title: '[a/b] New star', color: 0xeac54f };
  for (const bad of [
    'javascript:alert(1)',
    '//x.example/y',
    'data:text/html,x',
    'https://user@x.example/',
    'https://:pw@x.example/',
    `https://x.example/${'y'.repeat(2_100)}`,
    'no link',
    'https://',
    7,
  ])
    posts(`invalid link: ${String(bad).slice(0, 30)}`, 'star', links({ html_url: bad }, { html_url: bad, avatar_url: bad }), {
      author: { name: 'x' },
      ...title,
    });
  posts('a link is normalized as browsers do it', 'star', links({ html_url: 'HTTP://X.example/a b>c' }, {}), {
    author: { name: 'x' },
    url: 'http://x.example/a%20b%3Ec',
    ...title,
  });

  it('events that came too fast are counted in one post', () => {
    const [one, many] = [renderOverflow(1), renderOverflow(1_234)];
    expect([one.title, many.title]).to.deep.equal(['… and 1 more event', '… and 1,234 more events']);
    expect(checkEmbeds([one, many])).to.deep.equal([one, many]);
    for (const odd of [0, -5, Number.NaN, 0.5]) expect(renderOverflow(odd).title).to.equal('… and 1 more event');
  });
});
