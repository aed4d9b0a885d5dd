import { ignores, onGitea, onGithub, onGogs, posts, shows } from './golden.ts';
import { gitea, github, githubAuthor, gogs, sha } from './hosts.ts';

const none = sha('0');
const at = (digit: string): string => `https://github.com/anna/garden/commit/${sha(digit)}`;
const commit = (digit: string, message: string, username?: string) => ({
  id: sha(digit),
  message,
  url: at(digit),
  author: { name: 'Anna A.', email: 'anna@example.com', ...(username ? { username } : {}) },
  committer: { name: 'GitHub', email: 'noreply@github.com', username: 'web-flow' },
});
const push = {
  ...github,
  ref: 'refs/heads/main',
  before: sha('a'),
  after: sha('b'),
  forced: false,
  compare: 'https://github.com/anna/garden/compare/aaaaaaaaaaaa...bbbbbbbbbbbb',
  commits: [commit('b', 'Fix the hinge\n\nIt squeaked.', 'anna')],
  pusher: { name: 'anna', email: 'anna@example.com' },
};

describe('codehost: push', () => {
  onGithub('GitHub, one commit', 'push', push, {
    title: '[anna/garden:main] 1 new commit',
    url: 'https://github.com/anna/garden/commit/bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb',
    description: '`bbbbbbb` Fix the hinge – anna\n<https://github.com/anna/garden/commit/bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb>',
    color: 0x0969da,
  });

  const seven = ['1', '2', '3', '4', '5', '6', '7'].map((digit) => commit(digit, `Step ${digit}`));
  onGithub(
    'GitHub, more than five commits, authors without a username',
    'push',
    { ...push, commits: seven },
    {
      title: '[anna/garden:main] 7 new commits',
      url: 'https://github.com/anna/garden/compare/aaaaaaaaaaaa...bbbbbbbbbbbb',
      description: [
        '`1111111` Step 1 – Anna A.',
        '<https://github.com/anna/garden/commit/1111111111111111111111111111111111111111>',
        '`2222222` Step 2 – Anna A.',
        '<https://github.com/anna/garden/commit/2222222222222222222222222222222222222222>',
        '`3333333` Step 3 – Anna A.',
        '<https://github.com/anna/garden/commit/3333333333333333333333333333333333333333>',
        '`4444444` Step 4 – Anna A.',
        '<https://github.com/anna/garden/commit/4444444444444444444444444444444444444444>',
        '`5555555` Step 5 – Anna A.',
        '<https://github.com/anna/garden/commit/5555555555555555555555555555555555555555>',
        '… and 2 more commits: <https://github.com/anna/garden/compare/aaaaaaaaaaaa...bbbbbbbbbbbb>',
      ].join('\n'),
      color: 0x0969da,
    },
  );

  const forced = { ...push, ref: 'refs/heads/fix/hinge', forced: true };
  shows('GitHub, forced, to a branch with a slash', 'push', forced, {
    title: '[anna/garden:fix/hinge] 1 new commit (force-pushed)',
    color: 0xbf8700,
  });

  shows(
    'GitHub, a new branch',
    'push',
    { ...push, ref: 'refs/heads/hinge', created: true, before: none, commits: seven.slice(0, 2) },
    { title: '[anna/garden:hinge] 2 new commits on a new branch', color: 0x0969da },
  );

  posts(
    'GitHub, without sender and repository',
    'push',
    { ...push, sender: null, repository: undefined },
    {
      author: { name: 'anna' },
      title: '[main] 1 new commit',
      url: 'https://github.com/anna/garden/commit/bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb',
      description: '`bbbbbbb` Fix the hinge – anna\n<https://github.com/anna/garden/commit/bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb>',
      color: 0x0969da,
    },
  );

  posts(
    'names with markup and mentions',
    'push',
    {
      ...push,
      ref: 'refs/heads/**@everyone**',
      sender: { ...github.sender, login: '<@1000000000000000001>' },
      commits: [commit('c', '||@here|| see https://evil.example and `code`', '__init__')],
    },
    {
      author: { name: '\\<@1000000000000000001>', url: githubAuthor.url, iconUrl: githubAuthor.iconUrl },
      title: '[anna/garden:\\*\\*\\@everyone\\*\\*] 1 new commit',
      url: 'https://github.com/anna/garden/commit/cccccccccccccccccccccccccccccccccccccccc',
      description: [
        '`ccccccc` \\|\\|\\@here\\|\\| see \\https://evil.example and \\`code\\` – \\_\\_init\\_\\_',
        '<https://github.com/anna/garden/commit/cccccccccccccccccccccccccccccccccccccccc>',
      ].join('\n'),
      color: 0x0969da,
    },
  );

  posts(
    'a commit with only a malformed id',
    'push',
    { ref: 'refs/heads/main', commits: [{ id: '`**`', message: null }, 7, null] },
    { title: '[main] 1 new commit', description: '(no message)', color: 0x0969da },
  );

  shows(
    'a subject line of 80 characters is cut to 72, by code points',
    'push',
    { ...push, commits: [commit('b', '😀'.repeat(80), 'anna')] },
    {
      description: `\`bbbbbbb\` ${'😀'.repeat(71)}… – anna\n<https://github.com/anna/garden/commit/bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb>`,
    },
  );

  const giteaPush = {
    ...gitea,
    ref: 'refs/heads/main',
    before: sha('a'),
    after: sha('b'),
    compare_url: `https://gitea.example/ben/shed/compare/${sha('a')}...${sha('b')}`,
    commits: [
      {
        id: sha('b'),
        message: 'Paint it green\n',
        url: `https://gitea.example/ben/shed/commit/${sha('b')}`,
        author: { name: 'Ben B.', email: 'ben@noreply.gitea.example', username: 'ben' },
        committer: { name: 'Ben B.', email: 'ben@noreply.gitea.example', username: 'ben' },
      },
    ],
    total_commits: 1_300,
    pusher: gitea.sender,
  };
  onGitea('Gitea, which sends only some commits and the total', 'push', giteaPush, {
    title: '[ben/shed:main] 1,300 new commits',
    url: `https://gitea.example/ben/shed/compare/${sha('a')}...${sha('b')}`,
    description: [
      '`bbbbbbb` Paint it green – ben',
      '<https://gitea.example/ben/shed/commit/bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb>',
      `… and 1,299 more commits: <https://gitea.example/ben/shed/compare/${sha('a')}...${sha('b')}>`,
    ].join('\n'),
    color: 0x0969da,
  });

  shows(
    'Forgejo, a new branch, with a comparison URL that is only the host',
    'push',
    { ...giteaPush, before: none, compare_url: 'https://gitea.example/', total_commits: 2 },
    {
      title: '[ben/shed:main] 2 new commits on a new branch',
      url: 'https://gitea.example/ben/shed',
      description:
        '`bbbbbbb` Paint it green – ben\n<https://gitea.example/ben/shed/commit/bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb>\n… and 1 more commit',
    },
  );

  onGogs(
    'Gogs',
    'push',
    {
      ref: 'refs/heads/master',
      before: sha('a'),
      after: sha('c'),
      compare_url: `https://example.org/gogs/carl/barn/compare/${sha('a')}...${sha('c')}`,
      commits: [
        {
          id: sha('c'),
          message: 'Update README\n',
          url: `https://example.org/gogs/carl/barn/commit/${sha('c')}`,
          author: { name: 'Carl', email: 'carl@example.org', username: '' },
          committer: { name: 'Carl', email: 'carl@example.org', username: '' },
        },
      ],
      pusher: gogs.sender,
    },
    {
      title: '[carl/barn:master] 1 new commit',
      url: 'https://example.org/gogs/carl/barn/commit/cccccccccccccccccccccccccccccccccccccccc',
      description: '`ccccccc` Update README – Carl\n<https://example.org/gogs/carl/barn/commit/cccccccccccccccccccccccccccccccccccccccc>',
      color: 0x0969da,
    },
  );

  const rewound = { ...push, forced: true, commits: [] };
  onGithub('GitHub, forced, without commits', 'push', rewound, {
    title: '[anna/garden:main] Force-pushed to bbbbbbb',
    url: push.compare,
    description: '`aaaaaaa` → `bbbbbbb`',
    color: 0xbf8700,
  });
  shows('GitHub, forced, with a null list', 'push', { ...rewound, commits: null }, { title: '[anna/garden:main] Force-pushed to bbbbbbb' });
  onGithub(
    'GitHub, forced, without ids',
    'push',
    { ...rewound, before: null, after: '`**`', compare: null },
    { title: '[anna/garden:main] Force-pushed', url: 'https://github.com/anna/garden', color: 0xbf8700 },
  );
  const rewoundGitea = { ...giteaPush, commits: [], total_commits: 0 };
  for (const [host, payload] of [
    ['Gitea', rewoundGitea],
    ['Forgejo, with a null list', { ...rewoundGitea, commits: null }],
  ] as const)
    onGitea(`${host}, which does not say that it is forced`, 'push', payload, {
      title: '[ben/shed:main] Force-pushed to bbbbbbb',
      url: giteaPush.compare_url,
      description: '`aaaaaaa` → `bbbbbbb`',
      color: 0xbf8700,
    });
  shows(
    'Gogs, forced, without commits',
    'push',
    { ...gogs, ref: 'refs/heads/master', before: sha('a'), after: sha('c'), commits: [], pusher: gogs.sender },
    { title: '[carl/barn:master] Force-pushed to ccccccc', url: 'https://example.org/gogs/carl/barn' },
  );
  ignores('neither forced nor commits', 'push', { ...push, commits: [] }, 'a push without commits');
  ignores('Gitea, a new branch without commits', 'push', { ...rewoundGitea, before: none }, 'a push without commits');
  ignores('Gitea, nothing moved', 'push', { ...rewoundGitea, after: sha('a') }, 'a push without commits');
  ignores('Gitea, without ids', 'push', { ...rewoundGitea, before: undefined }, 'a push without commits');

  const gone = { ...push, deleted: true, after: none, commits: [] };
  ignores('a deleted branch', 'push', gone, 'a push that deletes a branch or tag is posted as `delete`');
  ignores('a deleted tag', 'push', { ...gone, ref: 'refs/tags/v1' }, 'a push that deletes a branch or tag is posted as `delete`');
  ignores(
    'a deleted branch, recognized by its commit only',
    'push',
    { ...push, deleted: undefined, after: none },
    'a push that deletes a branch or tag is posted as `delete`',
  );
  ignores(
    'a deleted branch, recognized by its flag only',
    'push',
    { ...push, deleted: true },
    'a push that deletes a branch or tag is posted as `delete`',
  );
  ignores('a tag', 'push', { ...push, ref: 'refs/tags/v1', created: true }, 'a push to a tag is posted as `create`');
  ignores('a ref to notes', 'push', { ...push, ref: 'refs/notes/commits' }, 'a push to neither a branch nor a tag');
  ignores('a new branch without commits', 'push', { ...push, created: true, before: none, commits: [] }, 'a push without commits');
  ignores('commits that are not a list', 'push', { ...push, commits: 'many' }, 'a push without commits');
  ignores('no ref', 'push', { ...push, ref: null }, 'a push without a branch');
});
