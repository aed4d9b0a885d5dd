import { ignores, onGitea, onGithub } from './golden.ts';
import { gitea, github } from './hosts.ts';

const pull = {
  number: 12,
  title: 'Fix the hinge',
  user: { login: 'dora', id: 5, html_url: 'https://github.com/dora' },
  body: 'Not shown with a review.',
  html_url: 'https://github.com/anna/garden/pull/12',
};

describe('codehost: pull_request_review', () => {
  const review = {
    user: { login: 'anna', id: 1 },
    body: null,
    state: 'approved',
    html_url: 'https://github.com/anna/garden/pull/12#pullrequestreview-8589934600',
  };
  const reviewed = (state: string, body: string | null) => ({
    action: 'submitted',
    review: { ...review, state, body },
    pull_request: pull,
    ...github,
  });
  onGithub('GitHub, approved, body null', 'pull_request_review', reviewed('approved', null), {
    title: '[anna/garden] Pull request approved: #12 Fix the hinge',
    url: 'https://github.com/anna/garden/pull/12#pullrequestreview-8589934600',
    color: 0x1f883d,
  });
  onGithub('GitHub, changes requested', 'pull_request_review', reviewed('changes_requested', 'Use oil, not tape.'), {
    title: '[anna/garden] Changes requested: #12 Fix the hinge',
    url: 'https://github.com/anna/garden/pull/12#pullrequestreview-8589934600',
    description: 'Use oil, not tape.',
    color: 0xcf222e,
  });
  onGithub('GitHub, commented', 'pull_request_review', reviewed('COMMENTED', 'Nice.'), {
    title: '[anna/garden] Pull request reviewed: #12 Fix the hinge',
    url: 'https://github.com/anna/garden/pull/12#pullrequestreview-8589934600',
    description: 'Nice.',
    color: 0x57606a,
  });

  const gitea3 = {
    action: 'reviewed',
    number: 3,
    pull_request: { id: 9, number: 3, title: 'Paint it', user: null, html_url: 'https://gitea.example/ben/shed/pulls/3' },
    ...gitea,
  };
  const rows: [string, string, string, number][] = [
    ['pull_request_approved', 'pull_request_review_approved', 'Pull request approved', 0x1f883d],
    ['pull_request_rejected', 'pull_request_review_rejected', 'Changes requested', 0xcf222e],
    ['pull_request_comment', 'pull_request_review_comment', 'Pull request reviewed', 0x57606a],
  ];
  for (const [event, type, title, color] of rows)
    onGitea(
      'Gitea and Forgejo',
      event,
      { ...gitea3, review: { type, content: 'As I see it.' } },
      { title: `[ben/shed] ${title}: #3 Paint it`, url: 'https://gitea.example/ben/shed/pulls/3', description: 'As I see it.', color },
    );
  onGitea(
    'Gitea, without a review text',
    'pull_request_approved',
    { ...gitea3, review: null },
    { title: '[ben/shed] Pull request approved: #3 Paint it', url: 'https://gitea.example/ben/shed/pulls/3', color: 0x1f883d },
  );

  for (const action of ['edited', 'dismissed'])
    ignores(
      `GitHub, ${action}`,
      'pull_request_review',
      { ...reviewed('commented', ''), action },
      `action \`${action}\` of \`pull_request_review\` is not posted`,
      action,
    );
  ignores('an ignored state', 'pull_request_review', reviewed('pending', ''), 'a review in state `pending` is not posted', 'submitted');
  ignores(
    'a state named like an inherited property',
    'pull_request_review',
    reviewed('constructor', ''),
    'a review in state `constructor` is not posted',
    'submitted',
  );
  ignores('no review', 'pull_request_review', { action: 'submitted', pull_request: pull }, 'the payload has no `review`', 'submitted');
  ignores('no pull request', 'pull_request_approved', { action: 'reviewed', review: {} }, 'the payload has no `pull_request`', 'reviewed');
});
