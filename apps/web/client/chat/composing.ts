import { signal } from '@preact/signals';
import type { Message } from '../../../../lib/contract/message.ts';

/** The message that the next message replies to, by channel. */
export const replying = signal<ReadonlyMap<string, Message>>(new Map());

/** The id of the user's own message that is being edited; null when none is. */
export const editing = signal<string | null>(null);
