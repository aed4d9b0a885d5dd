import { signal } from '@preact/signals';
import { withEntry } from './servers.ts';

/** Until when slow mode keeps the person from writing, by channel, in milliseconds of this page's clock. */
export const slowUntil = signal<ReadonlyMap<string, number>>(new Map());

/** Notes that the person can write in a channel again only after so many seconds. */
export function noteSlow(channelId: string, secs: number): void {
  const now = Date.now();
  const waits = new Map([...slowUntil.value].filter(([, until]) => until > now));
  slowUntil.value = withEntry(waits, channelId, now + secs * 1000);
}
