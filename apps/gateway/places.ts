import { setTimeout as sleep, setImmediate as waitForNextTurn } from 'node:timers/promises';
import { groupBy } from '../../lib/base/group-by.ts';
import { serverPlace } from '../../lib/store/redis/log/keys.ts';
import { getLane, waitForBarrier, waitUntilLive } from './lane.ts';
import { type GatewayNode, type Lane, monotonicMs, type Place, type Session } from './state.ts';

/** How many entries of a place's log a node keeps in memory. */
const tailEntries = 128;
/** How long places without sessions are kept, in milliseconds, and how many. A client that returns by then needs no new subscription. */
const unusedPlaceMs = 60_000;
const maxUnusedPlaces = 2_000;
/** How long to wait before a failed subscription is retried, in milliseconds. */
const retryDelayMs = 50;

/** Records that the subscription delivers all entries of the place after `number`. */
export function startTailAt(place: Place, number: number): void {
  place.tailFrom = number;
  place.tail = place.tail.filter(({ head }) => head.number > number);
  // Entries with higher numbers may have been received already and may still wait in the lane.
  place.lastNumber = place.lastNumber === Number.POSITIVE_INFINITY ? number : Math.max(place.lastNumber, number);
}

async function subscribePlaces(node: GatewayNode, lane: Lane, places: readonly Place[]): Promise<void> {
  while (!node.isClosing) {
    await waitUntilLive(lane);
    const { interruptions } = lane;
    try {
      await node.eventLog.subscribe(
        lane.partition,
        places.map(({ name }) => name),
      );
    } catch {
      await sleep(retryDelayMs);
      continue;
    }
    const number = await waitForBarrier(node, lane);
    if (lane.interruptions !== interruptions) continue;
    for (const place of places) startTailAt(place, number);
    return;
  }
}

const resolved = Promise.resolve();

/** What a new server's place knows of viewers: nothing. */
const createViewers = (): Pick<Place, 'unknown' | 'recipients'> => ({ unknown: new Set(), recipients: new Map() });

/** The same for an account's place, where it is always empty. All such places share it to save memory, as every account with a session has one. */
const noViewers = createViewers();

function createPlace(node: GatewayNode, name: string): Place {
  const serverId = name.startsWith('server:') ? name.slice('server:'.length) : null;
  const place: Place = {
    name,
    partition: node.eventLog.partitionOf(name),
    serverId,
    sessions: new Set(),
    tail: [],
    tailFrom: Number.POSITIVE_INFINITY,
    lastNumber: Number.POSITIVE_INFINITY,
    subscription: resolved,
    rules: null,
    load: null,
    ...(serverId === null ? noViewers : createViewers()),
  };
  node.places.set(name, place);
  return place;
}

/** Adds these places to a session, each with the id of the join (`Session.places`); resolves when the node is subscribed to them. */
export async function joinPlaces(node: GatewayNode, session: Session, names: ReadonlyMap<string, string>): Promise<void> {
  const newPlaces: Place[] = [];
  const joinedPlaces = [...names].map(([name, joinId]) => {
    const existing = node.places.get(name);
    const place = existing ?? createPlace(node, name);
    if (!existing) newPlaces.push(place);
    place.sessions.add(session);
    node.unusedPlaces.delete(place);
    if (place.serverId !== null && !place.rules?.members.has(session.account.id)) place.unknown.add(session);
    for (const recipients of place.recipients.values()) recipients.undecided.add(session);
    session.places.set(place, joinId);
    return place;
  });
  for (const [lane, places] of groupBy(newPlaces, (place) => getLane(node, place))) {
    const subscription = subscribePlaces(node, lane, places);
    subscription.catch(() => undefined); // handled where it is awaited
    for (const place of places) place.subscription = subscription;
  }
  await Promise.all(joinedPlaces.map(({ subscription }) => subscription));
}

/** Removes places that have had no session for 60 s, and the longest unused ones while there are more than 2,000 without sessions. Called once a second. */
export function removeUnusedPlaces(node: GatewayNode): void {
  const removed: string[] = [];
  for (const [place, unusedSinceMs] of node.unusedPlaces) {
    if (node.unusedPlaces.size <= maxUnusedPlaces && monotonicMs() - unusedSinceMs <= unusedPlaceMs) break;
    node.unusedPlaces.delete(place);
    node.places.delete(place.name);
    removed.push(place.name);
  }
  node.eventLog.unsubscribe(removed);
}

