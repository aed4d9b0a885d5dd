import type { Schema } from 'mongoose';
import { limits } from '../../base/limits.ts';
import type { Overwrite } from '../../base/permissions.ts';
import { type EventName, traitsOf } from '../../contract/events.ts';

/** A pending event in the outbox of a document. It is appended to the log once for each `id`. */
export interface OutboxEntry {
  id: string;
  name: EventName;
  /** Echoed in MESSAGE_CREATE (docs/behavior/messages.md#nonce). */
  nonce?: string;
  /** The payload itself, for what is not stored anywhere else: an ephemeral answer, a state that has moved on. */
  data?: unknown;
  /** The old values, for a change that may decide who views a channel. */
  was?: Was;
  /** The positions that a change put other roles at, both included; without `to` up to the highest. */
  shifted?: { from: number; to?: number };
}

/** A role, the owner or the overwrites of a channel before a change; or the role that a member was given or lost. */
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

/** The path of the last event that an outbox has room for: changes that can be made without end are written only while it is absent. */
export const outboxEnd = `ob.${limits.eventsOwed - 1}`;

/**
 * What an update adds to a document to put `entries` into its outbox: `{ $push, $min }`. The mark keeps its time, so that the sweep finds a document that is written to
 * all the time.
 */
export const owing = (entries: OutboxEntry[], now: Date): { $push: object; $min: { obAt: Date } } => ({
  $push: { ob: { $each: entries } },
  $min: { obAt: now },
});

/**
 * `owing` for an update pipeline: what a `$set` stage holds to put `entry` into the outbox. An expression: what comes from outside stands in
 * `$literal` there. An event that shows its thing as it is when it is sent (`coalesce`) replaces a pending one of the same thing, unless that has old values;
 * under its own id, so that what was relayed meanwhile does not count for it.
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

/** An update pipeline that takes the delivered events off a document, and its mark when none is left; an edit made meanwhile keeps its own event. */
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

/** The index that the relay reads from, in its order. Named in the query: a planner that sorts instead reads a whole backlog for every batch. */
export const undeliveredIndex = 'undelivered';

/** Indexes that hold only documents with undelivered events: by age for the sweep, and by `key` for the relay. */
export function indexOutbox<T>(schema: Schema<T>, key?: Record<string, 1>): void {
  schema.index({ obAt: 1 }, { partialFilterExpression: { obAt: { $exists: true } } });
  if (key) schema.index({ ...key, obAt: 1 }, { name: undeliveredIndex, partialFilterExpression: { obAt: { $exists: true } } });
}
