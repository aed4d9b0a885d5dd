import { ignores, posts, shows } from './golden.ts';
import { gitea, giteaAuthor, github, githubAuthor, gogs, gogsAuthor, sha } from './hosts.ts';

describe('codehost: release', () => {
  const release = {
    id: 8_589_934_900,
    tag_name: 'v1.2.0',
    target_commitish: 'main',
    name: 'Spring',
    draft: false,
    prerelease: false,
    author: { login: 'anna', id: 1 },
    body: '### New\n- a gate\n- a bench',
    html_url: 'https://github.com/anna/garden/releases/tag/v1.2.0',
    assets: [],
  };
  posts(
    'GitHub',
    'release',
    { action: 'published', release, ...github },
    {
      author: githubAuthor,
      title: '[anna/garden] Release published: Spring',
      url: 'https://github.com/anna/garden/releases/tag/v1.2.0',
      description: 'New\n- a gate\n- a bench',
      color: 0x0969da,
      footer: { text: 'v1.2.0' },
    },
  );
  posts(
    'GitHub, a pre-release without a name and a body',
    'release',
    { action: 'published', release: { ...release, prerelease: true, name: null, body: null }, ...github },
    {
      author: githubAuthor,
      title: '[anna/garden] Pre-release published: v1.2.0',
      url: 'https://github.com/anna/garden/releases/tag/v1.2.0',
      color: 0x0969da,
    },
  );
  posts(
    'Gitea and Forgejo',
    'release',
    {
      action: 'published',
      release: {
        id: 3,
        tag_name: 'v2',
        name: 'v2',
        body: '',
        html_url: 'https://gitea.example/ben/shed/releases/tag/v2',
        author: gitea.sender,
      },
      ...gitea,
    },
    {
      author: giteaAuthor,
      title: '[ben/shed] Release published: v2',
      url: 'https://gitea.example/ben/shed/releases/tag/v2',
      color: 0x0969da,
    },
  );
  posts(
    'Gogs, which sends no link',
    'release',
    { action: 'published', release: { id: 2, tag_name: 'v3', name: 'Third', body: 'Out.', author: gogs.sender }, ...gogs },
    {
      author: gogsAuthor,
      title: '[carl/barn] Release published: Third',
      url: 'https://example.org/gogs/carl/barn/releases',
      description: 'Out.',
      color: 0x0969da,
      footer: { text: 'v3' },
    },
  );
  for (const action of ['created', 'released', 'prereleased', 'edited', 'deleted', 'unpublished', 'updated'])
    ignores(action, 'release', { action, release, ...github }, `action \`${action}\` of \`release\` is not posted`, action);
  ignores('no release', 'release', { action: 'published' }, 'the payload has no `release`', 'published');
});

describe('codehost: workflow_run', () => {
  const run = {
    id: 9_000_000_001,
    name: 'CI',
    head_branch: 'main',
    head_sha: sha('b'),
    path: '.github/workflows/ci.yml',
    display_title: 'Fix the hinge',
    run_number: 42,
    event: 'push',
    status: 'completed',
    conclusion: 'success',
    workflow_id: 4_294_967_400,
    html_url: 'https://github.com/anna/garden/actions/runs/9000000001',
    run_attempt: 1,
    actor: { login: 'anna', id: 1 },
  };
  const finished = (conclusion: string | null, change: object = {}) => ({
    action: 'completed',
    workflow_run: { ...run, conclusion, ...change },
    workflow: { id: 4_294_967_400, name: 'Continuous', path: '.github/workflows/ci.yml', state: 'active' },
    ...github,
  });
  const rows: [string, string, number][] = [
    ['success', 'Workflow succeeded: CI #42', 0x1f883d],
    ['failure', 'Workflow failed: CI #42', 0xcf222e],
    ['timed_out', 'Workflow failed: CI #42 (timed out)', 0xcf222e],
    ['startup_failure', 'Workflow failed: CI #42 (could not start)', 0xcf222e],
    ['cancelled', 'Workflow cancelled: CI #42', 0x6e7781],
  ];
  for (const [conclusion, title, color] of rows)
    posts(`GitHub, ${conclusion}`, 'workflow_run', finished(conclusion), {
      author: githubAuthor,
      title: `[anna/garden:main] ${title}`,
      url: 'https://github.com/anna/garden/actions/runs/9000000001',
      description: 'Fix the hinge',
      color,
    });
  shows('an empty name: uses the name of the workflow', 'workflow_run', finished('success', { name: '' }), {
    title: '[anna/garden:main] Workflow succeeded: Continuous #42',
  });
  shows(
    'no name: uses the path of the workflow file',
    'workflow_run',
    { ...finished('success', { name: null }), workflow: null },
    { title: '[anna/garden:main] Workflow succeeded: .github/workflows/ci.yml #42' },
  );
  posts(
    'a run with only a conclusion',
    'workflow_run',
    { action: 'completed', workflow_run: { conclusion: 'failure', head_branch: null } },
    {
      title: 'Workflow failed',
      color: 0xcf222e,
    },
  );
  posts(
    'Gitea',
    'workflow_run',
    {
      action: 'completed',
      workflow: { id: 'build.yml', name: 'Build', path: '.gitea/workflows/build.yml', state: 'active' },
      workflow_run: {
        id: 99,
        html_url: 'https://gitea.example/ben/shed/actions/runs/8',
        display_title: 'Paint it green',
        path: 'build.yml@refs/heads/main',
        event: 'push',
        run_number: 8,
        head_sha: sha('b'),
        head_branch: 'main',
        status: 'completed',
        conclusion: 'failure',
        actor: gitea.sender,
      },
      ...gitea,
    },
    {
      author: giteaAuthor,
      title: '[ben/shed:main] Workflow failed: Build #8',
      url: 'https://gitea.example/ben/shed/actions/runs/8',
      description: 'Paint it green',
      color: 0xcf222e,
    },
  );
  for (const conclusion of ['skipped', 'neutral', 'stale', 'action_required'])
    ignores(conclusion, 'workflow_run', finished(conclusion), `a run with conclusion \`${conclusion}\` is not posted`, 'completed');
  ignores('no conclusion', 'workflow_run', finished(null), 'a run with conclusion `unknown` is not posted', 'completed');
  for (const action of ['requested', 'in_progress'])
    ignores(action, 'workflow_run', { ...finished(null), action }, `action \`${action}\` of \`workflow_run\` is not posted`, action);
  ignores('no run', 'workflow_run', { action: 'completed' }, 'the payload has no `workflow_run`', 'completed');
});
