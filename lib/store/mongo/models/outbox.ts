import type { Schema } from 'mongoose';
import { limits } from '../../../base/limits.ts';
import type { Overwrite } from '../../../base/permissions.ts';
import { type EventName, traitsOf } from '../../../contract/events.ts';

/** A pending event in the outbox of a document. It is appended to the log once for each `id`. */
export interface OutboxEntry {
  id: string;
  name: EventName;
  /** Echoed in MESSAGE_CREATE (docs/behavior/messages.md#nonce). */
  nonce?: string;
  /** The payload, if it is not stored anywhere else: for example an ephemeral answer, or a state that has changed since. */
  data?: unknown;
  /** The old values, for a change that may affect who can view a channel. */
  was?: Was;
  /** The range of positions to which a change moved other roles, both ends included; without `to` it ends at the highest position. */
  shifted?: { from: number; to?: number };
}

/**
 * The values before a change: a role, the owner, or the overwrites of a channel. `given`: the role that a member was given (`has`)
 * or lost.
 */
export interface Was {
  role?: { id: string; permissions: number };
  owner?: string;
  overwrites?: readonly Overwrite[];
  given?: { roleId: string; has: boolean };
}

/** The fields of a document with pending events; both are absent when there are none. */
export interface Outbox {
  ob?: OutboxEntry[];
  obAt?: Date;
}

/** The path of the last event that fits in an outbox. Changes that can be repeated without limit are written only while it is absent. */
export const outboxEnd = `ob.${limits.eventsOwed - 1}`;

/**
 * The operators that an update needs to add `entries` to a document's outbox: `{ $push, $min }`. An earlier `obAt` stays, so that the sweep also finds a
 * document that is written to all the time.
 */
export const owing = (entries: OutboxEntry[], now: Date): { $push: object; $min: { obAt: Date } } => ({
  $push: { ob: { $each: entries } },
  $min: { obAt: now },
});

/**
 * `owing` for an update pipeline: the fields of a `$set` stage that adds `entry` to the outbox. The values are expressions, so user input in them must be
 * wrapped in `$literal`. An event that shows the state at the time it is sent (`coalesce`) replaces a pending event of the same thing, unless that one has old
 * values. It has its own id, so that it is still relayed if the replaced one was relayed meanwhile.
 */
export const alsoOwing = (
  entry: { id: unknown; name: EventName; data?: object; was?: object },
  now: Date,
): { ob: object; obAt: object } => {
  const owed = { $ifNull: ['$ob', []] };
  const same = [
    { $eq: ['$$owed.name', entry.name] },
    { $eq: [{ $ifNull: ['$$owed.was', null] }, null] },
    { $eq: [{ $ifNull: ['$$owed.data', null] }, { $literal: entry.data ?? null }] },
  ];
  const others = { $filter: { input: owed, as: 'owed', cond: { $not: [{ $and: same }] } } };
  const shows = traitsOf(entry.name).coalesce;
  return {
    ob: { $concatArrays: [shows ? others : owed, [entry]] },
    obAt: { $ifNull: ['$obAt', now] },
  };
};

/** An update pipeline that removes acknowledged events from a document's outbox, and `obAt` when none is left. Events that were added meanwhile stay. */
export const settled = (eventIds: readonly string[]): object[] => [
  {
    $set: {
      ob: { $filter: { input: { $ifNull: ['$ob', []] }, as: 'entry', cond: { $not: [{ $in: ['$$entry.id', { $literal: eventIds }] }] } } },
    },
  },
  {
    $set: {
      obAt: { $cond: [{ $eq: [{ $size: '$ob' }, 0] }, '$$REMOVE', '$obAt'] },
      ob: { $cond: [{ $eq: [{ $size: '$ob' }, 0] }, '$$REMOVE', '$ob'] },
    },
  },
];

/**
 * The index that the relay reads from, in its order. The query names it, because a query planner that sorts instead reads the whole backlog for every batch.
 */
export const undeliveredIndex = 'undelivered';

/** Adds indexes that contain only documents with pending events: by age for the sweep, and by `key` for the relay. */
export function indexOutbox<T>(schema: Schema<T>, key?: Record<string, 1>): void {
  schema.index({ obAt: 1 }, { partialFilterExpression: { obAt: { $exists: true } } });
  if (key) schema.index({ ...key, obAt: 1 }, { name: undeliveredIndex, partialFilterExpression: { obAt: { $exists: true } } });
}
