import { setTimeout as sleep } from 'node:timers/promises';
import { idTimeMs } from '../../lib/base/ids.ts';
import { limits } from '../../lib/base/limits.ts';
import { getEventDefinition, getMembershipChange } from '../../lib/contract/events.ts';
import type { Entry } from '../../lib/store/redis/log/entry.ts';
import { getEpoch } from '../../lib/store/redis/log/epochs.ts';
import { accountPlace } from '../../lib/store/redis/log/keys.ts';
import { invalidateSession } from './disconnect.ts';
import { encodeEvent, renderPayload } from './frames.ts';
import { advanceLane, getLane, getNodePosition, getSessionPosition, setPlaceNumber } from './lane.ts';
import { startTailAt } from './places.ts';
import { replay } from './replay.ts';
import { forgetRules, isOldChange } from './rules.ts';
import type { GatewayNode, Lane, Place, Session } from './state.ts';
import { computeRecipients, isVisibleNow, moveRules, type SessionEvent } from './visibility.ts';
import { recheckMember } from './watch.ts';
import { sendEvent } from './writer.ts';

/** The most entries that an interrupted lane holds back. With more, it reads the state of the log again. */
const maxHeldEntries = 10_000;
/** The most bytes that the events of one entry may have to be sent to a session at once. */
const maxEntryBytes = 256 * 1024;
/** How long to wait before a failed subscription is retried, in milliseconds. */
const retryDelayMs = 50;

/** Makes a live session replay: it reads the logs of its places from its own position until it has caught up with the lanes. */
function startReplay(node: GatewayNode, session: Session): void {
  if (session.state !== 'live') return;
  session.state = 'replaying';
  session.partitionNumbers = node.lanes.map(({ sentNumber }) => sentNumber);
  void replay(node, session);
}

/** Sends the entry's event to its receivers. All live sessions have one position, so it is encoded once. */
function sendToReceivers(node: GatewayNode, entry: Entry, receivers: readonly Session[]): void {
  const { name } = entry.head;
  if (receivers.length === 0) return;
  const position = getNodePosition(node);
  const bytes = encodeEvent(name, position, renderPayload(entry, node.platform.config.APP_KEY));
  for (const session of receivers) sendEvent(node, session, position, bytes);
  node.metrics.deliveries.inc({ event: name }, receivers.length);
}

/**
 * Sends sessions the channels that they gained and lost by an entry, after the entry's event if they receive it. Only the last of several events has the
 * position of the entry, so a client that loses its socket in between is sent all of them again.
 */
function sendViewEvents(
  node: GatewayNode,
  place: Place,
  viewEvents: ReadonlyMap<string, readonly SessionEvent[]>,
  previousPosition: string,
  receivers: readonly Session[],
  entry: Entry,
): void {
  const position = getNodePosition(node);
  const encoded = new Map<SessionEvent, Map<string, Buffer[]>>();
  const encode = (event: SessionEvent, at: string): Buffer[] => {
    const byPosition = encoded.get(event) ?? new Map<string, Buffer[]>();
    encoded.set(event, byPosition);
    const bytes = byPosition.get(at) ?? encodeEvent(event.name, at, event.payload);
    byPosition.set(at, bytes);
    return bytes;
  };
  const own: SessionEvent = { name: entry.head.name, payload: entry.payload, viewedAs: null };
  const received = new Set(receivers);
  for (const session of place.sessions) {
    const isWanted = (event: SessionEvent): boolean =>
      (session.eventFilter === null || session.eventFilter.has(event.name)) && isVisibleNow(place, session, event);
    const changed = session.state === 'live' ? (viewEvents.get(session.account.id) ?? []).filter(isWanted) : [];
    const events = received.has(session) ? [own, ...changed] : changed;
    for (const [index, event] of events.entries()) {
      const at = index === events.length - 1 ? position : previousPosition;
      sendEvent(node, session, at, encode(event, at));
      node.metrics.deliveries.inc({ event: event.name });
    }
  }
}

/** Whether the entry adds or removes a place of its account's sessions. Such an entry is sent by their replay, which then reads the new place. */
const changesPlaces = ({ head }: Entry): boolean => getMembershipChange(head.name) !== undefined;

/** Whether the events of an entry are so many that a replay must send them, which waits for the client. */
const isLarge = (events: readonly SessionEvent[]): boolean => events.reduce((sum, { payload }) => sum + payload.length, 0) > maxEntryBytes;

/** Passes an entry on to the live sessions. Those for which it cannot be decided now whether they receive it read it from the log. */
function passEntry(node: GatewayNode, lane: Lane, place: Place, entry: Entry): void {
  const { number, name, id, trace } = entry.head;
  const span = trace === undefined ? null : node.platform.tracing.start(`deliver ${name}`, { kind: 'consumer', parent: trace });
  if (isOldChange(place, entry.head)) {
    for (const session of place.sessions) invalidateSession(node, session, 'events_lost');
    forgetRules(place);
  }
  const viewEvents = moveRules(node, place, entry);
  for (const session of changesPlaces(entry) ? place.sessions : place.unknown) startReplay(node, session);
  for (const [accountId, events] of viewEvents)
    if (isLarge(events))
      for (const session of node.accounts.get(accountId)?.sessions ?? []) if (session.places.has(place)) startReplay(node, session);
  const previousPosition = entry.head.change ? getNodePosition(node) : '';
  advanceLane(node, lane, number);
  place.lastNumber = number;
  place.tail.push(entry);
  recheckMember(node, place.sessions, entry);
  const receivers = computeRecipients(place, entry, viewEvents);
  if (viewEvents.size > 0) sendViewEvents(node, place, viewEvents, previousPosition, receivers, entry);
  else sendToReceivers(node, entry, receivers);
  if (receivers.length > 0 && getEventDefinition(name).isTimed)
    node.metrics.deliveryLatency.observe(Math.max(0, node.platform.now() - idTimeMs(id)) / 1000);
  span?.setAttributes({ 'parlance.event': name, 'parlance.sockets': receivers.length });
  span?.end();
}

