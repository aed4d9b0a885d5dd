import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { groupBy } from '../../lib/base/group-by.ts';
import { serverPlace } from '../../lib/store/redis/log/keys.ts';
import { barrier, laneOf, whenLive } from './lane.ts';
import { type GatewayNode, type Lane, monotonic, type Place, type Session } from './state.ts';

/** How many entries of a place's log a node keeps in memory. */
const tailKept = 128;
/** A place without sessions is kept for `keptMs` milliseconds, and at most `keptMost` are kept. A client that returns by then needs no new subscription. */
const keptMs = 60_000;
const keptMost = 2_000;
/** How long to wait before a failed subscription is retried, in milliseconds. */
const againMs = 50;

/** Notes that the subscription delivers all entries of the place after number `n`. */
export function startTailAt(place: Place, n: number): void {
  place.tailFrom = n;
  place.tail = place.tail.filter(({ head }) => head.number > n);
  // Entries with higher numbers may have been received already and may still wait in the lane.
  place.lastNumber = place.lastNumber === Number.POSITIVE_INFINITY ? n : Math.max(place.lastNumber, n);
}

async function subscribeIn(node: GatewayNode, lane: Lane, places: readonly Place[]): Promise<void> {
  while (!node.closing) {
    await whenLive(lane);
    const { generation } = lane;
    try {
      await node.log.subscribe(
        lane.k,
        places.map(({ name }) => name),
      );
    } catch {
      await sleep(againMs);
      continue;
    }
    const n = await barrier(node, lane);
    if (lane.generation !== generation) continue;
    for (const place of places) startTailAt(place, n);
    return;
  }
}

const resolved = Promise.resolve();

/** The access data of a new server's place: nothing is known yet. */
const createAccess = (): Pick<Place, 'members' | 'unknownMembers' | 'loadingMembers' | 'recipients'> => ({
  members: new Map(),
  unknownMembers: new Set(),
  loadingMembers: new Set(),
  recipients: new Map(),
});

/** The access data of an account's place, which is always empty. All such places share it to save memory, as every account with a session has one. */
const noAccess = createAccess();

function createPlace(node: GatewayNode, name: string): Place {
  const serverId = name.startsWith('server:') ? name.slice('server:'.length) : null;
  const place: Place = {
    name,
    k: node.log.partitionOf(name),
    serverId,
    sessions: new Set(),
    tail: [],
    tailFrom: Number.POSITIVE_INFINITY,
    lastNumber: Number.POSITIVE_INFINITY,
    subscribed: resolved,
    rules: null,
    loading: resolved,
    nextLoad: null,
    ...(serverId === null ? noAccess : createAccess()),
  };
  node.places.set(name, place);
  return place;
}

/** Adds these places to a session; resolves when the node is subscribed to them. */
export async function joinPlaces(node: GatewayNode, session: Session, names: readonly string[]): Promise<void> {
  const fresh: Place[] = [];
  const joined = names.map((name) => {
    const known = node.places.get(name);
    const place = known ?? createPlace(node, name);
    if (!known) fresh.push(place);
    place.sessions.add(session);
    node.leftPlaces.delete(place);
    if (place.serverId !== null && !place.members.has(session.account.id)) place.unknownMembers.add(session.account.id);
    for (const audience of place.recipients.values()) audience.unjudged.add(session);
    session.places.add(place);
    return place;
  });
  for (const [lane, places] of groupBy(fresh, (place) => laneOf(node, place))) {
    const subscribed = subscribeIn(node, lane, places);
    subscribed.catch(() => undefined); // handled where it is awaited
    for (const place of places) place.subscribed = subscribed;
  }
  await Promise.all(joined.map(({ subscribed }) => subscribed));
}

function removePlace(node: GatewayNode, place: Place): void {
  node.leftPlaces.delete(place);
  node.places.delete(place.name);
  node.log.unsubscribe(place.name);
}

