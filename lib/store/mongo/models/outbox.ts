import type { Schema } from 'mongoose';
import { idTimeMs } from '../../../base/ids.ts';
import type { Overwrite } from '../../../base/permissions.ts';
import { type EventData, getEventDefinition } from '../../../contract/events.ts';
import type { Role } from '../../../contract/server.ts';

// The events that a document can have in its outbox. `data` is what the relay needs for the payload and the document does not have; `was` is the old value, for
// a change that may affect who can view a channel.

/** An event of a message. `nonce` is echoed in MESSAGE_CREATE (docs/behavior/messages.md#nonce). */
export type MessageEvent =
  | { name: 'MESSAGE_CREATE'; nonce?: string; data?: never }
  | { name: 'REACTION_ADD' | 'REACTION_REMOVE'; data: { userId: string; emoji: string } }
  | { name: 'MESSAGE_UPDATE' | 'MESSAGE_DELETE' | 'PINS_UPDATE'; data?: never };

/** An event of a channel, with its old overwrites. */
export interface ChannelEvent {
  name: 'CHANNEL_CREATE' | 'CHANNEL_UPDATE';
  data?: never;
  was?: { overwrites: readonly Overwrite[] };
}

/**
 * An event of a server. `shifted` is the range of positions to which a change moved other roles, both ends included; without `to` it ends at the highest
 * position. MEMBER_REMOVE and CHANNEL_DELETE are stored before the member or channel is deleted: a relay that finds it still there deletes it. A MEMBER_REMOVE
 * has the start of the membership (`joinedAt`), a CHANNEL_DELETE the channel whose overwrites decided who could view it (`viewedAs`). What is deleted is in the
 * event, so that its pending events can still be sent: a role as it was shown, a channel as it was stored.
 */
export type ServerEvent = {
  was?: { role?: { id: string; permissions: number }; owner?: string };
  shifted?: { from: number; to?: number };
} & (
  | { name: 'ROLE_CREATE' | 'ROLE_UPDATE'; data: { roleId: string } }
  | { name: 'ROLE_DELETE'; data: { roleId: string; role?: Role | undefined } }
  | { name: 'ROLE_UPDATE'; data: { botId: string } }
  | { name: 'MEMBER_REMOVE'; data: { userId: string; joinedAt: Date } }
  | {
      name: 'CHANNEL_DELETE';
      data: {
        channelId: string;
        viewedAs: string | null;
        overwrites: readonly Overwrite[];
        channel?: { _id: string } & Outbox<ChannelEvent>;
      };
    }
  | { name: 'SERVER_UPDATE'; data?: never }
);

/** An event of a member, with the role that the member was given (`has`) or lost. MEMBER_ADD is also relayed as SERVER_CREATE, to the account itself. */
export type MemberEvent = { was?: { given: { roleId: string; has: boolean } } } & { name: 'MEMBER_ADD' | 'MEMBER_UPDATE'; data?: never };

/** The id of the SERVER_CREATE that is relayed with a MEMBER_ADD. */
export const toServerCreateId = (memberAddId: string): string => `${memberAddId}-self`;

/** An event of an account. */
export interface AccountEvent {
  name: 'USER_UPDATE';
  data?: never;
}

/** An event of an interaction. The messages are ephemeral ones, which are not stored as messages. */
export type InteractionEvent =
  | { name: 'INTERACTION_CREATE'; data?: never }
  | { name: 'INTERACTION_UPDATE'; data: EventData<'INTERACTION_UPDATE'> }
  | { name: 'MESSAGE_CREATE'; data: EventData<'MESSAGE_CREATE'> }
  | { name: 'MESSAGE_UPDATE'; data: EventData<'MESSAGE_UPDATE'> }
  | { name: 'MESSAGE_DELETE'; data: EventData<'MESSAGE_DELETE'> };

/** An event of any document with an outbox. */
export type OutboxEvent = MessageEvent | ChannelEvent | ServerEvent | MemberEvent | AccountEvent | InteractionEvent;

/**
 * A pending event in the outbox of a document. It is appended to the log once for each `id`. `trace` is the traceparent of the write, if that is traced
 * (docs/operations.md#traces).
 */
export type OutboxEntry<E extends OutboxEvent = OutboxEvent> = E & { id: string; trace?: string };

/** The fields of a document with pending events `E`; both are absent when there are none. */
export interface Outbox<E extends OutboxEvent = OutboxEvent> {
  outbox?: OutboxEntry<E>[];
  outboxAt?: Date;
}

/** The time of the id of a pending event, which is the `outboxAt` of its document if it is the first one. */
export const entryTime = (id: string): Date => new Date(idTimeMs(id.slice(0, 19)));

/**
 * The operators that an update needs to add `entries` to a document's outbox: `{ $push, $min }`. An earlier `outboxAt` stays, so that the sweep also finds a
 * document that is written to all the time.
 */
export const pushEntries = <E extends OutboxEvent>(
  ...entries: [OutboxEntry<E>, ...OutboxEntry<E>[]]
): { $push: { outbox: { $each: OutboxEntry<E>[] } }; $min: { outboxAt: Date } } => ({
  $push: { outbox: { $each: entries } },
  $min: { outboxAt: entryTime(entries[0].id) },
});

/** An event that is added by an update pipeline. Objects in `data` and `was` are expressions. */
export type PipelineEvent =
  | { name: 'CHANNEL_UPDATE'; data?: never; was?: { overwrites: '$overwrites' } }
  | { name: 'ROLE_UPDATE'; data: { botId: string } }
  | { name: 'USER_UPDATE'; data?: never };

/**
 * `pushEntries` for an update pipeline: the fields of a `$set` stage that adds `entry` to the outbox. The values are expressions, so user input in them must be
 * wrapped in `$literal`. An event that shows the state at the time it is sent (`coalesce`) replaces a pending event of the same thing, unless that one has old
 * values. It has its own id, so that it is still relayed if the replaced one was relayed meanwhile. `firstId` is its id, or what the ids of an update of many
 * documents begin with.
 */
export const setEntry = (
  entry: PipelineEvent & { id: string | object; trace?: string },
  firstId: string,
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
    outboxAt: { $ifNull: ['$outboxAt', entryTime(firstId)] },
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
 * A filter for documents with events that have been pending since `from` or later; all documents with pending events if it is null. Null makes a difference on
 * DocumentDB: it serves a sort by `outboxAt` from the index only without bounds, because it takes the index for one of an array (`outbox` begins its name).
 */
export const pendingFrom = (from: Date | null): { outboxAt: object } => ({ outboxAt: from ? { $gte: from } : { $exists: true } });

/**
 * The index that the relay reads from, in its order. The query names it, because a query planner that sorts instead reads the whole backlog for every batch.
 */
export const pendingIndex = 'pending';

/** Adds indexes that contain only documents with pending events: by age for the sweep, and by `key` for the relay. */
export function indexOutbox<T>(schema: Schema<T>, key?: Record<string, 1>): void {
  schema.index({ outboxAt: 1 }, { partialFilterExpression: { outboxAt: { $exists: true } } });
  if (key) schema.index({ ...key, outboxAt: 1 }, { name: pendingIndex, partialFilterExpression: { outboxAt: { $exists: true } } });
}
