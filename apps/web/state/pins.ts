import { signal } from '@preact/signals';
import { withEntry } from './servers.ts';

/** How often the pins of a channel changed since the page was loaded: who shows them reads them anew when it does. */
export const pinChanges = signal<ReadonlyMap<string, number>>(new Map());

/** Notes that something was pinned or unpinned. */
export const pinsChanged = (channelId: string): void => {
  pinChanges.value = withEntry(pinChanges.value, channelId, (pinChanges.value.get(channelId) ?? 0) + 1);
};
