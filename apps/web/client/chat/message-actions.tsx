import { useSignal } from '@preact/signals';
import { Copy, Ellipsis, Link, Megaphone, MessageSquarePlus, Pencil, Pin, PinOff, Reply, SmilePlus, Trash2 } from 'lucide';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Message } from '../../../../lib/contract/message.ts';
import { withEntry } from '../../state/servers.ts';
import { IconButton } from '../../ui/button.tsx';
import { copyText } from '../../ui/clipboard.ts';
import { showError } from '../../ui/toast.tsx';
import { type ChannelContext, pathOf } from '../channel-context.ts';
import { editing, replying } from './composing.ts';
import type { EmojiPicker } from './emoji-picker.tsx';
import { Menu, type MenuItem } from './menu.tsx';
import { DeleteDialog, ThreadFromDialog } from './message-dialogs.tsx';
import { deleteMessage, openTool, publishMessage, rightsOn, setReaction, togglePin } from './message-tools.ts';

const reply = (message: Message): void => {
  replying.value = withEntry(replying.value, message.channelId, message);
};

/** Deletes a message after confirmation; with Shift it is deleted without confirmation. */
function remove(message: Message, { shiftKey }: MouseEvent): void {
  if (shiftKey) deleteMessage(message).catch(showError);
  else openTool.value = { kind: 'delete', message };
}

/** The tools of a message: the most used actions, and the menu with all others. */
export function MessageToolbar({ message, context }: { message: Message; context: ChannelContext }): JSX.Element {
  const { react, reply: mayReply, edit, remove: mayRemove } = rightsOn(message, context);
  return (
    <div class="message-tools" role="toolbar" aria-label="Message actions">
      {react && (
        <IconButton
          of={SmilePlus}
          label="React"
          aria-haspopup="dialog"
          onClick={({ currentTarget }) => (openTool.value = { kind: 'react', message, anchor: currentTarget })}
        />
      )}
      {mayReply && <IconButton of={Reply} label="Reply" onClick={() => reply(message)} />}
      {edit && <IconButton of={Pencil} label="Edit" onClick={() => (editing.value = message.id)} />}
      {mayRemove && !edit && <IconButton of={Trash2} label="Delete" onClick={(event) => remove(message, event)} />}
      <IconButton
        of={Ellipsis}
        label="More"
        aria-haspopup="menu"
        onClick={({ currentTarget }) => (openTool.value = { kind: 'menu', message, anchor: currentTarget })}
      />
    </div>
  );
}

function itemsOf(message: Message, context: ChannelContext, anchor: Element): MenuItem[] {
  const rights = rightsOn(message, context);
  const { id, channelId, content, pinned } = message;
  const link = (): string => new URL(pathOf(channelId, id), location.origin).href;
  const items: (MenuItem | false)[] = [
    rights.react && { label: 'React', icon: SmilePlus, run: () => (openTool.value = { kind: 'react', message, anchor }) },
    rights.reply && { label: 'Reply', icon: Reply, run: () => reply(message) },
    rights.edit && { label: 'Edit', icon: Pencil, run: () => (editing.value = id) },
    rights.thread && { label: 'Start a thread', icon: MessageSquarePlus, run: () => (openTool.value = { kind: 'thread', message }) },
    rights.pin && { label: pinned ? 'Unpin' : 'Pin', icon: pinned ? PinOff : Pin, run: () => togglePin(message) },
    rights.publish && { label: 'Publish to followers', icon: Megaphone, run: () => publishMessage(message) },
    content !== '' && { label: 'Copy text', icon: Copy, run: () => void copyText(content, 'the text') },
    !message.ephemeral && { label: 'Copy link', icon: Link, run: () => void copyText(link(), 'the link') },
    rights.remove && { label: 'Delete', icon: Trash2, danger: true, run: (event) => remove(message, event) },
  ];
  return items.filter((item) => item !== false);
}

/** The emoji picker for a reaction. Its code is loaded when it is first opened. */
function ReactionPicker({ message, anchor, onClose }: { message: Message; anchor: Element; onClose: () => void }): JSX.Element | null {
  const picker = useSignal<{ Picker: typeof EmojiPicker } | null>(null);
  useEffect(() => {
    void import('./emoji-picker.tsx').then((module) => {
      picker.value = { Picker: module.EmojiPicker };
    }, showError);
  }, []);
  if (!picker.value) return null;
  const { Picker } = picker.value;
  return (
    <Picker
      anchor={anchor}
      onClose={onClose}
      onPick={(emoji) => {
        onClose();
        setReaction(message, emoji, true);
      }}
    />
  );
}

/** Shows the picker, menu or dialog that is open for a message of this channel. Rendered once per list. */
export function OpenTools({ context }: { context: ChannelContext }): JSX.Element | null {
  const open = openTool.value;
  if (open?.message.channelId !== context.channelId) return null;
  const { message } = open;
  const close = (): void => {
    if (openTool.value === open) openTool.value = null;
  };
  switch (open.kind) {
    case 'react':
      return <ReactionPicker key={message.id} message={message} anchor={open.anchor} onClose={close} />;
    case 'menu':
      return (
        <Menu key="menu" anchor={open.anchor} label="Message actions" items={itemsOf(message, context, open.anchor)} onClose={close} />
      );
    case 'delete':
      return <DeleteDialog message={message} serverId={context.serverId} onClose={close} />;
    case 'thread':
      return <ThreadFromDialog message={message} serverId={context.serverId} onClose={close} />;
  }
}
