import { setTimeout as sleep } from 'node:timers/promises';
import { idTimeMs } from '../../lib/base/ids.ts';
import { ownMembershipIn, traitsOf } from '../../lib/contract/events.ts';
import type { Entry } from '../../lib/store/redis/log/entry.ts';
import { epochOf } from '../../lib/store/redis/log/epochs.ts';
import { accountPlace } from '../../lib/store/redis/log/keys.ts';
import { eventBytes, payloadOf } from './frames.ts';
import { advance, laneOf, noteLate, positionOfNode } from './lane.ts';
import { startTailAt } from './places.ts';
import { replay } from './replay.ts';
import { type GatewayNode, type Lane, type LaneItem, type Place, type Session } from './state.ts';
import { canJudge, forgetAccess, forgetMember, loadAccessFor, recipientsOf } from './visibility.ts';
import { recheckMember } from './watch.ts';
import { sendEvent } from './writer.ts';

type EntryItem = Extract<LaneItem, { entry: Entry }>;

/** The most entries that a lane queues or holds back. With more, the lane is interrupted, and its sessions read the log instead. */
const waitingMost = 10_000;
/** How long an entry waits for its access data, in milliseconds times `STORE_PATIENCE`. Then the sessions of its place read the log, and the lane goes on. */
const patienceMs = 250;
/** How long to wait before a failed subscription is retried, in milliseconds. */
const againMs = 50;

/** Makes a live session replay: it reads the logs of its places from its own position until it has caught up with the lanes. */
function takeOffLane(node: GatewayNode, session: Session): void {
  if (session.state !== 'live') return;
  session.state = 'replaying';
  session.numbers = node.lanes.map(({ seen }) => seen);
  void replay(node, session);
}

function send(node: GatewayNode, entry: Entry, receivers: readonly Session[]): void {
  const { name: t, id: e } = entry.head;
  if (receivers.length === 0) return;
  const s = positionOfNode(node);
  const bytes = eventBytes(t, s, payloadOf(entry, node.platform.config.APP_KEY));
  for (const session of receivers) sendEvent(node, session, s, bytes);
  node.metrics.deliveries.inc({ event: t }, receivers.length);
  if (traitsOf(t).isTimed) node.metrics.deliveryLatency.observe(Math.max(0, node.platform.now() - idTimeMs(e)) / 1000);
}

/** Whether the entry adds or removes a place of its account's sessions. Such an entry is sent by their replay, which then reads the new place. */
const isMove = ({ head }: Entry): boolean => ownMembershipIn(head.name) !== undefined;

/** Delivers an entry whose turn has come in the lane. If its access data did not load in time (`isLate`), the sessions of its place read it from the log. */
function deliver(node: GatewayNode, lane: Lane, { place, entry, isLate }: EntryItem): void {
  if (isLate || isMove(entry)) for (const session of place.sessions) takeOffLane(node, session);
  advance(node, lane, entry.head.number);
  place.tail.push(entry);
  recheckMember(node, place.sessions, entry);
  if (!isLate) send(node, entry, recipientsOf(place, entry));
}

/** Delivers the items of a lane in order, up to the first entry whose access data is not loaded. */
function runLane(node: GatewayNode, lane: Lane): void {
  for (let item = lane.items[0]; item; item = lane.items[0]) {
    if (item.entry && !item.isLate && !canJudge(item.place, item.entry)) return load(node, lane, item);
    lane.items.shift();
    if (item.entry) deliver(node, lane, item);
    else item.apply();
  }
}

/** Loads the access data of an entry. The lane goes on after that, or when the load fails or takes too long. Does nothing while a load is running. */
function load(node: GatewayNode, lane: Lane, item: EntryItem): void {
  if (item.isLoading) return;
  item.isLoading = true;
  const { generation } = lane;
  const giveUp = (): void => {
    item.isLate = true;
    runLane(node, lane);
  };
  const timer = setTimeout(giveUp, patienceMs * node.platform.config.STORE_PATIENCE);
  const untilKnown = async (): Promise<void> => {
    // Repeat if a session has joined the place meanwhile, or if new rules were loaded that lack the channel.
    do await loadAccessFor(node, item.place, item.entry);
    while (!item.isLate && lane.generation === generation && !canJudge(item.place, item.entry));
  };
  untilKnown()
    .then(() => {
      item.isLoading = false;
      runLane(node, lane);
    }, giveUp)
    .finally(() => clearTimeout(timer));
}

