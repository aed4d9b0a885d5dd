import { signal } from '@preact/signals';
import { channelKinds } from '../../../../lib/base/channel-kinds.ts';
import { readEmoji } from '../../../../lib/base/emoji.ts';
import type { Message } from '../../../../lib/contract/message.ts';
import { call, path } from '../../api/call.ts';
import { changeReaction, patchMessage, removeMessage } from '../../state/histories.ts';
import { may } from '../../state/rights.ts';
import { myId } from '../../state/session.ts';
import { showError } from '../../ui/toast.tsx';
import { type ChannelContext, mayWrite } from '../channel-context.ts';

/** The id of the message under the pointer or with the focus, which shows its tools. */
export const activeMessage = signal<string | null>(null);

/**
 * What is open for one message: the emoji picker or the menu beside an element, or a dialog. The list renders it, so that it stays open when the row of the
 * message is removed.
 */
export type OpenTool = { message: Message } & ({ kind: 'react' | 'menu'; anchor: Element } | { kind: 'delete' | 'thread' });
export const openTool = signal<OpenTool | null>(null);

/** The actions that the user may take on a message. Others are not offered. */
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

/** Returns the actions that the user may take on a message now. An ephemeral message is not stored, so there are none. */
export function rightsOn(message: Message, context: ChannelContext): Rights {
  if (message.ephemeral) return none;
  const { serverId, channel } = context;
  const mine = message.author.id === myId();
  const canManage = may('Manage Messages', serverId, channel);
  const canWrite = mayWrite(context);
  const kind = channel?.kind;
  return {
    react: may('Add Reactions', serverId, channel),
    reply: canWrite,
    edit: mine,
    remove: mine || canManage,
    // In a DM both participants may pin.
    pin: serverId === null || canManage,
    thread: canWrite && kind !== undefined && channelKinds[kind].hasThreadsAndWebhooks,
    publish: kind !== undefined && channelKinds[kind].canBeFollowed && !message.crossposted && (canManage || (mine && canWrite)),
  };
}

/** Adds (`on`) or removes the user's reaction. The change is shown at once and undone when the request fails. `emoji` can be in any of its forms. */
export function setReaction({ id, channelId }: Message, emoji: string, on: boolean): void {
  const form = readEmoji(emoji)?.emoji ?? emoji;
  changeReaction(channelId, id, form, on ? 1 : -1, true);
  call(on ? 'PUT' : 'DELETE', path`/api/channels/${channelId}/messages/${id}/reactions/${form}`).catch((fault: unknown) => {
    changeReaction(channelId, id, form, on ? -1 : 1, true);
    showError(fault);
  });
}

/** Deletes a message. Throws `ApiError`. */
export async function deleteMessage({ id, channelId }: Message): Promise<void> {
  await call('DELETE', path`/api/channels/${channelId}/messages/${id}`);
  removeMessage(channelId, id);
}

/** Pins or unpins a message; shows the error when that fails. */
export function togglePin({ id, channelId, pinned }: Message): void {
  call(pinned ? 'DELETE' : 'PUT', path`/api/channels/${channelId}/pins/${id}`).then(
    () => patchMessage(channelId, id, { pinned: !pinned }),
    showError,
  );
}

/** Copies a message to every following channel; shows the error when that fails. */
export function publishMessage({ id, channelId }: Message): void {
  call('POST', path`/api/channels/${channelId}/messages/${id}/crosspost`).then(
    () => patchMessage(channelId, id, { crossposted: true }),
    showError,
  );
}
