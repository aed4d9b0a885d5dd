import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { groupBy } from '../../lib/base/group-by.ts';
import { serverPlace } from '../../lib/store/log/keys.ts';
import { barrier, laneOf, whenLive } from './lane.ts';
import { type GatewayNode, type Lane, monotonic, type Place, type Session } from './state.ts';

/** How many entries of a place's log a node keeps at hand. */
const tailKept = 128;
/** How long a place stays after its last session left, in milliseconds, and how many such places: who comes back finds it as it was. */
const keptMs = 60_000;
const keptMost = 2_000;
/** How soon a subscription that failed is tried again, in milliseconds. */
const againMs = 50;

/** Everything after `n` of the place's log will come by the subscription. */
export function startTailAt(place: Place, n: number): void {
  place.tailFrom = n;
  place.tail = place.tail.filter(({ head }) => head.number > n);
  // What has been received beyond it may still wait in the lane.
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

/** What a server's place knows of access, at first nothing. */
const createAccess = (): Pick<Place, 'members' | 'unknownMembers' | 'loadingMembers' | 'recipients'> => ({
  members: new Map(),
  unknownMembers: new Set(),
  loadingMembers: new Set(),
  recipients: new Map(),
});

/** What an account's place knows of access: always nothing, so that all share it. There is one for each account with a session. */
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
    subscribed.catch(() => undefined); // handled where it is waited for
    for (const place of places) place.subscribed = subscribed;
  }
  await Promise.all(joined.map(({ subscribed }) => subscribed));
}

function removePlace(node: GatewayNode, place: Place): void {
  node.leftPlaces.delete(place);
  node.places.delete(place.name);
  node.log.unsubscribe(place.name);
}

/** Removes the places that the last session left a while ago. */
export function removeLeftPlaces(node: GatewayNode): void {
  for (const [place, leftAt] of node.leftPlaces)
    if (node.leftPlaces.size > keptMost || monotonic() - leftAt > keptMs) removePlace(node, place);
    else return;
}

/** Removes a place from the session. The node goes on receiving it for a while when no other session has it, and keeps what it knows of the last member. */
export function leavePlace(node: GatewayNode, session: Session, place: Place): void {
  session.places.delete(place);
  session.late.delete(place);
  place.sessions.delete(session);
  const { id, sessions: all } = session.account;
  const isLast = place.sessions.size === 0;
  if (![...all].some((one) => one.places.has(place)))
    for (const known of isLast ? [place.unknownMembers, place.loadingMembers] : [place.members, place.unknownMembers, place.loadingMembers])
      known.delete(id);
  for (const { sessions, unjudged } of place.recipients.values()) {
    sessions.delete(session);
    unjudged.delete(session);
  }
  if (!isLast || node.places.get(place.name) !== place) return;
  node.leftPlaces.set(place, monotonic());
  removeLeftPlaces(node);
}

/** The place of a server; undefined when the session does not have it. */
export const serverPlaceOf = (node: GatewayNode, session: Session, serverId: string): Place | undefined => {
  const place = node.places.get(serverPlace(serverId));
  return place && session.places.has(place) ? place : undefined;
};

async function readWanted(node: GatewayNode, lane: Lane): Promise<void> {
  await turn(); // Whoever asks in this turn is served by one read.
  // While the lane recovers, what is read says nothing about what was received.
  while (lane.state === 'held') await whenLive(lane);
  const { generation } = lane;
  // The read before this one may have reached further back than is wanted.
  const wanted = [...lane.wanted].flatMap(([place, after]) => (after < place.tailFrom ? { place, after, below: place.tailFrom } : []));
  lane.wanted.clear();
  if (wanted.length === 0) return;
  const found = await node.log.read(
    lane.k,
    wanted.map(({ place, after }) => ({ place: place.name, after })),
  );
  if (lane.generation !== generation) return;
  wanted.forEach(({ place }, at) => {
    // It should have been received: other sessions have not been given it.
    if (found[at]?.entries.some(({ head: { number: n } }) => n > place.lastNumber && n <= lane.known))
      lane.gaps.set(place, place.lastNumber);
  });
  if (lane.gaps.size > 0) return node.interrupt(lane);
  wanted.forEach(({ place, after, below }, at) => {
    const { entries, complete } = found[at] ?? { entries: [], complete: false };
    if (!complete || place.tailFrom !== below) return;
    // What is newer has come, or will come, by the subscription.
    place.tail = [...entries.filter(({ head }) => head.number <= below), ...place.tail];
    place.tailFrom = after;
  });
}

/**
 * Makes the tails of places of one lane reach back to the given numbers; what several ask for is read once. False when the log does not reach back so far.
 * Rejects when Redis does not answer.
 */
export async function extendTails(node: GatewayNode, lane: Lane, wanted: ReadonlyMap<Place, number>): Promise<boolean> {
  for (let tries = 0; ; tries++) {
    const missing = [...wanted].filter(([place, after]) => place.tailFrom > after);
    if (missing.length === 0) return true;
    if (tries > 1) return false;
    // A read that has begun does not know of these: another one follows it.
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

/** Lets go of entries that have been given long since. */
export function trimTails(node: GatewayNode): void {
  for (const place of node.places.values()) {
    if (place.tail.length <= 2 * tailKept) continue;
    const cut = place.tail.splice(0, place.tail.length - tailKept);
    place.tailFrom = cut.at(-1)?.head.number ?? place.tailFrom;
  }
}
