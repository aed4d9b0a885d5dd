import { setTimeout as sleep } from 'node:timers/promises';
import { idTimeMs } from '../../lib/base/ids.ts';
import type { TraceSpan } from '../../lib/base/tracing.ts';
import { getEventDefinition, getMembershipChange } from '../../lib/contract/events.ts';
import type { Entry } from '../../lib/store/redis/log/entry.ts';
import { getEpoch } from '../../lib/store/redis/log/epochs.ts';
import { accountPlace } from '../../lib/store/redis/log/keys.ts';
import { encodeEvent, renderPayload } from './frames.ts';
import { advanceLane, getLane, getNodePosition, setPlaceNumber } from './lane.ts';
import { startTailAt } from './places.ts';
import { replay } from './replay.ts';
import { type GatewayNode, type Lane, type LaneItem, type Place, type Session } from './state.ts';
import { canComputeRecipients, computeRecipients, findUndecided, forgetAccessData, forgetMember, loadAccessFor } from './visibility.ts';
import { recheckMember } from './watch.ts';
import { sendEvent } from './writer.ts';

type EntryItem = Extract<LaneItem, { entry: Entry }>;

/** The most entries that a lane queues or holds back. With more, the lane is interrupted, and its sessions read the log instead. */
const maxQueuedEntries = 10_000;
/**
 * How long an entry waits for its access data, in milliseconds times `STORE_TIMEOUT_FACTOR`. It holds up the entries of all other places meanwhile, so this is
 * short. Then the sessions for which it is not decided read the log, and the lane goes on.
 */
const accessTimeoutMs = 50;
/** How long to wait before a failed subscription is retried, in milliseconds. */
const retryDelayMs = 50;

/** Makes a live session replay: it reads the logs of its places from its own position until it has caught up with the lanes. */
function startReplay(node: GatewayNode, session: Session): void {
  if (session.state !== 'live') return;
  session.state = 'replaying';
  session.partitionNumbers = node.lanes.map(({ sentNumber }) => sentNumber);
  void replay(node, session);
}

/** The spans of traced entries on this node, from their arrival until they are written to the sockets. */
const spans = new WeakMap<Entry, TraceSpan>();

function endSpan(entry: Entry, sockets: number): void {
  spans.get(entry)?.setAttributes({ 'parlance.event': entry.head.name, 'parlance.sockets': sockets });
  spans.get(entry)?.end();
}

function sendToReceivers(node: GatewayNode, entry: Entry, receivers: readonly Session[]): void {
  const { name, id } = entry.head;
  if (receivers.length === 0) return;
  const position = getNodePosition(node);
  const bytes = encodeEvent(name, position, renderPayload(entry, node.platform.config.APP_KEY));
  for (const session of receivers) sendEvent(node, session, position, bytes);
  node.metrics.deliveries.inc({ event: name }, receivers.length);
  if (getEventDefinition(name).isTimed) node.metrics.deliveryLatency.observe(Math.max(0, node.platform.now() - idTimeMs(id)) / 1000);
}

/** Whether the entry adds or removes a place of its account's sessions. Such an entry is sent by their replay, which then reads the new place. */
const changesPlaces = ({ head }: Entry): boolean => getMembershipChange(head.name) !== undefined;

/** Delivers the first entry of the lane. The sessions for which its access data did not load in time read it from the log. */
function deliverEntry(node: GatewayNode, lane: Lane, { place, entry }: EntryItem): void {
  for (const session of changesPlaces(entry) ? place.sessions : [...findUndecided(node, place, entry)]) startReplay(node, session);
  advanceLane(node, lane, entry.head.number);
  place.tail.push(entry);
  recheckMember(node, place.sessions, entry);
  const receivers = computeRecipients(place, entry);
  sendToReceivers(node, entry, receivers);
  if (entry.head.trace !== undefined) endSpan(entry, receivers.length);
}

/** Delivers the items of a lane in order, up to the first entry whose access data is not loaded. */
function runLane(node: GatewayNode, lane: Lane): void {
  for (let item = lane.queue[0]; item; item = lane.queue[0]) {
    if (item.entry && !item.hasTimedOut && !canComputeRecipients(node, item.place, item.entry)) return loadAccessData(node, lane, item);
    lane.queue.shift();
    if (item.entry) deliverEntry(node, lane, item);
    else item.apply();
  }
}

