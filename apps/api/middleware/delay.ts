import { setTimeout as sleep } from 'node:timers/promises';
import { limits } from '../../../lib/base/limits.ts';

/** How many answers of this process are being delayed now. */
let delayedAnswers = 0;

/**
 * Waits for about half a second before a refusal is answered, so that clients that repeat their requests at once do not keep the process busy. The time varies,
 * so that they do not come back all at once. Does not wait while 1,000 other answers do.
 */
export async function delayAnswer(): Promise<void> {
  if (delayedAnswers >= limits.refusalsDelayed) return;
  delayedAnswers++;
  try {
    await sleep(limits.refusalDelayMs * (0.5 + Math.random()));
  } finally {
    delayedAnswers--;
  }
}
