import { signal } from '@preact/signals';
import { withEntry } from './servers.ts';

/** When a cooldown ends, in milliseconds: by the time that this page has been open, and by the clock of the device. */
export interface CooldownEnd {
  byPage: number;
  byClock: number;
}

/** When the slow mode cooldown of the user ends, by channel. */
export const cooldownEnds = signal<ReadonlyMap<string, CooldownEnd>>(new Map());

/**
 * Returns how many milliseconds of a cooldown are left. The smaller of two counts: the clock of the device may be set back, and the time of the page may
 * stand still while the device sleeps.
 */
export const cooldownLeftMs = ({ byPage, byClock }: CooldownEnd): number => Math.min(byPage - performance.now(), byClock - Date.now());

/** Starts a cooldown: the user can write in the channel again only after `secs` seconds. */
export function startCooldown(channelId: string, secs: number): void {
  const running = new Map([...cooldownEnds.value].filter(([, end]) => cooldownLeftMs(end) > 0));
  const end = { byPage: performance.now() + secs * 1000, byClock: Date.now() + secs * 1000 };
  cooldownEnds.value = withEntry(running, channelId, end);
}
