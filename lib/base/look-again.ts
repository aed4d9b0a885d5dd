import { setTimeout as pause } from 'node:timers/promises';

/**
 * Polls `isOver` until it returns true or `mostMs` have passed. The first poll is after 2 ms, and the interval doubles up to 50 ms. For work that other
 * processes finish within milliseconds and do not announce.
 */
export async function lookAgain(mostMs: number, isOver: () => Promise<boolean>): Promise<void> {
  const until = performance.now() + mostMs;
  for (let ms = 2, over = false; !over && performance.now() < until; ms = Math.min(ms * 2, 50)) {
    await pause(ms);
    over = await isOver();
  }
}
