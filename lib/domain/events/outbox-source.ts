import { traitsOf } from '../../contract/events.ts';
import type { OutboxEntry } from '../../store/mongo/models/outbox.ts';
import type { WorkerPlatform } from '../../store/platform.ts';
import type { Following } from '../../store/queue/queue.ts';
import type { Broadcast, During } from '../../store/redis/log/append.ts';
import type { Appended } from '../../store/redis/log/confirm.ts';
import { appendInOrder, keepAllMarks, type PlacedEvent } from './placed-events.ts';

/** A batch of pending events, in order. `acknowledge` removes them from their outbox once they are in the log. */
export interface PendingEvents {
  events: readonly PlacedEvent[];
  /** An event that is published without being stored in a log. */
  broadcast?: Broadcast;
  /** The ids of their outbox entries, if the next batch may be read before these are acknowledged. */
  entryIds?: readonly string[];
  /** The data that `acknowledge` needs about this batch. It may be called for several batches at once. */
  batch?: unknown;
  acknowledge: (batches: never[]) => Promise<void>;
}

/** A kind of documents with pending events. */
export interface OutboxSource {
  /** The pending events of one key, oldest first, without the entries `relayed`, which are about to be acknowledged. */
  read(platform: WorkerPlatform, key: string, relayed: ReadonlySet<string>, following?: Following): AsyncGenerator<PendingEvents, void>;
  /** Keys with events that have been pending since before `before`. */
  overdue(platform: WorkerPlatform, before: Date): Promise<string[]>;
  /** How many keys the sweep relays at once. It is small, so that the jobs keep most of the capacity. */
  sweptAtOnce: number;
}

/** The maximum age of a batch, in milliseconds. If the process was paused for longer, another worker may have taken over. */
export const batchLifeMs = 5_000;

/** A batch that was appended, and its pending acknowledgement. */
export interface Begun {
  appended: readonly Appended[];
  acknowledged: Promise<void>;
}

/**
 * Appends a batch to the log. `began` is a moment before the batch was read, by the process' monotonic clock. If the process was paused since, it returns null
 * and leaves the batch to the worker that took over. Rejects if the epoch of `during` is over.
 */
export async function relayBatch(platform: WorkerPlatform, pending: PendingEvents, began: number, during?: During): Promise<Begun | null> {
  const { events, broadcast, batch } = pending;
  if (performance.now() - began > batchLifeMs) return null;
  const appended = await appendInOrder(platform, events, during);
  if (broadcast) await platform.broadcast(broadcast);
  // The marks stay for a while after the acknowledgement. They prevent a second append by a worker that read these events before and was paused, or after a
  // crash of the database undoes the acknowledgement. Marks that Redis lost are set again first, before later events of the key may be appended.
  const acknowledged = platform.acknowledge(appended, batch as never, pending.acknowledge).then(() => keepAllMarks(platform, events));
  acknowledged.catch(() => undefined); // handled where it is awaited
  return { appended, acknowledged };
}

/** The entries to send. Of several events that show the current state of the same thing (`coalesce`), only the last is sent. */
export function entriesToSend(entries: readonly OutboxEntry[]): Set<OutboxEntry> {
  const shown = ({ name, data }: OutboxEntry): string => `${name} ${JSON.stringify(data ?? null)}`;
  const last = new Map(entries.map((entry) => [shown(entry), entry]));
  return new Set(entries.filter((entry) => !traitsOf(entry.name).coalesce || last.get(shown(entry)) === entry));
}

/** Whether recipients know of the document with these pending events. They do not while the event that announces it is pending. */
export const isAnnounced = (entries: readonly OutboxEntry[] = []): boolean => !entries.some(({ name }) => traitsOf(name).life === 'begins');

/** Whether one of these events announces the creation or the end of something. */
export const hasBirthOrEnd = (entries: readonly OutboxEntry[] = []): boolean => entries.some(({ name }) => traitsOf(name).life);
