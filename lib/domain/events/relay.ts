import { forEachLimit } from '../../base/for-each-limit.ts';
import { withSharedFields } from '../../store/mongo/database.ts';
import type { Outbox } from '../../store/mongo/models/outbox.ts';
import type { UnacknowledgedEntries, WorkerPlatform } from '../../store/platform.ts';
import type { RunState } from '../../store/queue/queue.ts';
import { accountOutbox } from '../accounts/account-outbox.ts';
import { interactionOutbox } from '../interactions/interaction-outbox.ts';
import { messageOutbox } from '../messages/message-outbox.ts';
import { serverOutbox } from '../servers/server-outbox.ts';
import { type OutboxSource, relayBatch } from './outbox-source.ts';

/** Every outbox: the messages of a channel; a server with its members and channels; an account; an interaction. */
const sources = { channel: messageOutbox, server: serverOutbox, account: accountOutbox, interaction: interactionOutbox };

/** The name of an outbox. The job that relays it is `relay-<name>`. */
export type OutboxName = keyof typeof sources;

/** How many events of a key may await their acknowledgement before the next batch is read. */
const unacknowledgedMax = 500;

/**
 * Appends the pending events of one key to the log, batch by batch, until there are none (docs/delivery.md#relay). Returns a function that waits for their
 * acknowledgement; the key may be relayed again meanwhile. Repeated and concurrent runs append nothing twice, because Redis has a mark for each event. Rejects
 * while Redis or the database is unavailable; the events stay pending. `runState`: the state of a worker that stays with the key.
 */
export async function startRelay(
  platform: WorkerPlatform,
  outbox: OutboxName,
  key: string,
  runState?: RunState,
): Promise<() => Promise<void>> {
  const name = `${outbox} ${key}`;
  const relayed: UnacknowledgedEntries = platform.unacknowledged.get(name) ?? { ids: new Set(), epochs: new Map() };
  const acknowledgements: Promise<unknown>[] = [];
  const batches = sources[outbox].read(platform, key, relayed.ids, runState);
  for (;;) {
    const startMs = performance.now();
    const next = await batches.next();
    const appendedBatch = next.done ? null : await relayBatch(platform, next.value, startMs, relayed.epochs);
    if (next.done || !appendedBatch) return async () => void (await Promise.all(acknowledgements));
    const ids = next.value.entryIds ?? [];
    for (const id of ids) relayed.ids.add(id);
    if (ids.length > 0) {
      for (const { partition, appendEpoch } of appendedBatch.appended) relayed.epochs.set(partition, appendEpoch);
      platform.unacknowledged.set(name, relayed);
    }
    const acknowledged = appendedBatch.acknowledged.finally(() => {
      for (const id of ids) relayed.ids.delete(id);
      if (relayed.ids.size > 0) return;
      relayed.epochs.clear();
      if (platform.unacknowledged.get(name) === relayed) platform.unacknowledged.delete(name);
    });
    acknowledged.catch(() => undefined); // handled where it is waited for
    acknowledgements.push(acknowledged);
    if (ids.length === 0 || relayed.ids.size > unacknowledgedMax) await Promise.all(acknowledgements.splice(0));
  }
}

/** Relays and acknowledges the pending events of one key, as `startRelay` says. */
export const relayEvents = async (platform: WorkerPlatform, outbox: OutboxName, key: string): Promise<void> =>
  (await startRelay(platform, outbox, key))();

/** How old pending events are when the sweep relays them, in milliseconds: their job was lost or is late. */
const sweepAfterMs = 2_000;

/** The keys of an outbox whose events have been pending for too long. */
export const overdueKeys = (platform: WorkerPlatform, outbox: OutboxName): Promise<string[]> =>
  sources[outbox].findOverdue(platform, new Date(platform.now() - sweepAfterMs));

/** Relays the overdue events of one outbox directly, without the queue. */
export async function sweepOutbox(platform: WorkerPlatform, outbox: OutboxName): Promise<void> {
  const { sweepConcurrency }: OutboxSource = sources[outbox];
  await forEachLimit(await overdueKeys(platform, outbox), sweepConcurrency, (key) => relayEvents(platform, outbox, key));
}

/** How old the oldest pending event is, in milliseconds; 0 when there is none. For the operators' metrics. */
export async function outboxAgeMs({ db, now }: Pick<WorkerPlatform, 'db' | 'now'>): Promise<number> {
  const collections = [db.messages, db.interactions, db.channels, db.servers, db.members, db.accounts];
  const oldest = await Promise.all(
    collections.map((one) =>
      withSharedFields<Outbox>(one).findOne<{ outboxAt: Date }>(
        { outboxAt: { $exists: true } },
        { projection: { outboxAt: 1 }, sort: { outboxAt: 1 } },
      ),
    ),
  );
  return Math.max(0, ...oldest.map((one) => (one ? now() - one.outboxAt.getTime() : 0)));
}
