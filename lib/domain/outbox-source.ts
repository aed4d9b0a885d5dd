import { traitsOf } from '../contract/events.ts';
import type { Broadcast, During } from '../store/log/append.ts';
import type { Appended } from '../store/log/confirm.ts';
import type { OutboxEntry } from '../store/models/outbox.ts';
import type { WorkerPlatform } from '../store/platform.ts';
import type { Following } from '../store/queue.ts';
import { appendInOrder, type PlacedEvent, settleAllMarks } from './placed-events.ts';

/** A batch of pending events, in order, and what takes them out of their outbox once they are in the log. */
export interface PendingEvents {
  events: readonly PlacedEvent[];
  /** An event that goes to no log. */
  broadcast?: Broadcast;
  /** Their outbox entries, where the next batch may be read before these are acknowledged. */
  entryIds?: readonly string[];
  /** What `acknowledge` needs to know of the batch; it may be called for several batches at once. */
  batch?: unknown;
  acknowledge: (batches: never[]) => Promise<void>;
}

/** Documents with pending events. */
export interface OutboxSource {
  /** The pending events of one key, oldest first, but for the outbox entries `relayed`, which are about to be acknowledged. */
  read(platform: WorkerPlatform, key: string, relayed: ReadonlySet<string>, following?: Following): AsyncGenerator<PendingEvents, void>;
  /** Keys with events that have been pending since before `before`. */
  overdue(platform: WorkerPlatform, before: Date): Promise<string[]>;
  /** How many keys the sweep relays at once: the jobs keep most of the machine. */
  sweptAtOnce: number;
}

/** A batch older than this was paused: another worker may have taken over. In milliseconds. */
const batchLifeMs = 5_000;

/** A batch that was appended, and its acknowledgement, which is under way. */
export interface Begun {
  appended: readonly Appended[];
  acknowledged: Promise<void>;
}

/**
 * Appends a batch to the log. `began` is a moment before it was read, by the process' monotonic clock: a batch that was paused since is left to whoever took over;
 * null then. Rejects when the epoch of `during` is over.
 */
export async function relayBatch(platform: WorkerPlatform, pending: PendingEvents, began: number, during?: During): Promise<Begun | null> {
  const { events, broadcast, batch } = pending;
  if (performance.now() - began > batchLifeMs) return null;
  const appended = await appendInOrder(platform, events, during);
  if (broadcast) await platform.broadcast(broadcast);
  // Ahead of later events: the marks keep back a worker that read these before and appends them late, and a crash of the database that takes this back.
  const acknowledged = platform.acknowledge(appended, batch as never, pending.acknowledge).then(() => settleAllMarks(platform, events));
  acknowledged.catch(() => undefined); // handled where it is waited for
  return { appended, acknowledged };
}

/** The entries that are sent: of those that show a thing as it is now, the last of a kind and thing. */
export function entriesToSend(entries: readonly OutboxEntry[]): Set<OutboxEntry> {
  const shown = ({ name, data }: OutboxEntry): string => `${name} ${JSON.stringify(data ?? null)}`;
  const last = new Map(entries.map((entry) => [shown(entry), entry]));
  return new Set(entries.filter((entry) => !traitsOf(entry.name).coalesce || last.get(shown(entry)) === entry));
}

/** Whether something with these pending events is known to its recipients: it is not yet while the event that makes it known is pending. */
export const isAnnounced = (entries: readonly OutboxEntry[] = []): boolean => !entries.some(({ name }) => traitsOf(name).life === 'begins');

/** Whether one of these events says that a thing begins or ends. */
export const hasBirthOrEnd = (entries: readonly OutboxEntry[] = []): boolean => entries.some(({ name }) => traitsOf(name).life);
