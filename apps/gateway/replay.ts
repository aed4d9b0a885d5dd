import { setTimeout as sleep, setImmediate as waitForNextTurn } from 'node:timers/promises';
import { Refusal } from '../../lib/base/errors.ts';
import { groupBy } from '../../lib/base/group-by.ts';
import { limits } from '../../lib/base/limits.ts';
import { type EventData, getMembershipChange, type LoggedData } from '../../lib/contract/events.ts';
import { loadCurrentServerView } from '../../lib/domain/views/servers.ts';
import type { Entry } from '../../lib/store/redis/log/entry.ts';
import { accountPlace, serverPlace } from '../../lib/store/redis/log/keys.ts';
import { dropSession, invalidateSession, isActive } from './disconnect.ts';
import { encodeEvent, renderPayload } from './frames.ts';
import { chargeReplay } from './handshake-budget.ts';
import { getLane, getSessionPosition, isKnownNumber, noPlaceNumbers, setPlaceNumber, waitForBarrier, waitUntilLive } from './lane.ts';
import { extendTails, findServerPlace, joinPlaces, leavePlace } from './places.ts';
import { applyChange, copyRules, ensureDecidable, isDecidable, isOldChange } from './rules.ts';
import { type GatewayNode, type Lane, monotonicMs, type Place, type Session } from './state.ts';
import { isAddressedTo, isVisibleNow, replayEntry, type SessionEvent } from './visibility.ts';
import { recheckMember, recheckWatches } from './watch.ts';
import { closeSocket, sendEvent, waitForReader } from './writer.ts';

/** The most entries that a session may have missed in all its places, counted before visibility is checked. */
const maxMissed = 5 * limits.replayEvents;
/** After each batch of this many entries and events a replay lets others do something, and waits for its client to read. */
const batchSize = 64;
/** What an entry costs in a replay besides its payload, in bytes. */
const entryBytes = 256;
/** How long a resume waits at most for what decides about its missed events, in milliseconds. */
const maxWaitMs = 10_000;
/** How long to wait before a replay is retried because a store did not answer, in milliseconds. */
const retryDelayMs = 500;

/** An entry that a session has missed. It is sent if the session may see it. */
interface MissedEntry {
  place: Place;
  entry: Entry;
}

/** The number up to which the session has received a place. */
const getReceivedNumber = ({ placeNumbers, partitionNumbers }: Session, place: Place): number =>
  placeNumbers.get(place) ?? (partitionNumbers[place.partition] as number);

/** The lanes of the session's places. */
const getLanes = (node: GatewayNode, { places }: Session): Lane[] => [...new Set([...places.keys()].map((place) => getLane(node, place)))];

/** Whether the session's position belongs to the known history of the logs. */
const isPositionKnown = (node: GatewayNode, session: Session): boolean =>
  getLanes(node, session).every((lane) => isKnownNumber(lane, session.partitionNumbers[lane.partition] as number)) &&
  [...session.placeNumbers].every(([place, number]) => isKnownNumber(getLane(node, place), number));

/** Whether the session has been sent everything that the lanes have passed on. */
const isCaughtUp = (node: GatewayNode, session: Session): boolean =>
  session.placeNumbers.size === 0 &&
  getLanes(node, session).every(
    ({ partition, state, sentNumber }) => state === 'live' && sentNumber === session.partitionNumbers[partition],
  );

/**
 * Waits until the lanes have passed on the session's position. It may be ahead of them: another node was faster, or the session joined a place at a number that
 * is still on its way.
 */
export async function waitForPosition(node: GatewayNode, session: Session): Promise<void> {
  const isAhead = ({ partition, sentNumber }: Lane): boolean =>
    (session.partitionNumbers[partition] as number) > sentNumber ||
    [...session.placeNumbers].some(([place, number]) => place.partition === partition && number > sentNumber);
  await Promise.all(node.lanes.filter(isAhead).map((lane) => waitForBarrier(node, lane)));
}

/**
 * The entries that the lanes have passed on and the session has missed, in the order of sending: first the partition of the account's own place. While the
 * session is behind in single places, these are read first, up to where it is in their partitions.
 */