/** Loads the access data of an entry. The lane goes on after that, or when the load fails or takes too long. Does nothing while a load is running. */
function loadAccessData(node: GatewayNode, lane: Lane, item: EntryItem): void {
  if (item.isLoading) return;
  item.isLoading = true;
  const { interruptions } = lane;
  const onTimeout = (): void => {
    item.hasTimedOut = true;
    runLane(node, lane);
  };
  const timer = setTimeout(onTimeout, accessTimeoutMs * node.platform.config.STORE_TIMEOUT_FACTOR);
  const loadUntilComplete = async (): Promise<void> => {
    // Repeat if a session has joined the place meanwhile, or if new rules were loaded that lack the channel.
    do await loadAccessFor(node, item.place, item.entry);
    while (!item.hasTimedOut && lane.interruptions === interruptions && !canComputeRecipients(node, item.place, item.entry));
  };
  loadUntilComplete()
    .then(() => {
      item.isLoading = false;
      runLane(node, lane);
    }, onTimeout)
    .finally(() => clearTimeout(timer));
}

/** Queues a live entry; false when the entry shows that another one was missed, or when the queue is full. */
function queueEntry(node: GatewayNode, lane: Lane, place: Place, entry: Entry): boolean {
  const { number, previous } = entry.head;
  if (number <= lane.receivedNumber) return true;
  if (previous > place.lastNumber) lane.gaps.set(place, place.lastNumber);
  if (getEpoch(number) !== lane.epoch || previous > place.lastNumber || lane.queue.length >= maxQueuedEntries) return false;
  lane.receivedNumber = number;
  place.lastNumber = number;
  const { name, member, trace } = entry.head;
  if (trace !== undefined) spans.set(entry, node.platform.tracing.start(`deliver ${name}`, { kind: 'consumer', parent: trace }));
  if (member !== undefined) lane.queue.push({ entry: null, apply: () => forgetMember(node, place, member) });
  const item: EntryItem = { entry, place, isLoading: false, hasTimedOut: false };
  lane.queue.push(item);
  // Start loading now, even if other entries are ahead of this one.
  if (!canComputeRecipients(node, place, entry)) loadAccessData(node, lane, item);
  runLane(node, lane);
  return true;
}

/** Receives an entry from the subscription. */
export function receiveEntry(node: GatewayNode, placeName: string, entry: Entry): void {
  const place = node.places.get(placeName);
  if (!place) return;
  const lane = getLane(node, place);
  if (lane.state === 'live') {
    if (!queueEntry(node, lane, place, entry)) interrupt(node, lane);
  } else if (lane.heldEntries.push({ name: placeName, entry }) > maxQueuedEntries) interrupt(node, lane);
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

async function recoverOnce(node: GatewayNode, lane: Lane): Promise<void> {
  const { interruptions } = lane;
  const places = [...node.places.values()].filter(({ partition }) => partition === lane.partition);
  await node.eventLog.subscribe(
    lane.partition,
    places.map(({ name }) => name),
  );
  const { lastNumber, epoch, floor, epochEnds } = await node.eventLog.syncEpoch(lane.partition, lane.sentNumber);
  const lastNumbers = await node.eventLog.readActivePlaces(lane.partition, lane.verifiedNumber);
  if (lane.interruptions !== interruptions) return;
  for (const place of places) if ((lastNumbers.get(place.name) ?? 0) > place.lastNumber) lane.gaps.set(place, place.lastNumber);
  const isInPartition = (session: Session): boolean => [...session.places].some(({ partition }) => partition === lane.partition);
  for (const session of node.sessions.values()) if (isInPartition(session)) startReplay(node, session);
  for (const [place, number] of lane.gaps)
    for (const session of place.sessions)
      if (number < (session.partitionNumbers[lane.partition] ?? 0))
        setPlaceNumber(session, place, Math.min(number, session.placeNumbers.get(place) ?? number));
  lane.gaps.clear();
  // Token resets may have been missed as well.
  for (const account of node.accounts.values())
    if (node.eventLog.partitionOf(accountPlace(account.id)) === lane.partition) node.needsRecheck.add(account);
  const { heldEntries, onLive } = lane;
  const isEpochOver = lane.epoch !== epoch;
  Object.assign<Lane, Partial<Lane>>(lane, {
    epoch,
    floor,
    epochEnds,
    sentNumber: lastNumber,
    receivedNumber: lastNumber,
    verifiedNumber: lastNumber,
    queue: [],
    heldEntries: [],
    onLive: [],
    state: 'live',
  });
  node.positionText = null;
  for (const place of places) {
    startTailAt(place, lastNumber);
    forgetAccessData(place, isEpochOver);
  }
  for (const resolve of onLive) resolve();
  for (const { name: placeName, entry } of heldEntries) receiveEntry(node, placeName, entry);
}

/** Queues the effect of a control message in the lane, so that it is applied in order with the entries. */
export function applyInOrder(node: GatewayNode, lane: Lane, effect: () => void): void {
  if (lane.queue.length >= maxQueuedEntries) return interrupt(node, lane);
  lane.queue.push({ entry: null, apply: effect });
  runLane(node, lane);
}
