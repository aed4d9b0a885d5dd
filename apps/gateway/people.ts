import { Refusal } from '../../lib/base/errors.ts';
import { loadServer, type ServerAccess } from '../../lib/domain/access.ts';
import { serverNow } from '../../lib/domain/servers.ts';
import type { Envelope, EnvelopeHead, Hearers } from '../../lib/store/bus/envelope.ts';
import { presenceTopic } from '../../lib/store/bus/topics.ts';
import { refreshServers } from './audience.ts';
import { type EventFrame, frameOf } from './frames.ts';
import { mayHear } from './hearers.ts';
import { invalidate } from './leave.ts';
import { sendEvent } from './outlet.ts';
import type { GatewayNode, LocalAccount } from './state.ts';

/** How many events of one server may wait for its people's permissions; past that they are told to begin anew. */
const waitingMost = 1_000;

/** The way of a server's events to the people on this node: one after another, as who may see them is read from the database at times. */
export interface People {
  /** An event of a server: to its people here who may see it. */
  hearServer(serverId: string, event: Envelope): void;
  /** An event of a person or bot, for the people here who know it. Past what may wait it is lost: presence is best effort. */
  hearPresence(event: Envelope): void;
  /** An event for one person. One about a server keeps its place among the events of that server. */
  hearUser(account: LocalAccount, event: Envelope): void;
}

type Verdicts = Map<string, boolean>;

/** An event on its way: to all who may see it, or to one person alone, once `ready`. */
interface Due {
  event: Envelope;
  only?: LocalAccount;
  ready?: Promise<void>;
}

/** The server that an event for one person is about; null for none. */
function serverOf({ head, payload }: Envelope): string | null {
  if (!head.t.startsWith('SERVER_') && !head.t.startsWith('CHANNEL_')) return null;
  const { id, serverId } = JSON.parse(payload.toString('utf8')) as { id: string; serverId?: string | null };
  return head.t.startsWith('SERVER_') ? id : (serverId ?? null);
}