function collectMissed(node: GatewayNode, session: Session): MissedEntry[] {
  const missed: MissedEntry[] = [];
  const isBehind = session.placeNumbers.size > 0;
  for (const place of isBehind ? session.placeNumbers.keys() : session.places.keys()) {
    const receivedNumber = getReceivedNumber(session, place);
    const until = isBehind ? (session.partitionNumbers[place.partition] as number) : getLane(node, place).sentNumber;
    const firstIndex = place.tail.findLastIndex(({ head }) => head.number <= receivedNumber) + 1;
    for (const entry of place.tail.slice(firstIndex)) if (entry.head.number <= until) missed.push({ place, entry });
  }
  const ownPartition = node.eventLog.partitionOf(accountPlace(session.account.id));
  const rankOf = (partition: number): number => (partition === ownPartition ? -1 : partition);
  return missed.sort((a, b) => rankOf(a.place.partition) - rankOf(b.place.partition) || a.entry.head.number - b.entry.head.number);
}

/**
 * The events that missed entries bring. For a server they are computed from the rules at the moment of each entry: the current ones are moved back over what
 * the lane has passed on since.
 */
function renderMissed(session: Session, missed: readonly MissedEntry[]): ReadonlyMap<Entry, readonly SessionEvent[]> {
  const events = new Map<Entry, readonly SessionEvent[]>();
  for (const [place, ofPlace] of groupBy(missed, (one) => one.place)) {
    if (!place.rules) {
      for (const { entry } of ofPlace)
        events.set(entry, isAddressedTo(entry, session) ? [{ name: entry.head.name, payload: entry.payload, viewedAs: null }] : []);
      continue;
    }
    const then = copyRules(place.rules, session.account.id);
    const first = ofPlace[0]?.entry.head.number as number;
    for (const { head } of place.tail.toReversed()) if (head.change && head.number >= first) applyChange(then, head.change, 'before');
    for (const { entry } of ofPlace) events.set(entry, replayEntry(place, then, entry, session));
  }
  return events;
}

/** The SERVER_CREATE of an entry with the server's current state; none when the account is not in the server any more. */
async function renderServerCreate(node: GatewayNode, accountId: string, entry: Entry): Promise<SessionEvent[]> {
  const { id } = JSON.parse(entry.payload.toString('utf8')) as LoggedData<'SERVER_CREATE'>;
  try {
    const data: EventData<'SERVER_CREATE'> = await loadCurrentServerView(node.platform, id, accountId);
    return [{ name: 'SERVER_CREATE', payload: Buffer.from(JSON.stringify(data)), viewedAs: null }];
  } catch (error) {
    if (error instanceof Refusal && error.code === 'not_found') return [];
    throw error;
  }
}

/** Applies an event of the account's own place that adds a server to the session's places or removes one. True when a place was added. */
function applyMembershipEvent(node: GatewayNode, session: Session, { head, payload }: Entry): boolean {
  const membership = getMembershipChange(head.name);
  if (!membership) return false;
  const { id } = JSON.parse(payload.toString('utf8')) as LoggedData<'SERVER_CREATE' | 'SERVER_DELETE'>;
  const existing = findServerPlace(node, session, id);
  if (membership === 'end' && existing) {
    leavePlace(node, session, existing);
    recheckWatches(node, session);
  }
  if (membership === 'end' || existing || !head.join) return false;
  joinPlaces(node, session, new Map([[serverPlace(id), head.join.id]])).catch(() => undefined); // `replayRound` awaits the subscription
  const place = findServerPlace(node, session, id) as Place;
  if (head.join.number !== undefined) setPlaceNumber(session, place, head.join.number);
  recheckWatches(node, session);
  return true;
}

/** The channels of whose events a replay has left out some because they are hidden by now, each with the join of the session. */
type Hidden = Set<string>;

/**
 * Whether an event of a replay is sent: the session may see it now, and has been told of its channel. A channel that became visible again during the replay is
 * told of by a later entry, and what came before that stays left out. A bot that is not told of channels receives what it may see.
 */
function isSent(place: Place, session: Session, event: SessionEvent, hidden: Hidden): boolean {
  const isVisible = isVisibleNow(place, session, event);
  if (event.viewedAs === null || session.eventFilter?.has('CHANNEL_CREATE') === false) return isVisible;
  const key = `${session.places.get(place)} ${event.viewedAs}`;
  if (!isVisible) hidden.add(key);
  else if (event.isShown) hidden.delete(key);
  return isVisible && !hidden.has(key);
}

