import { setTimeout as sleep, setImmediate as waitForNextTurn } from 'node:timers/promises';
import { Refusal } from '../../lib/base/errors.ts';
import { groupBy } from '../../lib/base/group-by.ts';
import { limits } from '../../lib/base/limits.ts';
import { type EventData, getMembershipChange, type LoggedData } from '../../lib/contract/events.ts';
import { loadCurrentServerView } from '../../lib/domain/servers/servers.ts';
import type { Entry } from '../../lib/store/redis/log/entry.ts';
import { accountPlace, serverPlace } from '../../lib/store/redis/log/keys.ts';
import { dropSession, invalidateSession, isActive } from './disconnect.ts';
import { encodeEvent, renderPayload } from './frames.ts';
import { chargeReplay } from './handshake-budget.ts';
import { getLane, getSessionPosition, isKnownNumber, noPlaceNumbers, setPlaceNumber, waitForBarrier, waitUntilLive } from './lane.ts';
import { extendTails, findServerPlace, joinPlaces, leavePlace } from './places.ts';
import { type GatewayNode, type Lane, monotonicMs, type Place, type Session } from './state.ts';
import { canReceiveReplayed, hasAccessData, loadAccess } from './visibility.ts';
import { recheckMember, recheckWatches } from './watch.ts';
import { closeSocket, sendEvent, waitForReader } from './writer.ts';

/** The most entries that a session may have missed in all its places, counted before visibility is checked. */
const maxMissed = 5 * limits.replayEvents;
/** After each batch of this many entries a replay lets others do something, and waits for its client to read. */
const batchSize = 64;
/** What an entry costs in a replay besides its payload, in bytes. */
const entryBytes = 256;
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
const getLanes = (node: GatewayNode, { places }: Session): Lane[] => [...new Set([...places].map((place) => getLane(node, place)))];

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

/** The entries that the lanes have passed on and the session has missed, in the order of sending: first the partition of the account's own place. */
function collectMissed(node: GatewayNode, session: Session): MissedEntry[] {
  const missed: MissedEntry[] = [];
  for (const place of session.places) {
    const receivedNumber = getReceivedNumber(session, place);
    const { sentNumber } = getLane(node, place);
    const firstIndex = place.tail.findLastIndex(({ head }) => head.number <= receivedNumber) + 1;
    for (const entry of place.tail.slice(firstIndex)) if (entry.head.number <= sentNumber) missed.push({ place, entry });
  }
  const ownPartition = node.eventLog.partitionOf(accountPlace(session.account.id));
  const rankOf = (partition: number): number => (partition === ownPartition ? -1 : partition);
  return missed.sort((a, b) => rankOf(a.place.partition) - rankOf(b.place.partition) || a.entry.head.number - b.entry.head.number);
}

/** Renders a SERVER_CREATE with the server's current state. False when the account is not in the server any more. */
async function renderServerCreate(node: GatewayNode, accountId: string, entry: Entry): Promise<boolean> {
  const { id } = JSON.parse(entry.payload.toString('utf8')) as LoggedData<'SERVER_CREATE'>;
  try {
    const data: EventData<'SERVER_CREATE'> = await loadCurrentServerView(node.platform, id, accountId);
    entry.payload = Buffer.from(JSON.stringify(data));
    return true;
  } catch (error) {
    if (error instanceof Refusal && error.code === 'not_found') return false;
    throw error;
  }
}

/** Returns the entries of `missed` that the session may see by the current rules and members, or null if those changed while they were loaded. */
async function filterVisible(node: GatewayNode, session: Session, missed: readonly MissedEntry[]): Promise<ReadonlySet<Entry> | null> {
  const byPlace = groupBy(missed, ({ place }) => place);
  const servers = [...byPlace.keys()].filter(({ serverId }) => serverId !== null);
  const versions = servers.length > 0 ? await node.platform.accessVersions.read(servers.map(({ serverId }) => serverId as string)) : [];
  if (!versions) throw new Error('Redis is unavailable');
  const getChannelIds = (place: Place): string[] =>
    (byPlace.get(place) ?? []).flatMap(({ entry: { head } }) => (head.channelId && !head.overwrites ? [head.channelId] : []));
  await Promise.all(servers.map((place, index) => loadAccess(node, place, versions[index] as string, getChannelIds(place))));
  if (servers.some((place, index) => !hasAccessData(place, versions[index] as string, getChannelIds(place), session.account.id)))
    return null;
  return new Set(missed.filter(({ place, entry }) => canReceiveReplayed(place, entry, session)).map(({ entry }) => entry));
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
  if (membership === 'end' || existing) return false;
  joinPlaces(node, session, [serverPlace(id)]).catch(() => undefined); // `replayRound` awaits the subscription
  const place = findServerPlace(node, session, id) as Place;
  setPlaceNumber(session, place, head.serverNumber ?? getLane(node, place).sentNumber);
  recheckWatches(node, session);
  return true;
}

/** Moves the session's position past an entry and, if `isVisible`, sends the event. True when a place was added. */
function deliverEntry(node: GatewayNode, session: Session, place: Place, entry: Entry, isVisible: boolean): boolean {
  const { number, name } = entry.head;
  if (session.placeNumbers.has(place)) setPlaceNumber(session, place, number);
  if (number > (session.partitionNumbers[place.partition] as number)) session.partitionNumbers[place.partition] = number;
  const hasJoined = applyMembershipEvent(node, session, entry);
  recheckMember(node, [session], entry);
  if (!isVisible) return hasJoined;
  const position = getSessionPosition(session);
  sendEvent(node, session, position, encodeEvent(name, position, renderPayload(entry, node.platform.config.APP_KEY)));
  node.metrics.deliveries.inc({ event: name });
  return hasJoined;
}

