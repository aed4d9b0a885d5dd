import { bounds, type Fields, lineAt, linkAt, linkOf, numberAt, objectAt, rawAt } from './read.ts';

/** A repository, or the organization that a webhook stands in. */
export interface Repository {
  /** `owner/name`. */
  name: string;
  url: string | null;
}

/** Who did it. */
export interface Actor {
  name: string;
  url: string | null;
  icon: string | null;
}

/** What the facts of every event hold. */
export interface Common {
  repository: Repository | null;
  by: Actor | null;
}

/** The repository at `path`; null when it has no name. */
export function repositoryAt(payload: Fields, path = 'repository'): Repository | null {
  const found = objectAt(payload, path);
  const [owner, own] = [
    lineAt(found, bounds.name, 'owner.login', 'owner.username', 'owner.name'),
    lineAt(found, bounds.repository, 'name'),
  ];
  const name = lineAt(found, bounds.repository, 'full_name') || (owner && own ? `${owner}/${own}` : own);
  return name === '' ? null : { name, url: linkAt(found, 'html_url') };
}

/** Where the code host is: the repository's link without the repository. Gogs and older Giteas send no links to people. */
function hostOf(payload: Fields): string | null {
  const [name, url] = [rawAt(payload, 'repository.full_name'), linkAt(payload, 'repository.html_url')];
  return name !== '' && url?.endsWith(`/${name}`) ? url.slice(0, -name.length) : null;
}

/** The first of these paths that holds a person with a name, with profile and picture where they are links; else null. */
export function actorAt(payload: Fields, ...paths: string[]): Actor | null {
  for (const path of paths) {
    const person = objectAt(payload, path);
    const name = lineAt(person, bounds.name, 'login', 'username', 'name', 'full_name');
    if (name === '') continue;
    const host = /^[A-Za-z0-9][\w.-]*$/.test(name) ? hostOf(payload) : null;
    const profile = linkAt(person, 'html_url') ?? (host === null ? null : linkOf(`${host}${name}`));
    return { name, url: profile, icon: linkOf(rawAt(person, 'avatar_url'), bounds.icon) };
  }
  return null;
}

/** Repository and sender, as nearly every event has them. `others` are looked at for who did it when there is no sender. */
export const commonOf = (payload: Fields, ...others: string[]): Common => ({
  repository: repositoryAt(payload),
  by: actorAt(payload, 'sender', ...others),
});

/** An issue or a pull request. */
export interface Topic {
  number: number | null;
  title: string;
  url: string | null;
}

/** What is read of an issue or a pull request. `folder` makes the link where the code host sends none (Gogs: issues). */
export function topicOf(payload: Fields, topic: Fields, folder: 'issues' | 'pulls'): Topic {
  const number = numberAt(topic, 'number') ?? numberAt(payload, 'number');
  const repository = linkAt(payload, 'repository.html_url');
  const own = repository === null || number === null ? null : linkOf(`${repository}/${folder}/${number}`);
  return { number, title: lineAt(topic, bounds.title, 'title'), url: linkAt(topic, 'html_url') ?? own };
}
