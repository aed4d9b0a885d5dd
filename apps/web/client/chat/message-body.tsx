import { useSignal } from '@preact/signals';
import { Megaphone, Pin } from 'lucide';
import type { JSX } from 'preact';
import type { Message } from '../../../../lib/contract/message.ts';
import { channels } from '../../state/servers.ts';
import { Icon } from '../../ui/icon.tsx';
import { momentOf } from '../../ui/times.ts';
import type { ChannelContext } from '../channel-context.ts';
import { Attachments } from './attachment.tsx';
import { EmbedCard } from './embed.tsx';
import { Markup } from './markup.tsx';

/** Returns the content mode of a channel; a thread uses the one of its parent channel. */
export function contentModeOf({ channel }: ChannelContext): 'default' | 'spoiler' | 'age_restricted' {
  const source = channel?.kind === 'thread' ? channels.value.get(channel.parentId ?? '') : channel;
  return source?.contentMode ?? 'default';
}

/** The content, files and embeds of a message. `covered` hides them until the user clicks. */
export function MessageBody({ message, serverId, covered }: { message: Message; serverId: string | null; covered: boolean }): JSX.Element {
  const open = useSignal(!covered);
  if (!open.value)
    return (
      <button type="button" class="body-cover" onClick={() => (open.value = true)}>
        Spoiler. Click to show.
      </button>
    );
  const { id, content, editedAt, attachments, embeds, pinned, crossposted } = message;
  const notes = editedAt !== null || pinned || crossposted;
  return (
    <div class="message-body" id={`message-body-${id}`}>
      {content !== '' && <Markup content={content} serverId={serverId} pingsEveryone={message.mentionEveryone} />}
      <Attachments list={attachments} />
      {embeds.map((embed, index) => (
        <EmbedCard key={index} embed={embed} serverId={serverId} />
      ))}
      {notes && (
        <p class="message-notes">
          {editedAt !== null && (
            <time title={`Edited ${momentOf(editedAt)}`} dateTime={editedAt}>
              (edited)
            </time>
          )}
          {pinned && (
            <span>
              <Icon of={Pin} size="1em" /> pinned
            </span>
          )}
          {crossposted && (
            <span>
              <Icon of={Megaphone} size="1em" /> published
            </span>
          )}
        </p>
      )}
    </div>
  );
}
