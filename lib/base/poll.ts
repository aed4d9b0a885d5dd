import { setTimeout as pause } from 'node:timers/promises';

/**
 * Polls `isDone` until it returns true or `timeoutMs` have passed. The first poll is after 2 ms, and the interval doubles up to 50 ms. For work that other
 * processes finish within milliseconds and do not announce.
 */
export async function pollUntil(timeoutMs: number, isDone: () => Promise<boolean>): Promise<void> {
  const until = performance.now() + timeoutMs;
  for (let ms = 2, done = false; !done && performance.now() < until; ms = Math.min(ms * 2, 50)) {
    await pause(ms);
    done = await isDone();
  }
}
