/**
 * What each code host sends with every event: the repository and the sender, with other fields that a real payload has. Written from the
 * hosts' public documentation. Ids exceed 32 bits where those of the hosts do.
 */
export const github = {
  repository: {
    id: 8_589_934_592,
    node_id: 'R_kgDOA1',
    name: 'garden',
    full_name: 'anna/garden',
    private: false,
    owner: { login: 'anna', id: 4_294_967_301, html_url: 'https://github.com/anna', type: 'User' },
    html_url: 'https://github.com/anna/garden',
    url: 'https://api.github.com/repos/anna/garden',
    fork: false,
    stargazers_count: 1_204,
    forks_count: 12,
    default_branch: 'main',
  },
  sender: {
    login: 'anna',
    id: 4_294_967_301,
    node_id: 'U_kgDOA2',
    avatar_url: 'https://avatars.githubusercontent.com/u/4294967301?v=4',
    html_url: 'https://github.com/anna',
    type: 'User',
    site_admin: false,
  },
};

/** The author of GitHub's embeds. */
export const githubAuthor = {
  name: 'anna',
  url: 'https://github.com/anna',
  iconUrl: 'https://avatars.githubusercontent.com/u/4294967301?v=4',
};

const giteaUser = {
  id: 7,
  login: 'ben',
  login_name: '',
  full_name: 'Ben B.',
  email: 'ben@noreply.gitea.example',
  avatar_url: 'https://gitea.example/avatars/5f1e',
  html_url: 'https://gitea.example/ben',
  username: 'ben',
};

/** What Gitea and Forgejo send. */
export const gitea = {
  repository: {
    id: 31,
    owner: giteaUser,
    name: 'shed',
    full_name: 'ben/shed',
    empty: false,
    private: true,
    fork: false,
    html_url: 'https://gitea.example/ben/shed',
    url: 'https://gitea.example/api/v1/repos/ben/shed',
    stars_count: 3,
    forks_count: 1,
    default_branch: 'main',
  },
  sender: giteaUser,
};

/** The author of Gitea's and Forgejo's embeds. */
export const giteaAuthor = { name: 'ben', url: 'https://gitea.example/ben', iconUrl: 'https://gitea.example/avatars/5f1e' };

const gogsUser = {
  id: 1,
  login: 'carl',
  full_name: 'Carl',
  email: 'carl@example.org',
  avatar_url: 'https://secure.gravatar.com/avatar/d8b2?d=identicon',
  username: 'carl',
};

/** What Gogs sends: users without a URL. */
export const gogs = {
  repository: {
    id: 140,
    owner: gogsUser,
    name: 'barn',
    full_name: 'carl/barn',
    description: '',
    private: false,
    fork: false,
    html_url: 'https://example.org/gogs/carl/barn',
    ssh_url: 'ssh://git@example.org/carl/barn.git',
    stars_count: 0,
    forks_count: 1,
    default_branch: 'master',
  },
  sender: gogsUser,
};

/** The author of Gogs' embeds. The URL of the profile is derived from that of the repository. */
export const gogsAuthor = {
  name: 'carl',
  url: 'https://example.org/gogs/carl',
  iconUrl: 'https://secure.gravatar.com/avatar/d8b2?d=identicon',
};

/** A commit id that repeats one digit. */
export const sha = (digit: string): string => digit.repeat(40);
