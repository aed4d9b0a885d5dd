import { setTimeout as sleep } from 'node:timers/promises';
import { limits } from './limits.ts';

/** How many refusals of this process are being delayed now. */
let delayed = 0;

/**
 * Waits for about half a second before a client is refused, so that clients that try again at once do not keep the process busy. The time varies,
 * so that they do not come back all at once. Does not wait while 1,000 others do.
 */
export async function delayRefusal(): Promise<void> {
  if (delayed >= limits.refusalsDelayed) return;
  delayed++;
  try {
    await sleep(limits.refusalDelayMs * (0.5 + Math.random()));
  } finally {
    delayed--;
  }
}