/** Queues a live entry; false when the entry shows that another one was missed, or when the queue is full. */
function accept(node: GatewayNode, lane: Lane, place: Place, entry: Entry): boolean {
  const { number: n, previous: p } = entry.head;
  if (n <= lane.known) return true;
  if (p > place.lastNumber) lane.gaps.set(place, place.lastNumber);
  if (epochOf(n) !== lane.epoch || p > place.lastNumber || lane.items.length >= waitingMost) return false;
  lane.known = n;
  place.lastNumber = n;
  const { member } = entry.head;
  if (member !== undefined) lane.items.push({ entry: null, apply: () => forgetMember(node, place, member) });
  const item: EntryItem = { entry, place, isLoading: false, isLate: false };
  lane.items.push(item);
  // Start loading now, even if other entries are ahead of this one.
  if (!canJudge(place, entry)) load(node, lane, item);
  runLane(node, lane);
  return true;
}

/** Receives an entry from the subscription. */
export function receiveEntry(node: GatewayNode, name: string, entry: Entry): void {
  const place = node.places.get(name);
  if (!place) return;
  const lane = laneOf(node, place);
  if (lane.state === 'live') {
    if (!accept(node, lane, place, entry)) interrupt(node, lane);
  } else if (lane.held.push({ name, entry }) > waitingMost) interrupt(node, lane);
}

/**
 * Interrupts a lane after entries of its partition were, or may have been, missed. The node subscribes to the places again, and each session replays their logs
 * from its own position. Clients only notice a delay, unless the log does not reach back so far or a part of it is lost (docs/delivery.md#loss).
 */
export function interrupt(node: GatewayNode, lane: Lane): void {
  lane.generation++;
  lane.held = [];
  lane.state = 'held';
  for (const { reject } of lane.marks.values()) reject(new Error('interrupted'));
  if (lane.isRecovering || node.closing) return;
  lane.isRecovering = true;
  void recover(node, lane);
}

async function recover(node: GatewayNode, lane: Lane): Promise<void> {
  while (lane.state === 'held' && !node.closing)
    try {
      if (node.log.isUp(lane.k)) await recoverOnce(node, lane);
      else await sleep(againMs);
    } catch (error) {
      node.platform.log.debug({ err: error, partition: lane.k }, 'subscribing to the log failed; retrying');
      await sleep(againMs);
    }
  lane.isRecovering = false;
}

async function recoverOnce(node: GatewayNode, lane: Lane): Promise<void> {
  const { generation } = lane;
  const places = [...node.places.values()].filter(({ k }) => k === lane.k);
  await node.log.subscribe(
    lane.k,
    places.map(({ name }) => name),
  );
  const { n, epoch, floor, ends } = await node.log.boot(lane.k, lane.seen);
  const active = await node.log.active(lane.k, lane.checked);
  if (lane.generation !== generation) return;
  for (const place of places) if ((active.get(place.name) ?? 0) > place.lastNumber) lane.gaps.set(place, place.lastNumber);
  const isHere = (session: Session): boolean => [...session.places].some(({ k }) => k === lane.k);
  for (const session of node.sessions.values()) if (isHere(session)) takeOffLane(node, session);
  for (const [place, last] of lane.gaps)
    for (const session of place.sessions)
      if (last < (session.numbers[lane.k] ?? 0)) noteLate(session, place, Math.min(last, session.late.get(place) ?? last));
  lane.gaps.clear();
  // Token resets may have been missed as well.
  for (const account of node.accounts.values())
    if (node.log.partitionOf(accountPlace(account.id)) === lane.k) node.needsRecheck.add(account);
  const { held, waiting } = lane;
  const isEpochOver = lane.epoch !== epoch;
  Object.assign(lane, { epoch, floor, ends, seen: n, known: n, checked: n, items: [], held: [], waiting: [], state: 'live' });
  node.numbers = null;
  for (const place of places) {
    startTailAt(place, n);
    forgetAccess(place, isEpochOver);
  }
  for (const go of waiting) go();
  for (const { name, entry } of held) receiveEntry(node, name, entry);
}

/** Queues the effect of a control message in the lane, so that it is applied in order with the entries. */
export function applyInOrder(node: GatewayNode, lane: Lane, effect: () => void): void {
  if (lane.items.length >= waitingMost) return interrupt(node, lane);
  lane.items.push({ entry: null, apply: effect });
  runLane(node, lane);
}
