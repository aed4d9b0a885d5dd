import { gitea, github, gogs, sha } from './hosts.ts';

const commit = (digit: string) => ({
  id: sha(digit),
  message: `Step ${digit}\n\nWith a reason.`,
  url: `https://github.com/anna/garden/commit/${sha(digit)}`,
  author: { name: 'Anna A.', email: 'anna@example.com', username: 'anna' },
  added: [],
  modified: ['README.md'],
});
const pull = {
  id: 9_876_543_210,
  number: 12,
  title: 'Fix the hinge',
  user: { login: 'dora', id: 5 },
  body: 'It squeaks.\r\n\r\n```sh\nmake oil\n```\n\n- once\n- twice',
  html_url: 'https://github.com/anna/garden/pull/12',
  draft: false,
  merged: false,
  head: { ref: 'hinge', sha: sha('b') },
  base: { ref: 'main', sha: sha('a') },
  additions: 15,
  deletions: 4,
  changed_files: 3,
};
const issue = { id: 60, number: 7, title: 'The gate squeaks', user: gogs.sender, body: 'Every **morning**.', state: 'open' };

/** One delivery of each event that is posted, from any of the hosts. */
export const samples: [event: string, payload: object][] = [
  ['ping', { zen: 'Anything added dilutes everything else.', hook: { events: ['push', 'issues'] }, ...github }],
  [
    'push',
    {
      ref: 'refs/heads/main',
      before: sha('a'),
      after: sha('b'),
      forced: false,
      compare: 'https://github.com/anna/garden/compare/aaaaaaaaaaaa...bbbbbbbbbbbb',
      commits: ['1', '2', '3', '4', '5', '6', '7'].map(commit),
      pusher: { name: 'anna' },
      ...github,
    },
  ],
  ['pull_request', { action: 'opened', number: 12, pull_request: pull, ...github }],
  [
    'pull_request_review',
    {
      action: 'submitted',
      review: { id: 4_294_967_500, user: { login: 'anna' }, body: 'Use oil.', state: 'changes_requested' },
      pull_request: pull,
      ...github,
    },
  ],
  ['pull_request_approved', { action: 'reviewed', number: 12, pull_request: pull, review: { type: 'x', content: 'Fine.' }, ...gitea }],
  ['pull_request_rejected', { action: 'reviewed', number: 12, pull_request: pull, review: { type: 'x', content: 'No.' }, ...gitea }],
  ['pull_request_comment', { action: 'reviewed', number: 12, pull_request: pull, review: { type: 'x', content: 'Hm.' }, ...gitea }],
  ['issues', { action: 'opened', number: 7, issue, ...gogs }],
  ['issue_comment', { action: 'created', issue, comment: { id: 33, user: gogs.sender, body: 'A cat?' }, ...gogs }],
  [
    'release',
    { action: 'published', release: { id: 3, tag_name: 'v2', name: 'Second', body: 'Out.\n- now', author: gitea.sender }, ...gitea },
  ],
  [
    'workflow_run',
    {
      action: 'completed',
      workflow_run: {
        id: 9_000_000_001,
        name: 'CI',
        head_branch: 'main',
        display_title: 'Fix the hinge',
        run_number: 42,
        conclusion: 'failure',
        html_url: 'https://github.com/anna/garden/actions/runs/9000000001',
      },
      workflow: { name: 'CI' },
      ...github,
    },
  ],
  ['create', { ref: 'hinge', ref_type: 'branch', ...github }],
  ['delete', { ref: 'v1', ref_type: 'tag', pusher_type: 'user', ...gitea }],
  ['star', { action: 'created', ...github }],
  ['fork', { forkee: { full_name: 'eve/garden', fork: true, html_url: 'https://github.com/eve/garden' }, ...github }],
];
