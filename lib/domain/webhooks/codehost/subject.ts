import { bounds, type Fields, lineAt, linkAt, numberAt, objectAt, stringAt, toLink } from './payload.ts';

/** A repository, or the organization that a webhook belongs to. */
export interface Repository {
  /** `owner/name`. */
  name: string;
  url: string | null;
}

/** The person who caused the event. */
export interface Actor {
  name: string;
  url: string | null;
  icon: string | null;
}

/** The facts that every event has. */
export interface CommonFacts {
  repository: Repository | null;
  by: Actor | null;
}

/** The repository at `path`; null when it has no name. */
export function repositoryAt(payload: Fields, path = 'repository'): Repository | null {
  const found = objectAt(payload, path);
  const [owner, repositoryName] = [
    lineAt(found, bounds.name, 'owner.login', 'owner.username', 'owner.name'),
    lineAt(found, bounds.repository, 'name'),
  ];
  const name = lineAt(found, bounds.repository, 'full_name') || (owner && repositoryName ? `${owner}/${repositoryName}` : repositoryName);
  return name === '' ? null : { name, url: linkAt(found, 'html_url') };
}

/** The base URL of the code host: the URL of the repository without its name. It is used because Gogs and older Giteas send no links to people. */
function findHostUrl(payload: Fields): string | null {
  const [name, url] = [stringAt(payload, 'repository.full_name'), linkAt(payload, 'repository.html_url')];
  return name !== '' && url?.endsWith(`/${name}`) ? url.slice(0, -name.length) : null;
}

/** The first person with a name at one of these paths, with links to profile and picture if they are valid; else null. */
export function actorAt(payload: Fields, ...paths: string[]): Actor | null {
  for (const path of paths) {
    const person = objectAt(payload, path);
    const name = lineAt(person, bounds.name, 'login', 'username', 'name', 'full_name');
    if (name === '') continue;
    const host = /^[A-Za-z0-9][\w.-]*$/.test(name) ? findHostUrl(payload) : null;
    const profile = linkAt(person, 'html_url') ?? (host === null ? null : toLink(`${host}${name}`));
    return { name, url: profile, icon: toLink(stringAt(person, 'avatar_url'), bounds.icon) };
  }
  return null;
}

/** Repository and sender, which nearly every event has. If there is no sender, the paths `others` are tried. */
export const readCommonFacts = (payload: Fields, ...others: string[]): CommonFacts => ({
  repository: repositoryAt(payload),
  by: actorAt(payload, 'sender', ...others),
});

/** An issue or a pull request. */
export interface Topic {
  number: number | null;
  title: string;
  url: string | null;
}

/** The facts about an issue or a pull request. `folder` is for the link if the code host sends none (Gogs: issues). */
export function readTopic(payload: Fields, topic: Fields, folder: 'issues' | 'pulls'): Topic {
  const number = numberAt(topic, 'number') ?? numberAt(payload, 'number');
  const repository = linkAt(payload, 'repository.html_url');
  const fallbackUrl = repository === null || number === null ? null : toLink(`${repository}/${folder}/${number}`);
  return { number, title: lineAt(topic, bounds.title, 'title'), url: linkAt(topic, 'html_url') ?? fallbackUrl };
}
