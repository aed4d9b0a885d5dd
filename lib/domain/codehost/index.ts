import type { Embed } from '../../contract/message.ts';
import { colors, counted } from './look.ts';
import { type PushFacts, readPush, renderPush } from './push.ts';
import { bounds, type Fields, lineAt, lineOf, objectAt } from './read.ts';

/** What of a delivery is needed to post it: small, plain JSON, told apart by `event`. */
export type Facts = PushFacts;

/** What a delivery comes to: what of it is needed to post it (at most 16 kB as JSON, whatever came), or in plain words why nothing is posted. */
export type Reading = { action: string | null; facts: Facts } | { action: string | null; ignored: string };

/** What each event name is read by; all others post nothing. A reader says in plain words why it posts nothing. */
const readers = new Map<string, (payload: Fields) => Facts | string>([['push', readPush]]);

/**
 * Reads a delivery of a code host: `event` as its header says, `payload` as parsed. Only the needed fields are read, and each of them may be missing or be of
 * another type. Cheap; never throws.
 */
export function readDelivery(event: string, payload: unknown): Reading {
  const action = lineAt(payload, bounds.action, 'action') || null;
  const reader = readers.get(event);
  if (!reader) return { action, ignored: `event \`${lineOf(event, bounds.action)}\` posts nothing` };
  const fields = objectAt(payload, '');
  const facts = fields === null ? 'the payload is no JSON object' : reader(fields);
  return typeof facts === 'string' ? { action, ignored: facts } : { action, facts };
}

/** The one embed of a delivery that posts. Never throws; always within the bounds of an embed; pings nobody, and only its own links are links. */
export function renderDelivery(facts: Facts): Embed {
  switch (facts.event) {
    case 'push':
      return renderPush(facts);
  }
}

/** The one post of the events that came when too many were waiting (decisions 8). */
export const moreEvents = (count: number): Embed => ({
  title: `… and ${counted(Math.max(1, Math.trunc(count) || 1), 'more event')}`,
  description: 'They came faster than they could be posted here. The code host shows them all.',
  color: colors.notice,
});
