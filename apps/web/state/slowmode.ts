import { signal } from '@preact/signals';
import { withEntry } from './servers.ts';

/** When the slow mode cooldown of the user ends, by channel, in milliseconds of this page's clock. */
export const cooldownEnds = signal<ReadonlyMap<string, number>>(new Map());

/** Starts a cooldown: the user can write in the channel again only after `secs` seconds. */
export function startCooldown(channelId: string, secs: number): void {
  const now = Date.now();
  const running = new Map([...cooldownEnds.value].filter(([, until]) => until > now));
  cooldownEnds.value = withEntry(running, channelId, now + secs * 1000);
}
