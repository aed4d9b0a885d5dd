import { signal } from '@preact/signals';
import type { Message } from '../../../lib/contract/message.ts';
import { withEntry } from './servers.ts';

/** How often the pins of a channel changed since the page was loaded. Components that show the pins load them again when it changes. */
export const pinChanges = signal<ReadonlyMap<string, number>>(new Map());

/** Records that a message was pinned or unpinned. */
export const pinsChanged = (channelId: string): void => {
  pinChanges.value = withEntry(pinChanges.value, channelId, (pinChanges.value.get(channelId) ?? 0) + 1);
};

/** The pinned message that was edited last, as it is now. */
export const editedPin = signal<Message | null>(null);
