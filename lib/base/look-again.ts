import { setTimeout as pause } from 'node:timers/promises';

/**
 * Looks again, after 2 ms at first and every 50 ms in the end, until `isOver` says so or `mostMs` have passed. For what other processes finish within
 * milliseconds and do not announce.
 */
export async function lookAgain(mostMs: number, isOver: () => Promise<boolean>): Promise<void> {
  const until = performance.now() + mostMs;
  for (let ms = 2, over = false; !over && performance.now() < until; ms = Math.min(ms * 2, 50)) {
    await pause(ms);
    over = await isOver();
  }
}