/** Removes a place from the session. If that was its last session, the node stays subscribed for 60 s and keeps the membership data of the last account. */
export function leavePlace(node: GatewayNode, session: Session, place: Place): void {
  session.places.delete(place);
  session.placeNumbers.delete(place);
  place.sessions.delete(session);
  const { id, sessions: accountSessions } = session.account;
  const isUnused = place.sessions.size === 0;
  place.unknown.delete(session);
  if (!isUnused && ![...accountSessions].some((other) => other.places.has(place))) place.rules?.members.delete(id);
  for (const { sessions, undecided } of place.recipients.values()) {
    sessions.delete(session);
    undecided.delete(session);
  }
  if (!isUnused || node.places.get(place.name) !== place) return;
  node.unusedPlaces.set(place, monotonicMs());
}

/** The place of a server, or undefined if the session is not in it. */
export const findServerPlace = (node: GatewayNode, session: Session, serverId: string): Place | undefined => {
  const place = node.places.get(serverPlace(serverId));
  return place && session.places.has(place) ? place : undefined;
};

async function readWantedTails(node: GatewayNode, lane: Lane): Promise<void> {
  await waitForNextTurn(); // One read serves all requests of this turn of the event loop.
  // While the lane recovers, the log cannot be compared with what was received.
  while (lane.state === 'interrupted') await waitUntilLive(lane);
  const { interruptions } = lane;
  // The previous read may already have reached further back than is wanted.
  const wanted = [...lane.wantedTails].flatMap(([place, after]) =>
    after < place.tailFrom ? { place, after, tailFrom: place.tailFrom } : [],
  );
  lane.wantedTails.clear();
  if (wanted.length === 0) return;
  const slices = await node.eventLog.readLogs(
    lane.partition,
    wanted.map(({ place, after }) => ({ place: place.name, after })),
  );
  if (lane.interruptions !== interruptions) return;
  wanted.forEach(({ place }, index) => {
    // The node should have received this entry but has not, so other sessions miss it.
    if (slices[index]?.entries.some(({ head: { number } }) => number > place.lastNumber && number <= lane.sentNumber))
      lane.gaps.set(place, place.lastNumber);
  });
  if (lane.gaps.size > 0) return node.interrupt(lane);
  wanted.forEach(({ place, after, tailFrom }, index) => {
    const { entries, isComplete } = slices[index] ?? { entries: [], isComplete: false };
    if (!isComplete || place.tailFrom !== tailFrom) return;
    // Newer entries come through the subscription.
    place.tail = [...entries.filter(({ head }) => head.number <= tailFrom), ...place.tail];
    place.tailFrom = after;
  });
}

/**
 * Makes the tails of places of one lane reach back to the given numbers. Concurrent callers share reads. False when the log does not reach back so far. Rejects
 * when Redis does not answer.
 */
export async function extendTails(node: GatewayNode, lane: Lane, wanted: ReadonlyMap<Place, number>): Promise<boolean> {
  for (let attempts = 0; ; attempts++) {
    const missing = [...wanted].filter(([place, after]) => place.tailFrom > after);
    if (missing.length === 0) return true;
    if (attempts > 1) return false;
    // A read that is already running does not include these places, so start another one after it.
    await lane.tailRead?.catch(() => undefined);
    for (const [place, after] of missing) lane.wantedTails.set(place, Math.min(after, lane.wantedTails.get(place) ?? after));
    const { interruptions } = lane;
    lane.tailRead ??= readWantedTails(node, lane).finally(() => {
      lane.tailRead = null;
    });
    await lane.tailRead;
    if (lane.interruptions !== interruptions) attempts = -1;
  }
}

/** Trims tails of more than 256 entries to the newest 128, to bound memory. */
export function trimTails(node: GatewayNode): void {
  for (const place of node.places.values()) {
    if (place.tail.length <= 2 * tailEntries) continue;
    const removed = place.tail.splice(0, place.tail.length - tailEntries);
    place.tailFrom = removed.at(-1)?.head.number ?? place.tailFrom;
  }
}
