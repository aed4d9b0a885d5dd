import { signal } from '@preact/signals';
import { withEntry } from './servers.ts';

/** When the slow mode cooldown of the user ends, by channel, in milliseconds of this page's clock. */
export const slowUntil = signal<ReadonlyMap<string, number>>(new Map());

/** Starts a cooldown: the user can write in the channel again only after `secs` seconds. */
export function noteSlow(channelId: string, secs: number): void {
  const now = Date.now();
  const waits = new Map([...slowUntil.value].filter(([, until]) => until > now));
  slowUntil.value = withEntry(waits, channelId, now + secs * 1000);
}
