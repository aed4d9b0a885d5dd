import type { Schema } from 'mongoose';
import { limits } from '../../../base/limits.ts';
import type { Overwrite } from '../../../base/permissions.ts';
import { type EventName, getEventDefinition } from '../../../contract/events.ts';

/** A pending event in the outbox of a document. It is appended to the log once for each `id`. */
export interface OutboxEntry {
  id: string;
  name: EventName;
  /** Echoed in MESSAGE_CREATE (docs/behavior/messages.md#nonce). */
  nonce?: string;
  /** The payload, if it is not stored anywhere else: for example an ephemeral answer, or a state that has changed since. */
  data?: unknown;
  /** The old values, for a change that may affect who can view a channel. */
  was?: PreviousValues;
  /** The range of positions to which a change moved other roles, both ends included; without `to` it ends at the highest position. */
  shifted?: { from: number; to?: number };
}

/**
 * The values before a change: a role, the owner, or the overwrites of a channel. `given`: the role that a member was given (`has`)
 * or lost.
 */
export interface PreviousValues {
  role?: { id: string; permissions: number };
  owner?: string;
  overwrites?: readonly Overwrite[];
  given?: { roleId: string; has: boolean };
}

/** The fields of a document with pending events; both are absent when there are none. */
export interface Outbox {
  outbox?: OutboxEntry[];
  outboxAt?: Date;
}

/** The path of the last event that fits in an outbox. Changes that can be repeated without limit are written only while it is absent. */
export const lastOutboxPath = `outbox.${limits.pendingEvents - 1}`;

/**
 * The operators that an update needs to add `entries` to a document's outbox: `{ $push, $min }`. An earlier `outboxAt` stays, so that the sweep also finds a
 * document that is written to all the time.
 */
export const pushEntries = (
  entries: OutboxEntry[],
  now: Date,
): { $push: { outbox: { $each: OutboxEntry[] } }; $min: { outboxAt: Date } } => ({
  $push: { outbox: { $each: entries } },
  $min: { outboxAt: now },
});

/**
 * `pushEntries` for an update pipeline: the fields of a `$set` stage that adds `entry` to the outbox. The values are expressions, so user input in them must be
 * wrapped in `$literal`. An event that shows the state at the time it is sent (`coalesce`) replaces a pending event of the same thing, unless that one has old
 * values. It has its own id, so that it is still relayed if the replaced one was relayed meanwhile.
 */
export const setEntry = (
  entry: { id: unknown; name: EventName; data?: object; was?: object },
  now: Date,
): { outbox: object; outboxAt: object } => {
  const pending = { $ifNull: ['$outbox', []] };
  const sameEventConditions = [
    { $eq: ['$$entry.name', entry.name] },
    { $eq: [{ $ifNull: ['$$entry.was', null] }, null] },
    { $eq: [{ $ifNull: ['$$entry.data', null] }, { $literal: entry.data ?? null }] },
  ];
  const others = { $filter: { input: pending, as: 'entry', cond: { $not: [{ $and: sameEventConditions }] } } };
  const replacesPending = getEventDefinition(entry.name).coalesce;
  return {
    outbox: { $concatArrays: [replacesPending ? others : pending, [entry]] },
    outboxAt: { $ifNull: ['$outboxAt', now] },
  };
};

/** An update pipeline that removes acknowledged events from a document's outbox, and `outboxAt` when none is left. Events that were added meanwhile stay. */
export const removeEntries = (eventIds: readonly string[]): object[] => [
  {
    $set: {
      outbox: {
        $filter: { input: { $ifNull: ['$outbox', []] }, as: 'entry', cond: { $not: [{ $in: ['$$entry.id', { $literal: eventIds }] }] } },
      },
    },
  },
  {
    $set: {
      outboxAt: { $cond: [{ $eq: [{ $size: '$outbox' }, 0] }, '$$REMOVE', '$outboxAt'] },
      outbox: { $cond: [{ $eq: [{ $size: '$outbox' }, 0] }, '$$REMOVE', '$outbox'] },
    },
  },
];

/**
 * The index that the relay reads from, in its order. The query names it, because a query planner that sorts instead reads the whole backlog for every batch.
 */
export const pendingIndex = 'pending';

/** Adds indexes that contain only documents with pending events: by age for the sweep, and by `key` for the relay. */
export function indexOutbox<T>(schema: Schema<T>, key?: Record<string, 1>): void {
  schema.index({ outboxAt: 1 }, { partialFilterExpression: { outboxAt: { $exists: true } } });
  if (key) schema.index({ ...key, outboxAt: 1 }, { name: pendingIndex, partialFilterExpression: { outboxAt: { $exists: true } } });
}