/** Removes places that have had no session for 60 s, and the longest unused ones while there are more than 2,000 without sessions. */
export function removeLeftPlaces(node: GatewayNode): void {
  for (const [place, leftAt] of node.leftPlaces)
    if (node.leftPlaces.size > keptMost || monotonic() - leftAt > keptMs) removePlace(node, place);
    else return;
}

/** Removes a place from the session. If that was its last session, the node stays subscribed for 60 s and keeps the membership data of the last account. */
export function leavePlace(node: GatewayNode, session: Session, place: Place): void {
  session.places.delete(place);
  session.late.delete(place);
  place.sessions.delete(session);
  const { id, sessions: all } = session.account;
  const isLast = place.sessions.size === 0;
  if (![...all].some((one) => one.places.has(place))) {
    place.unknownMembers.delete(id);
    place.loadingMembers.delete(id);
    if (!isLast) place.members.delete(id);
  }
  for (const { sessions, unjudged } of place.recipients.values()) {
    sessions.delete(session);
    unjudged.delete(session);
  }
  if (!isLast || node.places.get(place.name) !== place) return;
  node.leftPlaces.set(place, monotonic());
  removeLeftPlaces(node);
}

/** The place of a server, or undefined if the session is not in it. */
export const serverPlaceOf = (node: GatewayNode, session: Session, serverId: string): Place | undefined => {
  const place = node.places.get(serverPlace(serverId));
  return place && session.places.has(place) ? place : undefined;
};

async function readWanted(node: GatewayNode, lane: Lane): Promise<void> {
  await turn(); // One read serves all requests of this turn of the event loop.
  // While the lane recovers, the log cannot be compared with what was received.
  while (lane.state === 'held') await whenLive(lane);
  const { generation } = lane;
  // The previous read may already have reached further back than is wanted.
  const wanted = [...lane.wanted].flatMap(([place, after]) => (after < place.tailFrom ? { place, after, below: place.tailFrom } : []));
  lane.wanted.clear();
  if (wanted.length === 0) return;
  const found = await node.log.read(
    lane.k,
    wanted.map(({ place, after }) => ({ place: place.name, after })),
  );
  if (lane.generation !== generation) return;
  wanted.forEach(({ place }, at) => {
    // The node should have received this entry but has not, so other sessions miss it.
    if (found[at]?.entries.some(({ head: { number: n } }) => n > place.lastNumber && n <= lane.known))
      lane.gaps.set(place, place.lastNumber);
  });
  if (lane.gaps.size > 0) return node.interrupt(lane);
  wanted.forEach(({ place, after, below }, at) => {
    const { entries, complete } = found[at] ?? { entries: [], complete: false };
    if (!complete || place.tailFrom !== below) return;
    // Newer entries come through the subscription.
    place.tail = [...entries.filter(({ head }) => head.number <= below), ...place.tail];
    place.tailFrom = after;
  });
}

/**
 * Makes the tails of places of one lane reach back to the given numbers. Concurrent callers share reads. False when the log does not reach back so far. Rejects
 * when Redis does not answer.
 */
export async function extendTails(node: GatewayNode, lane: Lane, wanted: ReadonlyMap<Place, number>): Promise<boolean> {
  for (let tries = 0; ; tries++) {
    const missing = [...wanted].filter(([place, after]) => place.tailFrom > after);
    if (missing.length === 0) return true;
    if (tries > 1) return false;
    // A read that is already running does not include these places, so start another one after it.
    await lane.reading?.catch(() => undefined);
    for (const [place, after] of missing) lane.wanted.set(place, Math.min(after, lane.wanted.get(place) ?? after));
    const { generation } = lane;
    lane.reading ??= readWanted(node, lane).finally(() => {
      lane.reading = null;
    });
    await lane.reading;
    if (lane.generation !== generation) tries = -1;
  }
}

/** Trims tails of more than 256 entries to the newest 128, to bound memory. */
export function trimTails(node: GatewayNode): void {
  for (const place of node.places.values()) {
    if (place.tail.length <= 2 * tailKept) continue;
    const cut = place.tail.splice(0, place.tail.length - tailKept);
    place.tailFrom = cut.at(-1)?.head.number ?? place.tailFrom;
  }
}
