import type { EventName } from '../contract/events.ts';
import { presenceTopic } from '../store/bus/topics.ts';
import { bookkeeping, trusted } from '../store/database.ts';
import { settled } from '../store/models/outbox.ts';
import type { WorkerPlatform } from '../store/platform.ts';
import type { ServerAccess } from './access.ts';
import { type Audience, appendInOrder, serverAudience } from './audience.ts';
import { publicUserOf } from './faces.ts';
import { type AccountHearers, hearersOf } from './presence-hearers.ts';

/** An event about an account. Its `id` makes its delivery happen once. */
interface AccountEvent {
  id: string;
  name: EventName;
  payload: string;
  /** An account that does not get it. */
  except?: string;
}

/**
 * Appends an event about an account to `receivers`, once for each of them however often it is called: to the bots of each server under the server's access
 * data, and by one event for all nodes to people and to bots that only share a DM.
 */
export async function appendAccountEvent(
  platform: WorkerPlatform,
  accountId: string,
  { id, name, payload, except }: AccountEvent,
  { byServer, dmBots, people }: AccountHearers,
): Promise<void> {
  const topics = [presenceTopic];
  for (const { server, bots } of byServer) {
    let audience: Audience | null = { bots, topics, server };
    // Asked again when the server's access data changed meanwhile: the bots, or the account itself, may have left it.
    const again = async (access: ServerAccess): Promise<string[]> => {
      const still = (await access.member(accountId)) ? await access.bots() : [];
      return still.map(({ userId }) => userId).filter((userId) => bots.includes(userId));
    };
    await appendInOrder(platform, [{ id: `${id}-${server.id}`, name, payload }], async () => {
      const first = audience;
      audience = null;
      const later = first ?? (await serverAudience(platform, server.id, again));
      return later && { ...later, topics };
    });
  }
  const own = except === undefined ? {} : { except };
  await platform.append({ eventId: id, name, payload, bots: dmBots, reach: 'all', topics, ...own, hearers: people });
  void platform.forget([id, ...byServer.map(({ server }) => `${id}-${server.id}`)]);
}

/** A drain older than this was paused, and another may have taken over. In milliseconds. */
const drainLifeMs = 5_000;

/**
 * Sends the USER_UPDATE in the outbox of an account to everyone who shares a server or a DM with it, and to its own sessions. The event shows the account as
 * it is now. Running it twice delivers nothing twice. Rejects while Redis or the database is away; the outbox stays.
 */
export async function drainAccount(platform: WorkerPlatform, accountId: string): Promise<void> {
  const began = performance.now();
  const account = await platform.db.accounts.findOne({ _id: accountId }).lean();
  const last = account?.ob?.at(-1);
  if (!account?.ob || !last) return;
  const { byServer, dmBots, people } = (await hearersOf(platform, [accountId]))(accountId);
  const receivers = {
    byServer,
    dmBots: account.kind === 'bot' ? [...dmBots, accountId] : dmBots,
    people: { ...people, users: [...people.users, accountId] },
  };
  if (performance.now() - began > drainLifeMs) return;
  const event = { id: last.id, name: last.name, payload: JSON.stringify(publicUserOf(account)) };
  await appendAccountEvent(platform, accountId, event, receivers);
  const sent = settled(account.ob.map(({ id }) => id));
  await platform.db.accounts.collection.updateOne({ _id: accountId as never }, sent, bookkeeping);
}

/** How old an event is when the sweep takes it, in milliseconds, and how many accounts one sweep takes. */
const sweepAfterMs = 2_000;
const sweepAccounts = 100;

/** Accounts whose event has waited for more than 2 s, oldest first: their job was lost or is late. */
export async function overdueAccounts({ db, now }: WorkerPlatform): Promise<string[]> {
  const late = { obAt: trusted({ $lt: new Date(now() - sweepAfterMs) }) };
  const found = await db.accounts.find(late, { _id: 1 }).sort({ obAt: 1 }).limit(sweepAccounts).lean();
  return found.map(({ _id }) => _id);
}