/** Passes a live entry on; false when it shows that another one was missed. */
function takeEntry(node: GatewayNode, lane: Lane, place: Place, entry: Entry): boolean {
  const { number, previous } = entry.head;
  if (number <= lane.sentNumber) return true;
  if (previous > place.lastNumber) lane.gaps.set(place, place.lastNumber);
  if (getEpoch(number) !== lane.epoch || previous > place.lastNumber) return false;
  passEntry(node, lane, place, entry);
  return true;
}

/** Receives an entry from the subscription. */
export function receiveEntry(node: GatewayNode, placeName: string, entry: Entry): void {
  const place = node.places.get(placeName);
  if (!place) return;
  const lane = getLane(node, place);
  if (lane.state === 'live') {
    if (!takeEntry(node, lane, place, entry)) interrupt(node, lane);
  } else if (lane.heldEntries.push({ name: placeName, entry }) > maxHeldEntries) interrupt(node, lane);
}

/**
 * Interrupts a lane after entries of its partition were, or may have been, missed. The node subscribes to the places again, and each session replays their logs
 * from its own position. Clients only notice a delay, unless the log does not reach back so far or a part of it is lost (docs/delivery.md#loss).
 */
export function interrupt(node: GatewayNode, lane: Lane): void {
  lane.interruptions++;
  lane.heldEntries = [];
  lane.state = 'interrupted';
  for (const { reject } of lane.pendingMarks.values()) reject(new Error('interrupted'));
  if (lane.isRecovering || node.isClosing) return;
  lane.isRecovering = true;
  void recover(node, lane);
}

async function recover(node: GatewayNode, lane: Lane): Promise<void> {
  while (lane.state === 'interrupted' && !node.isClosing)
    try {
      if (node.eventLog.isUp(lane.partition)) await recoverOnce(node, lane);
      else await sleep(retryDelayMs);
    } catch (error) {
      node.platform.log.debug({ err: error, partition: lane.partition }, 'subscribing to the log failed; retrying');
      await sleep(retryDelayMs);
    }
  lane.isRecovering = false;
}

/**
 * Of places with entries that the node has not received, those of which one was missed although the sessions have received later entries of the partition, each
 * with the number of the last entry before it. When the connection was lost, only later entries were missed.
 */
async function findMissedBefore(node: GatewayNode, { partition, sentNumber }: Lane, behind: readonly Place[]): Promise<Map<Place, number>> {
  const candidates = behind.filter(({ lastNumber }) => lastNumber < sentNumber);
  if (candidates.length === 0) return new Map();
  const slices = await node.eventLog.readLogs(
    partition,
    candidates.map(({ name, lastNumber }) => ({ place: name, after: lastNumber })),
    1,
  );
  const isMissed = (_: Place, index: number): boolean =>
    !slices[index]?.isComplete || (slices[index].entries[0]?.head.number ?? Number.POSITIVE_INFINITY) <= sentNumber;
  return new Map(candidates.filter(isMissed).map((place) => [place, place.lastNumber]));
}

async function recoverOnce(node: GatewayNode, lane: Lane): Promise<void> {
  const { interruptions } = lane;
  const places = [...node.places.values()].filter(({ partition }) => partition === lane.partition);
  await node.eventLog.subscribe(
    lane.partition,
    places.map(({ name }) => name),
  );
  const { lastNumber, epoch, floor, epochEnds } = await node.eventLog.syncEpoch(lane.partition, lane.sentNumber);
  const lastNumbers = await node.eventLog.readActivePlaces(lane.partition, lane.verifiedNumber);
  const behind = places.filter((place) => (lastNumbers.get(place.name) ?? 0) > place.lastNumber);
  const missedBefore = await findMissedBefore(node, lane, behind);
  if (lane.interruptions !== interruptions) return;
  for (const [place, number] of missedBefore) lane.gaps.set(place, number);
  const isInPartition = (session: Session): boolean => [...session.places.keys()].some(({ partition }) => partition === lane.partition);
  for (const session of node.sessions.values()) if (isInPartition(session)) startReplay(node, session);
  for (const [place, number] of lane.gaps)
    for (const session of place.sessions)
      if (number < (session.partitionNumbers[lane.partition] ?? 0))
        setPlaceNumber(session, place, Math.min(number, session.placeNumbers.get(place) ?? number));
  for (const session of node.sessions.values())
    if (getSessionPosition(session).length > limits.gatewayPositionChars) invalidateSession(node, session, 'events_lost');
  lane.gaps.clear();
  // Token resets may have been missed as well.
  for (const account of node.accounts.values())
    if (node.eventLog.partitionOf(accountPlace(account.id)) === lane.partition) node.needsRecheck.add(account);
  // The tails and rules of the other places are complete.
  const unread = new Set(behind);
  const outdated = epoch === lane.epoch ? places.filter((place) => unread.has(place) || !Number.isFinite(place.lastNumber)) : places;
  const { heldEntries, onLive } = lane;
  lane.epoch = epoch;
  lane.floor = floor;
  lane.epochEnds = epochEnds;
  lane.sentNumber = lastNumber;
  lane.verifiedNumber = lastNumber;
  lane.heldEntries = [];
  lane.onLive = [];
  lane.state = 'live';
  node.positionText = null;
  for (const place of outdated) {
    startTailAt(place, lastNumber);
    forgetRules(place);
  }
  for (const resolve of onLive) resolve();
  for (const { name: placeName, entry } of heldEntries) receiveEntry(node, placeName, entry);
}
