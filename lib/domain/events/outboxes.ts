import { toParts } from '../../base/parts.ts';
import { getEventDefinition } from '../../contract/events.ts';
import { type Collections, relaxedWriteConcern, withSharedFields } from '../../store/mongo/database.ts';
import { type Outbox, type OutboxEntry, type OutboxEvent, removeEntries } from '../../store/mongo/models/outbox.ts';
import type { WorkerPlatform } from '../../store/platform.ts';
import type { Broadcast } from '../../store/redis/log/append.ts';
import type { Appended } from '../../store/redis/log/confirm.ts';
import type { RunState } from '../../store/redis/wakes.ts';
import type { PlacedEvent } from './placed.ts';
import type { EventTraces } from './traces.ts';

/** A batch of pending events, in order. `acknowledge` removes them from their outbox by `platform.eventLog.acknowledge`. */
export interface PendingBatch {
  events: readonly PlacedEvent[];
  /** The traces of the events; without it, none is traced. */
  traces?: EventTraces;
  /** An event that is published without being stored in a log. */
  broadcast?: Broadcast;
  /** The ids of their outbox entries, if the next batch may be read before these are acknowledged. */
  entryIds?: readonly string[];
  /** Earlier events of the key that are in the log but not acknowledged: these may only follow in the same epoch. */
  earlier?: readonly Appended[];
  /** For events of changes of a server, up to when changes had been relayed when they were read, in milliseconds. */
  relayedMs?: number;
  /** Called when the events are in the log. */
  onAppended?: () => Promise<void>;
  acknowledge: (appended: readonly Appended[]) => Promise<void>;
}

/** Documents with an outbox, and their field with the key of the outbox that they belong to. */
export interface OutboxDocuments {
  collection: 'messages' | 'servers' | 'members' | 'channels' | 'accounts' | 'interactions';
  keyField: '_id' | 'channelId' | 'serverId';
}

/**
 * `relayed`: the entries that are about to be acknowledged, which are left out. `state`, `payloads`: those of a wake (`WakeHandler`). `isPatient`: whether
 * to wait for changes of the server that are under way.
 */
export interface ReadOptions {
  relayed: ReadonlySet<string>;
  state: RunState | undefined;
  payloads: readonly unknown[];
  isPatient: boolean;
}

/** A kind of outbox. */
export interface OutboxSource {
  /** The pending events of one key, oldest first. */
  read(platform: WorkerPlatform, key: string, options: ReadOptions): AsyncGenerator<PendingBatch, void>;
  /** The documents that hold the events. */
  documents: readonly OutboxDocuments[];
  /** How many keys the sweep relays at once. It is small, so that the jobs keep most of the capacity. */
  sweepConcurrency: number;
}

/** The maximum age of a batch, in milliseconds. If the process was paused for longer, another worker may have taken over. */
export const batchLifeMs = 5_000;

/** The entries to send. Of several events that show the current state of the same thing (`coalesce`), only the last is sent. */
export function selectEntriesToSend<E extends OutboxEvent>(entries: readonly OutboxEntry<E>[]): Set<OutboxEntry<E>> {
  const toCoalesceKey = ({ name, data }: OutboxEntry): string => `${name} ${JSON.stringify(data ?? null)}`;
  const last = new Map(entries.map((entry) => [toCoalesceKey(entry), entry]));
  return new Set(entries.filter((entry) => !getEventDefinition(entry.name).coalesce || last.get(toCoalesceKey(entry)) === entry));
}

/** Whether the event that announces the document with these pending events was relayed before. */
export const isAnnounced = (entries: readonly OutboxEntry[] = []): boolean =>
  !entries.some(({ name }) => getEventDefinition(name).lifecycle === 'start');

/** Whether one of these events announces the creation or the end of something. */
export const hasLifecycleEvent = (entries: readonly OutboxEntry[] = []): boolean =>
  entries.some(({ name }) => getEventDefinition(name).lifecycle);

/** How many documents with several pending events one update changes. Each compares all their events with all the relayed ones. */
const mixedDocumentsMax = 100;

/**
 * Removes the relayed events of `documents`, as they were read, from their outboxes. Events that were added meanwhile stay. Most documents have one event: for
 * these the condition is cheap and the outbox is removed as a whole. The others are updated in small parts. `toKeys`: the filter of some of the documents, with
 * their shard key.
 */
export async function removeRelayedEntries<T extends { _id: string; outbox?: readonly OutboxEntry[] }>(
  collection: Collections[OutboxDocuments['collection']],
  documents: readonly T[],
  toKeys: (documents: readonly T[]) => object,
): Promise<void> {
  const outboxes = withSharedFields<Outbox>(collection);
  const entryIdsOf = (some: readonly T[]): string[] => some.flatMap(({ outbox = [] }) => outbox.map(({ id }) => id));
  const single = documents.filter(({ outbox }) => outbox?.length === 1);
  const mixed = documents.filter(({ outbox }) => outbox?.length !== 1);
  if (single.length > 0) {
    const hasNoOther = { 'outbox.0.id': { $in: entryIdsOf(single) }, 'outbox.1': { $exists: false } };
    const removal = { $unset: { outbox: 1, outboxAt: 1 } } as const;
    const { matchedCount } = await outboxes.updateMany({ ...toKeys(single), ...hasNoOther }, removal, relaxedWriteConcern);
    if (matchedCount < single.length) mixed.push(...single);
  }
  for (const part of toParts(mixed, mixedDocumentsMax)) {
    await outboxes.updateMany(toKeys(part), removeEntries(entryIdsOf(part)), relaxedWriteConcern);
  }
}

/** The filter of documents that are found by their ids. */
export const toIdKeys = (documents: readonly { _id: string }[]): { _id: { $in: string[] } } => ({
  _id: { $in: documents.map(({ _id }) => _id) },
});
