import { setTimeout as sleep } from 'node:timers/promises';
import { epochOf } from '../../lib/store/redis/log/epochs.ts';
import { writeNumbers, writePosition } from '../../lib/store/redis/log/position.ts';
import type { GatewayNode, Lane, Place, Session } from './state.ts';

/** How long a lane waits before it repeats a failed request to Redis, in milliseconds. */
const againMs = 50;
/** How long a mark may take to arrive through the subscription, in milliseconds. */
const markMs = 5_000;

/** Creates a lane that has not read the state of its log yet. */
export const createLane = (k: number): Lane => ({
  k,
  state: 'held',
  generation: 0,
  isRecovering: false,
  seen: 0,
  known: 0,
  epoch: 0,
  floor: 0,
  ends: new Map(),
  items: [],
  held: [],
  gaps: new Map(),
  waiting: [],
  marks: new Map(),
  barrier: null,
  nextBarrier: null,
  checked: 0,
  wanted: new Map(),
  reading: null,
});

/** The lane of a place. */
export const laneOf = (node: GatewayNode, { k }: { k: number }): Lane => node.lanes[k] as Lane;

/** Resolves when the lane is live. */
export const whenLive = (lane: Lane): Promise<void> =>
  lane.state === 'live' ? Promise.resolve() : new Promise((resolve) => lane.waiting.push(resolve));

/** The position of the live sessions as text. */
export function positionOfNode(node: GatewayNode): string {
  node.numbers ??= writeNumbers(node.lanes.map(({ seen }) => seen));
  return node.numbers;
}

/** The empty `late` map, for sessions whose places are all at their position. Most sessions share it to save memory; it must not be written to. */
export const nothingLate: Session['late'] = new Map();

/** Notes that a session has received a place only up to number `n`, which is behind its position in the partition. */
export function noteLate(session: Session, place: Place, n: number): void {
  if (session.late === nothingLate) session.late = new Map();
  session.late.set(place, n);
}

/** The position of a session that is not live, as text. */
export const positionOf = ({ numbers, late }: Session): string =>
  writePosition(
    writeNumbers(numbers),
    new Map([...late].filter(([{ k }, n]) => n < (numbers[k] as number)).map(([{ name }, n]) => [name, n])),
  );

/** Notes that live sessions have been sent everything up to number `n`. */
export function advance(node: GatewayNode, lane: Lane, n: number): void {
  if (n <= lane.seen) return;
  lane.seen = n;
  node.numbers = null;
}

/** Whether a number belongs to the known history of the log: it is not below the floor and not above the last number of its epoch. */
export function holds({ floor, epoch, ends, known }: Lane, n: number): boolean {
  if (n < floor) return false;
  return n <= (epochOf(n) === epoch ? known : (ends.get(epochOf(n)) ?? -1));
}

async function sendMark(node: GatewayNode, lane: Lane): Promise<number> {
  await whenLive(lane);
  const { generation } = lane;
  const id = node.nextMark++;
  const late = setTimeout(() => lane.marks.get(id)?.reject(new Error('a mark was lost')), markMs);
  const arrived = (): void => clearTimeout(late);
  const passing = new Promise<number>((resolve, reject) => lane.marks.set(id, { resolve, reject, arrived }));
  passing.catch(() => undefined); // it may reject before it is awaited
  try {
    if (!(await node.log.mark(lane.k, id, lane.checked))) throw new Error('redis was restarted');
    return await passing;
  } catch (error) {
    if (lane.generation === generation) node.interrupt(lane);
    throw error;
  } finally {
    clearTimeout(late);
    lane.marks.delete(id);
  }
}

async function untilMarked(node: GatewayNode, lane: Lane): Promise<number> {
  for (;;) {
    try {
      return await sendMark(node, lane);
    } catch (error) {
      if (node.closing) throw error;
      await sleep(againMs);
    }
  }
}

/**
 * Resolves when the lane has passed on everything that was published before the call, with the last number of it. It also detects missed entries. Callers share
 * a barrier that has not been started yet. Waits while Redis does not answer.
 */
export function barrier(node: GatewayNode, lane: Lane): Promise<number> {
  const begin = (): Promise<number> => {
    lane.barrier = untilMarked(node, lane).finally(() => {
      lane.barrier = null;
    });
    return lane.barrier;
  };
  if (!lane.barrier) return begin();
  lane.nextBarrier ??= lane.barrier.then(
    () => {
      lane.nextBarrier = null;
      return begin();
    },
    (error: unknown) => {
      lane.nextBarrier = null;
      throw error;
    },
  );
  return lane.nextBarrier;
}