/** Binds the people of `node`. */
export function createPeople(node: GatewayNode): People {
  const queues = new Map<string, Due[]>();
  // Under one version of a server's access data a verdict does not change; the version goes, and its verdicts with it.
  const verdicts = new WeakMap<ServerAccess, Map<string, Verdicts>>();

  const verdictsOf = (access: ServerAccess, channelId: string): Verdicts => {
    const channels = verdicts.get(access) ?? new Map<string, Verdicts>();
    verdicts.set(access, channels);
    const known = channels.get(channelId) ?? new Map<string, boolean>();
    channels.set(channelId, known);
    return known;
  };

  const judge = async (access: ServerAccess, head: EnvelopeHead, people: ReadonlySet<LocalAccount>): Promise<Verdicts> => {
    const known: Verdicts = head.ow || head.was ? new Map() : verdictsOf(access, head.ch ?? '');
    const unknown = [...people].filter(({ id }) => !known.has(id)).map(({ id }) => id);
    if (unknown.length === 0) return known;
    await access.preload(unknown);
    for (const id of unknown) known.set(id, await mayHear(access, head, id));
    return known;
  };

  const give = (account: LocalAccount, frame: EventFrame): number => {
    let sent = 0;
    for (const session of account.sessions) {
      if (session.busy) continue; // before READY: they fetch after it
      sendEvent(node, session.socket, frame, ++session.last);
      sent++;
    }
    return sent;
  };

  /** The people here who are in one of these servers, under its access data, or are among these accounts; each once. */
  const among = async (head: EnvelopeHead, { servers, users }: Hearers): Promise<Set<LocalAccount>> => {
    const found = new Set<LocalAccount>();
    for (const [id, version] of servers) {
      const people = node.people.get(id);
      const access = people && (await loadServer(node.platform, id, version));
      if (!access) continue;
      const verdict = await judge(access, head, people);
      for (const account of people) if (verdict.get(account.id)) found.add(account);
    }
    for (const id of users) {
      const account = node.accounts.get(id);
      if (account && !account.bot) found.add(account);
    }
    return found;
  };

  const tellAmong = async (event: Envelope, hearers: Hearers): Promise<void> => {
    const frame = frameOf(event, node.platform.config.APP_KEY);
    let sent = 0;
    for (const account of await among(event.head, hearers)) if (account.id !== event.head.no) sent += give(account, frame);
    node.metrics.deliveries.inc({ event: event.head.t }, sent);
  };

  const deliver = async (serverId: string, event: Envelope): Promise<void> => {
    if (event.head.hear) return tellAmong(event, event.head.hear);
    const access = await loadServer(node.platform, serverId, event.head.v ?? null);
    const people = node.people.get(serverId);
    if (!access || !people) return;
    const verdict = await judge(access, event.head, people);
    const frame = frameOf(event, node.platform.config.APP_KEY);
    let sent = 0;
    for (const account of people) if (account.id !== event.head.no && verdict.get(account.id)) sent += give(account, frame);
    node.metrics.deliveries.inc({ event: event.head.t }, sent);
  };

  /**
   * Who joined is told of the server as it stands when its events are heard here: what passed between the join and now is in it, and what comes after
   * is heard. As it was told, when they have left again or it is gone.
   */
  const welcome = async (serverId: string, event: Envelope, account: LocalAccount): Promise<Envelope> => {
    try {
      const server = await serverNow(node.platform, serverId, account.id);
      return { ...event, payload: Buffer.from(JSON.stringify(server)) };
    } catch (error) {
      if (error instanceof Refusal) return event;
      throw error;
    }
  };

  const tellOne = (event: Envelope, account: LocalAccount): void =>
    node.metrics.deliveries.inc({ event: event.head.t }, give(account, frameOf(event, node.platform.config.APP_KEY)));

  const tellInTurn = async (place: string, { event, ready }: Due, account: LocalAccount): Promise<void> => {
    await ready;
    tellOne(event.head.t === 'SERVER_CREATE' ? await welcome(place, event, account) : event, account);
  };

  /** What a person missed cannot be told: they fetch anew. */
  const giveUp = (serverId: string, reason: string, due: readonly Due[] = []): void => {
    const left = [...due, ...(queues.get(serverId)?.splice(0) ?? [])].flatMap(({ only }) => (only ? [only] : []));
    for (const account of new Set([...left, ...(node.people.get(serverId) ?? [])]))
      for (const session of account.sessions) invalidate(node, session, reason);
  };

  const run = async (serverId: string, queue: Due[]): Promise<void> => {
    for (let due = queue.shift(); due; due = queue.shift())
      try {
        if (due.only) await tellInTurn(serverId, due, due.only);
        else await deliver(serverId, due.event);
      } catch (error) {
        node.platform.log.warn({ err: error, serverId }, 'could not determine who may see an event; clients must reconnect');
        giveUp(serverId, 'events may have been lost; clients must reconnect', [due]);
      }
    queues.delete(serverId);
  };

  const enqueue = (place: string, due: Due): void => {
    const queue = queues.get(place);
    if (!queue) {
      const fresh = [due];
      queues.set(place, fresh);
      void run(place, fresh);
    } else if (queue.length < waitingMost) queue.push(due);
    else giveUp(place, 'too many events at once', [due]);
  };

  return {
    hearServer(serverId, event) {
      if (event.head.t === 'INTERACTION_CREATE' || !node.people.has(serverId)) return;
      enqueue(serverId, { event });
    },
    hearPresence(event) {
      if (event.head.hear && node.accounts.size > 0) enqueue(presenceTopic, { event });
    },
    hearUser(account, event) {
      if (event.head.t === 'INTERACTION_CREATE' || event.head.no === account.id) return;
      const serverId = serverOf(event);
      if (serverId !== null) {
        // Begun here, so that many who join at once wait together.
        const ready = event.head.t === 'SERVER_CREATE' ? refreshServers(node, account, () => undefined) : Promise.resolve();
        ready.catch(() => undefined); // told where it is waited for
        enqueue(serverId, { event, only: account, ready });
      } else tellOne(event, account);
    },
  };
}
