import { setTimeout as sleep } from 'node:timers/promises';
import { shareRuns } from '../../lib/base/shared-run.ts';
import { getEpoch } from '../../lib/store/redis/log/epochs.ts';
import { writeNumbers, writePosition } from '../../lib/store/redis/log/position.ts';
import type { GatewayNode, Lane, Place, Session } from './state.ts';

/** How long a lane waits before it repeats a failed request to Redis, in milliseconds. */
const retryDelayMs = 50;
/** How long a mark may take to arrive through the subscription, in milliseconds. */
const markTimeoutMs = 5_000;

/** Creates a lane that has not read the state of its log yet. */
export const createLane = (partition: number): Lane => ({
  partition,
  state: 'interrupted',
  interruptions: 0,
  isRecovering: false,
  sentNumber: 0,
  epoch: 0,
  floor: 0,
  epochEnds: new Map(),
  heldEntries: [],
  gaps: new Map(),
  onLive: [],
  pendingMarks: new Map(),
  barrier: null,
  verifiedNumber: 0,
  wantedTails: new Map(),
  tailRead: null,
});

/** The lane of a place. */
export const getLane = (node: GatewayNode, { partition }: { partition: number }): Lane => node.lanes[partition] as Lane;

/** Resolves when the lane is live. */
export const waitUntilLive = (lane: Lane): Promise<void> =>
  lane.state === 'live' ? Promise.resolve() : new Promise((resolve) => lane.onLive.push(resolve));

/** The position of the live sessions as text. */
export function getNodePosition(node: GatewayNode): string {
  node.positionText ??= writeNumbers(node.lanes.map(({ sentNumber }) => sentNumber));
  return node.positionText;
}

/** The empty `placeNumbers` map, for sessions whose places are all at their position. Most sessions share it to save memory; it must not be written to. */
export const noPlaceNumbers: Session['placeNumbers'] = new Map();

/** Records that a session has received a place only up to `number`, which is behind its position in the partition. */
export function setPlaceNumber(session: Session, place: Place, number: number): void {
  if (session.placeNumbers === noPlaceNumbers) session.placeNumbers = new Map();
  session.placeNumbers.set(place, number);
}

/** The position of a session that is not live, as text. */
export const getSessionPosition = ({ partitionNumbers, placeNumbers }: Session): string =>
  writePosition(
    writeNumbers(partitionNumbers),
    new Map(
      [...placeNumbers]
        .filter(([{ partition }, number]) => number < (partitionNumbers[partition] as number))
        .map(([{ name }, number]) => [name, number]),
    ),
  );

/** Records that live sessions have been sent everything up to `number`. */
export function advanceLane(node: GatewayNode, lane: Lane, number: number): void {
  if (number <= lane.sentNumber) return;
  lane.sentNumber = number;
  node.positionText = null;
}

/**
 * Whether a number belongs to the known history of the log: it is not below the floor, not above the last number of its epoch, and not above what the lane has
 * passed on.
 */
export function isKnownNumber({ floor, epoch, epochEnds, sentNumber }: Lane, number: number): boolean {
  if (number < floor) return false;
  return number <= (getEpoch(number) === epoch ? sentNumber : (epochEnds.get(getEpoch(number)) ?? -1));
}

async function sendMarkOnce(node: GatewayNode, lane: Lane): Promise<number> {
  await waitUntilLive(lane);
  const { interruptions } = lane;
  const id = node.nextMarkId++;
  const timer = setTimeout(() => lane.pendingMarks.get(id)?.reject(new Error('the mark did not arrive in time')), markTimeoutMs);
  const passed = new Promise<number>((resolve, reject) => lane.pendingMarks.set(id, { resolve, reject }));
  passed.catch(() => undefined); // it may reject before it is awaited
  try {
    if (!(await node.eventLog.publishMark(lane.partition, id, lane.verifiedNumber))) throw new Error('Redis was restarted');
    return await passed;
  } catch (error) {
    if (lane.interruptions === interruptions) node.interrupt(lane);
    throw error;
  } finally {
    clearTimeout(timer);
    lane.pendingMarks.delete(id);
  }
}

async function sendMark(node: GatewayNode, lane: Lane): Promise<number> {
  for (;;) {
    try {
      return await sendMarkOnce(node, lane);
    } catch (error) {
      if (node.isClosing) throw error;
      await sleep(retryDelayMs);
    }
  }
}

/**
 * Resolves when the lane has passed on everything that was published before the call, with the last number of it. It also detects missed entries. Waits while
 * Redis does not answer.
 */
export function waitForBarrier(node: GatewayNode, lane: Lane): Promise<number> {
  lane.barrier ??= shareRuns(() => sendMark(node, lane));
  return lane.barrier();
}
