import { setTimeout as sleep } from 'node:timers/promises';

const records = Array.from({ length: 300 }, (_, n) => ({ id: String(n), name: `record ${n}`, tags: ['one', 'two'], at: n * 1.5 }));
const everyMs = 100;

/** The CPU time of a fixed computation, in milliseconds. */
function timeReference(): number {
  const before = process.cpuUsage();
  JSON.parse(JSON.stringify(records));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

/**
 * Starts to measure how slow the machine is at present: the same computation takes more CPU time when others use the caches and the other half of a core. The
 * returned function ends that and returns the average CPU time of one computation, in milliseconds.
 */
export function watchSpeed(): () => number {
  const times: number[] = [];
  let ended = false;
  const run = async (): Promise<void> => {
    while (!ended) {
      times.push(timeReference());
      await sleep(everyMs);
    }
  };
  void run();
  return () => {
    ended = true;
    return times.reduce((sum, ms) => sum + ms, 0) / times.length;
  };
}