function sendMissed(node: GatewayNode, session: Session, entry: Entry, { name, payload }: SessionEvent): void {
  const position = getSessionPosition(session);
  const isOwn = name === entry.head.name && payload === entry.payload;
  sendEvent(node, session, position, encodeEvent(name, position, isOwn ? renderPayload(entry, node.platform.config.APP_KEY) : payload));
  node.metrics.deliveries.inc({ event: name });
}

/**
 * Sends the last event of an entry and moves the session's position past the entry; the event has the new position. `hasEnded`: the membership that the entry
 * tells of is over by now. True when a place was added.
 */
function finishEntry(
  node: GatewayNode,
  session: Session,
  { place, entry }: MissedEntry,
  lastEvent: SessionEvent | undefined,
  hasEnded: boolean,
): boolean {
  const { number } = entry.head;
  if (session.placeNumbers.has(place)) setPlaceNumber(session, place, number);
  if (number > (session.partitionNumbers[place.partition] as number)) session.partitionNumbers[place.partition] = number;
  const hasJoined = !hasEnded && applyMembershipEvent(node, session, entry);
  recheckMember(node, [session], entry);
  if (lastEvent) sendMissed(node, session, entry, lastEvent);
  return hasJoined;
}

/** Lets others do something, and waits until the client has read. False if it does not. */
async function pauseForReader(node: GatewayNode, session: Session): Promise<boolean> {
  await waitForNextTurn();
  if (await waitForReader(session.socket)) return true;
  dropSession(node, session, 'suspend');
  closeSocket(node, session.socket, 'tooSlow', 'The client reads the missed events too slowly.');
  return false;
}

/**
 * Sends the events of missed entries in order. Stops after one that adds a place, which the next round reads first, and when it is not known any more what
 * follows. Returns how many were sent, and whether all entries were handled.
 */
async function deliverMissed(
  node: GatewayNode,
  session: Session,
  missed: readonly MissedEntry[],
  hidden: Hidden,
  isCurrent: () => boolean,
): Promise<{ sent: number; isComplete: boolean }> {
  const rendered = renderMissed(session, missed);
  let sent = 0;
  let steps = 0;
  for (const one of missed) {
    const { place, entry } = one;
    if (!session.places.has(place)) continue; // an earlier entry removed the place
    const own = rendered.get(entry) ?? [];
    const isJoin = getMembershipChange(entry.head.name) === 'start';
    const events = isJoin && own.length > 0 ? await renderServerCreate(node, session.account.id, entry) : own;
    const canGoOn = (): boolean => isActive(session) && isCurrent() && (place.serverId === null || isDecidable(place, session.account.id));
    let last: SessionEvent | undefined;
    if (!canGoOn()) return { sent, isComplete: false };
    for (const event of events) {
      if (!isSent(place, session, event, hidden)) continue;
      sent++;
      if (last) {
        sendMissed(node, session, entry, last);
        if (++steps % batchSize === 0 && !((await pauseForReader(node, session)) && canGoOn())) return { sent, isComplete: false };
      }
      last = event;
    }
    if (finishEntry(node, session, one, last, isJoin && own.length > 0 && events.length === 0)) return { sent, isComplete: false };
    if (++steps % batchSize === 0 && !((await pauseForReader(node, session)) && canGoOn())) return { sent, isComplete: false };
  }
  return { sent, isComplete: isActive(session) && isCurrent() };
}