/** Sends missed entries in order. Stops after one that adds a place, which the next round reads. Returns how many were sent, and whether all were handled. */
async function deliverMissed(
  node: GatewayNode,
  session: Session,
  missed: readonly MissedEntry[],
  visible: ReadonlySet<Entry>,
): Promise<{ sent: number; isComplete: boolean }> {
  let sent = 0;
  for (const [index, { place, entry }] of missed.entries()) {
    if (!session.places.has(place)) continue; // an earlier entry removed the place
    const isVisible =
      visible.has(entry) &&
      (getMembershipChange(entry.head.name) !== 'start' || (await renderServerCreate(node, session.account.id, entry)));
    if (!isActive(session)) return { sent, isComplete: false };
    if (isVisible) sent++;
    if (deliverEntry(node, session, place, entry, isVisible)) return { sent, isComplete: false };
    if (index % batchSize !== batchSize - 1) continue;
    await waitForNextTurn();
    if (await waitForReader(session.socket)) continue;
    dropSession(node, session, 'suspend');
    closeSocket(node, session.socket, 'tooSlow', 'The client reads the missed events too slowly.');
  }
  return { sent, isComplete: isActive(session) };
}

/** Runs one round of a replay: reads and sends what the lanes have passed on until now. Returns how many events were sent. */
async function replayRound(node: GatewayNode, session: Session): Promise<number> {
  const lanes = getLanes(node, session);
  await Promise.all(lanes.map(waitUntilLive));
  await Promise.all([...session.places].map(({ subscription }) => subscription));
  await waitForPosition(node, session);
  if (!isActive(session) || lanes.some(({ state }) => state === 'interrupted')) return 0;
  if (!isPositionKnown(node, session)) {
    invalidateSession(node, session, 'events_lost');
    return 0;
  }
  const interruptionCounts = lanes.map(({ interruptions }) => interruptions);
  const getWantedTails = ({ partition }: Lane): Map<Place, number> =>
    new Map(
      [...session.places].filter((place) => place.partition === partition).map((place) => [place, getReceivedNumber(session, place)]),
    );
  const areTailsComplete = await Promise.all(lanes.map((lane) => extendTails(node, lane, getWantedTails(lane))));
  if (!isActive(session) || lanes.some(({ interruptions }, index) => interruptions !== interruptionCounts[index])) return 0;
  const missed = collectMissed(node, session);
  if (areTailsComplete.includes(false) || missed.length > maxMissed) {
    invalidateSession(node, session, 'too_many_missed');
    return 0;
  }
  if (session.state === 'connecting') {
    const bytes = missed.reduce((sum, { entry }) => sum + entry.payload.length + entryBytes, 0);
    chargeReplay(node, { address: session.socket.address, accountId: session.account.id }, bytes);
  }
  const sentNumbers = node.lanes.map(({ sentNumber }) => sentNumber);
  const visible = missed.length > 0 ? await filterVisible(node, session, missed) : new Set<Entry>();
  if (!visible) return 0;
  const { sent, isComplete } = await deliverMissed(node, session, missed, visible);
  if (isComplete) {
    session.partitionNumbers = sentNumbers.map((number, partition) => Math.max(number, session.partitionNumbers[partition] as number));
    session.placeNumbers = noPlaceNumbers;
  }
  return sent;
}

/**
 * Sends a session what it has missed until it has caught up with the lanes. Then calls `onCaughtUp` with the number of sent events, without yielding to the
 * event loop, so that no entry comes in between. A session becomes live in no other way. Rejects when a store does not answer.
 */
export async function catchUp(node: GatewayNode, session: Session, onCaughtUp: (sent: number) => void): Promise<void> {
  for (let sent = 0; isActive(session); ) {
    const roundStart = getSessionPosition(session);
    if (node.isReplayEnabled) sent += await replayRound(node, session);
    // A resume with a long replay must not be closed as not identified in time.
    if (session.state === 'connecting') session.socket.deadlineMs = monotonicMs() + limits.gatewayIdentifyMs;
    if (isActive(session) && (!node.isReplayEnabled || isCaughtUp(node, session))) return onCaughtUp(sent);
    // A round without progress must not be repeated at once: that could keep the event loop from ever doing anything else.
    if (getSessionPosition(session) === roundStart) await Promise.all(getLanes(node, session).map((lane) => waitForBarrier(node, lane)));
  }
}

/** Replays what a session has missed until it is live. Retries while a store does not answer. Never rejects. */
export async function replay(node: GatewayNode, session: Session): Promise<void> {
  // If the session leaves the live state again at once, that starts another replay. `hasEnded` keeps this one from continuing beside it.
  let hasEnded = false;
  while (!hasEnded && session.state === 'replaying')
    try {
      await catchUp(node, session, () => {
        session.state = 'live';
        hasEnded = true;
      });
    } catch (error) {
      node.platform.log.debug({ err: error, session: session.id }, 'reading missed events failed; retrying');
      await sleep(retryDelayMs);
    }
}
