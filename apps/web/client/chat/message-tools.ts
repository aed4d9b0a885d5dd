import { signal } from '@preact/signals';
import { readEmoji } from '../../../../lib/base/emoji.ts';
import type { Message } from '../../../../lib/contract/message.ts';
import { call, path } from '../../api/call.ts';
import { changeReaction, patchMessage, removeMessage } from '../../state/histories.ts';
import { may } from '../../state/rights.ts';
import { myId } from '../../state/session.ts';
import { sayRefusal } from '../../ui/toast.tsx';
import { mayWrite, type Place } from '../place.ts';

/** The message under the pointer or with the focus: the one that shows its tools. */
export const activeMessage = signal<string | null>(null);

/**
 * What is open for one message: the emoji picker or the menu beside an element, or a dialog. The list shows it, so that it outlives the
 * message's row.
 */
export type OpenTool = { message: Message } & ({ kind: 'react' | 'menu'; anchor: Element } | { kind: 'delete' | 'thread' });
export const openTool = signal<OpenTool | null>(null);

/** What the person may do with a message: what they may not is not offered. */
export interface Rights {
  react: boolean;
  reply: boolean;
  edit: boolean;
  remove: boolean;
  pin: boolean;
  thread: boolean;
  publish: boolean;
}

const none: Rights = { react: false, reply: false, edit: false, remove: false, pin: false, thread: false, publish: false };

/**
 * The person's rights at one message of a place, as they stand now. An answer that only they see is not stored: nothing can be done with
 * it.
 */
export function rightsAt(message: Message, place: Place): Rights {
  if (message.ephemeral) return none;
  const { serverId, channel } = place;
  const mine = message.author.id === myId();
  const manages = may('Manage Messages', serverId, channel);
  const writes = mayWrite(place);
  const kind = channel?.kind;
  return {
    react: may('Add Reactions', serverId, channel),
    reply: writes,
    edit: mine,
    remove: mine || manages,
    // In a DM either of the two may pin.
    pin: serverId === null || manages,
    thread: writes && (kind === 'text' || kind === 'announcement'),
    publish: kind === 'announcement' && !message.crossposted && (manages || (mine && writes)),
  };
}

/** Reacts (`on`) or takes the reaction back: shown at once, undone when it is refused. `emoji` in any of its forms. */
export function setReaction({ id, channelId }: Message, emoji: string, on: boolean): void {
  const form = readEmoji(emoji)?.emoji ?? emoji;
  changeReaction(channelId, id, form, on ? 1 : -1, true);
  call(on ? 'PUT' : 'DELETE', path`/api/channels/${channelId}/messages/${id}/reactions/${form}`).catch((fault: unknown) => {
    changeReaction(channelId, id, form, on ? -1 : 1, true);
    sayRefusal(fault);
  });
}

/** Deletes a message. Throws `ApiError`. */
export async function deleteMessage({ id, channelId }: Message): Promise<void> {
  await call('DELETE', path`/api/channels/${channelId}/messages/${id}`);
  removeMessage(channelId, id);
}

/** Pins or unpins a message; a refusal is told. */
export function togglePin({ id, channelId, pinned }: Message): void {
  call(pinned ? 'DELETE' : 'PUT', path`/api/channels/${channelId}/pins/${id}`).then(
    () => patchMessage(channelId, id, { pinned: !pinned }),
    sayRefusal,
  );
}

/** Copies a message to every following channel; a refusal is told. */
export function publishMessage({ id, channelId }: Message): void {
  call('POST', path`/api/channels/${channelId}/messages/${id}/crosspost`).then(
    () => patchMessage(channelId, id, { crossposted: true }),
    sayRefusal,
  );
}