/** Runs one round of a replay: reads and sends what the lanes have passed on until now. Returns how many events were sent. */
async function replayRound(node: GatewayNode, session: Session, hidden: Hidden): Promise<number> {
  const lanes = getLanes(node, session);
  await Promise.all(lanes.map(waitUntilLive));
  await Promise.all([...session.places.keys()].map(({ subscription }) => subscription));
  await waitForPosition(node, session);
  if (!isActive(session) || lanes.some(({ state }) => state === 'interrupted')) return 0;
  if (!isPositionKnown(node, session)) {
    invalidateSession(node, session, 'events_lost');
    return 0;
  }
  const interruptionCounts = lanes.map(({ interruptions }) => interruptions);
  const isCurrent = (): boolean => lanes.every(({ interruptions }, index) => interruptions === interruptionCounts[index]);
  const getWantedTails = ({ partition }: Lane): Map<Place, number> =>
    new Map(
      [...session.places.keys()]
        .filter((place) => place.partition === partition)
        .map((place) => [place, getReceivedNumber(session, place)]),
    );
  const areTailsComplete = await Promise.all(lanes.map((lane) => extendTails(node, lane, getWantedTails(lane))));
  if (!isActive(session) || !isCurrent()) return 0;
  const first = collectMissed(node, session);
  const isTooMuch = areTailsComplete.includes(false) || first.length > maxMissed;
  if (isTooMuch || first.some(({ place, entry }) => isOldChange(place, entry.head))) {
    invalidateSession(node, session, isTooMuch ? 'too_many_missed' : 'events_lost');
    return 0;
  }
  const isKnown = await ensureDecidable(node, [...new Set(first.map(({ place }) => place))], session.account.id);
  if (!isKnown || !isActive(session) || !isCurrent()) return 0;
  // From here to the first event nothing is awaited, so the entries and the rules are those of one moment.
  const missed = collectMissed(node, session);
  const isIncomplete = (place: Place): boolean => place.tailFrom > getReceivedNumber(session, place); // it was trimmed meanwhile
  if (!missed.every(({ place }) => isDecidable(place, session.account.id)) || [...session.places.keys()].some(isIncomplete)) return 0;
  if (session.state === 'connecting') {
    const bytes = missed.reduce((sum, { entry }) => sum + entry.payload.length + entryBytes, 0);
    chargeReplay(node, { address: session.socket.address, accountId: session.account.id }, bytes);
  }
  const wasBehind = session.placeNumbers.size > 0;
  const sentNumbers = node.lanes.map(({ sentNumber }) => sentNumber);
  const { sent, isComplete } = await deliverMissed(node, session, missed, hidden, isCurrent);
  if (isComplete && !wasBehind)
    session.partitionNumbers = sentNumbers.map((number, partition) => Math.max(number, session.partitionNumbers[partition] as number));
  if (isComplete && wasBehind) session.placeNumbers = noPlaceNumbers;
  return sent;
}

/**
 * Sends a session what it has missed until it has caught up with the lanes. Then calls `onCaughtUp` with the number of sent events, without yielding to the
 * event loop, so that no entry comes in between. A session becomes live in no other way. Rejects when a store does not answer.
 */
export async function catchUp(
  node: GatewayNode,
  session: Session,
  onCaughtUp: (sent: number) => void,
  hidden: Hidden = new Set(),
): Promise<void> {
  const waitsUntilMs = monotonicMs() + maxWaitMs;
  for (let sent = 0; isActive(session); ) {
    const roundStart = getSessionPosition(session);
    sent += await replayRound(node, session, hidden);
    // A resume with a long replay must not be closed as not identified in time.
    if (session.state === 'connecting') session.socket.deadlineMs = monotonicMs() + limits.gatewayIdentifyMs;
    if (isActive(session) && isCaughtUp(node, session)) return onCaughtUp(sent);
    // A round without progress must not be repeated at once: that could keep the event loop from ever doing anything else.
    if (getSessionPosition(session) !== roundStart) continue;
    // A handshake must not keep its slot for as long as the changes of a server are not relayed.
    if (session.state === 'connecting' && monotonicMs() > waitsUntilMs)
      throw new Error('what decides about the missed events is not known');
    await Promise.all(getLanes(node, session).map((lane) => waitForBarrier(node, lane)));
  }
}

/** Replays what a session has missed until it is live. Retries while a store does not answer. Never rejects. */
export async function replay(node: GatewayNode, session: Session): Promise<void> {
  // If the session leaves the live state again at once, that starts another replay. `hasEnded` keeps this one from continuing beside it.
  let hasEnded = false;
  const hidden: Hidden = new Set();
  while (!hasEnded && session.state === 'replaying')
    try {
      await catchUp(
        node,
        session,
        () => {
          session.state = 'live';
          hasEnded = true;
        },
        hidden,
      );
    } catch (error) {
      node.platform.log.debug({ err: error, session: session.id }, 'reading missed events failed; retrying');
      await sleep(retryDelayMs);
    }
}
