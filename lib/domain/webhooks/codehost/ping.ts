import type { Embed } from '../../../contract/embed.ts';
import { colors, createEmbed } from './embed.ts';
import { bounds, type Fields, lineAt, stringsAt, toLine } from './payload.ts';
import { actorAt, type CommonFacts, repositoryAt } from './subject.ts';

/** The facts about the first delivery of a new webhook: the events that the code host says it will send. */
export interface PingFacts extends CommonFacts {
  event: 'ping';
  events: string[];
}

/** Reads a `ping` of a repository or an organization. Gitea, Forgejo and Gogs send none; their test delivery is a `push`. */
export function readPing(payload: Fields): PingFacts {
  const organization = lineAt(payload, bounds.repository, 'organization.login', 'organization.username');
  return {
    event: 'ping',
    repository: repositoryAt(payload) ?? (organization === '' ? null : { name: organization, url: null }),
    by: actorAt(payload, 'sender'),
    events: stringsAt(payload, 'hook.events')
      .slice(0, bounds.events)
      .map((name) => toLine(name, bounds.action)),
  };
}

/** The post that says that the webhook is connected. */
export function renderPing(facts: PingFacts): Embed {
  const { events } = facts;
  const sent = events.includes('*') ? 'every event' : events.join(', ');
  const body = sent === '' ? 'Activity will be posted here.' : `Activity will be posted here. The code host sends: ${sent}`;
  return createEmbed(facts, { title: 'Webhook connected', url: null, color: colors.opened, body });
}
