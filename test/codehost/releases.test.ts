import { ignores, onGitea, onGithub, onGogs, posts, shows } from './golden.ts';
import { gitea, github, gogs } from './hosts.ts';

describe('codehost: release', () => {
  const release = {
    tag_name: 'v1.2.0',
    name: 'Spring',
    prerelease: false,
    body: '### New\n- a gate\n- a bench',
    html_url: 'https://github.com/anna/garden/releases/tag/v1.2.0',
  };
  onGithub(
    'GitHub',
    'release',
    { action: 'published', release },
    {
      title: '[anna/garden] Release published: Spring',
      url: 'https://github.com/anna/garden/releases/tag/v1.2.0',
      description: 'New\n- a gate\n- a bench',
      color: 0x0969da,
      footer: { text: 'v1.2.0' },
    },
  );
  onGithub(
    'GitHub, a pre-release without a name and a body',
    'release',
    { action: 'published', release: { ...release, prerelease: true, name: null, body: null } },
    { title: '[anna/garden] Pre-release published: v1.2.0', url: 'https://github.com/anna/garden/releases/tag/v1.2.0', color: 0x0969da },
  );
  onGitea(
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
    },
    { title: '[ben/shed] Release published: v2', url: 'https://gitea.example/ben/shed/releases/tag/v2', color: 0x0969da },
  );
  onGogs(
    'Gogs, which sends no link',
    'release',
    { action: 'published', release: { id: 2, tag_name: 'v3', name: 'Third', body: 'Out.', author: gogs.sender } },
    {
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
    name: 'CI',
    head_branch: 'main',
    path: '.github/workflows/ci.yml',
    display_title: 'Fix the hinge',
    run_number: 42,
    conclusion: 'success',
    html_url: 'https://github.com/anna/garden/actions/runs/9000000001',
  };
  const finished = (conclusion: string | null, change: object = {}) => ({
    action: 'completed',
    workflow_run: { ...run, conclusion, ...change },
    workflow: { name: 'Continuous' },
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
    onGithub(`GitHub, ${conclusion}`, 'workflow_run', finished(conclusion), {
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
    { title: 'Workflow failed', color: 0xcf222e },
  );
  onGitea(
    'Gitea',
    'workflow_run',
    {
      action: 'completed',
      workflow: { name: 'Build' },
      workflow_run: {
        html_url: 'https://gitea.example/ben/shed/actions/runs/8',
        display_title: 'Paint it green',
        run_number: 8,
        head_branch: 'main',
        conclusion: 'failure',
      },
    },
    {
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
