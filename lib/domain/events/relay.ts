import { forEachAtOnce } from '../../base/at-once.ts';
import type { Relayed, WorkerPlatform } from '../../store/platform.ts';
import type { Following } from '../../store/queue/queue.ts';
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
const relayedMost = 500;

/**
 * Appends the pending events of one key to the log, batch by batch, until there are none (docs/delivery.md#relay). Returns a function that waits for their
 * acknowledgement; the key may be relayed again meanwhile. Repeated and concurrent runs append nothing twice, because Redis has a mark for each event. Rejects
 * while Redis or the database is unavailable; the events stay pending. `following`: the state of a worker that stays with the key.
 */
export async function beginRelay(
  platform: WorkerPlatform,
  outbox: OutboxName,
  key: string,
  following?: Following,
): Promise<() => Promise<void>> {
  const name = `${outbox} ${key}`;
  const relayed: Relayed = platform.relayed.get(name) ?? { ids: new Set(), during: new Map() };
  const acknowledgements: Promise<unknown>[] = [];
  const batches = sources[outbox].read(platform, key, relayed.ids, following);
  for (;;) {
    const began = performance.now();
    const next = await batches.next();
    const begun = next.done ? null : await relayBatch(platform, next.value, began, relayed.during);
    if (next.done || !begun) return async () => void (await Promise.all(acknowledgements));
    const ids = next.value.entryIds ?? [];
    for (const id of ids) relayed.ids.add(id);
    if (ids.length > 0) {
      for (const { partition, during } of begun.appended) relayed.during.set(partition, during);
      platform.relayed.set(name, relayed);
    }
    const acknowledged = begun.acknowledged.finally(() => {
      for (const id of ids) relayed.ids.delete(id);
      if (relayed.ids.size > 0) return;
      relayed.during.clear();
      if (platform.relayed.get(name) === relayed) platform.relayed.delete(name);
    });
    acknowledged.catch(() => undefined); // handled where it is waited for
    acknowledgements.push(acknowledged);
    if (ids.length === 0 || relayed.ids.size > relayedMost) await Promise.all(acknowledgements.splice(0));
  }
}

/** Relays and acknowledges the pending events of one key, as `beginRelay` says. */
export const relay = async (platform: WorkerPlatform, outbox: OutboxName, key: string): Promise<void> =>
  (await beginRelay(platform, outbox, key))();

/** How old pending events are when the sweep relays them, in milliseconds: their job was lost or is late. */
const sweepAfterMs = 2_000;

/** The keys of an outbox whose events have been pending for too long. */
export const overdueKeys = (platform: WorkerPlatform, outbox: OutboxName): Promise<string[]> =>
  sources[outbox].overdue(platform, new Date(platform.now() - sweepAfterMs));

/** Relays the overdue events of one outbox directly, without the queue. */
export async function sweepOutbox(platform: WorkerPlatform, outbox: OutboxName): Promise<void> {
  const { sweptAtOnce }: OutboxSource = sources[outbox];
  await forEachAtOnce(await overdueKeys(platform, outbox), sweptAtOnce, (key) => relay(platform, outbox, key));
}

/** How old the oldest pending event is, in milliseconds; 0 when there is none. For the operators' metrics. */
export async function outboxAgeMs({ db, now }: Pick<WorkerPlatform, 'db' | 'now'>): Promise<number> {
  const collections = [db.messages, db.interactions, db.channels, db.servers, db.members, db.accounts];
  const oldest = await Promise.all(
    collections.map((one) =>
      one.collection.findOne<{ obAt: Date }>({ obAt: { $exists: true } }, { projection: { obAt: 1 }, sort: { obAt: 1 } }),
    ),
  );
  return Math.max(0, ...oldest.map((one) => (one ? now() - one.obAt.getTime() : 0)));
}
