import { computed, useComputed } from '@preact/signals';
import { Eye, MessagesSquare } from 'lucide';
import type { JSX } from 'preact';
import type { Message } from '../../../../lib/contract/message.ts';
import { mentionsMe } from '../../state/dispatch.ts';
import { removeMessage } from '../../state/histories.ts';
import { may } from '../../state/rights.ts';
import { channels } from '../../state/servers.ts';
import { myId } from '../../state/session.ts';
import { Avatar } from '../../ui/avatar.tsx';
import { countOf } from '../../ui/counts.ts';
import { Icon } from '../../ui/icon.tsx';
import { clockOf, momentOf } from '../../ui/times.ts';
import { type ChannelContext, pathOf } from '../channel-context.ts';
import { openProfile } from '../people/open-profile.ts';
import { editing } from './composing.ts';
import './message.css';
import { MessageToolbar } from './message-actions.tsx';
import { contentModeOf, MessageBody } from './message-body.tsx';
import { MessageEdit } from './message-edit.tsx';
import { AuthorLine, CommandLine, Moment, ReplyLine } from './message-head.tsx';
import { activeMessage } from './message-tools.ts';
import { Reactions } from './reactions.tsx';

/** The threads by the id of the message that they started from. */
const threadsByStarter = computed(
  () => new Map([...channels.value.values()].flatMap((one) => (one.threadStarterId ? [[one.threadStarterId, one] as const] : []))),
);

/** The link to the thread that started from a message, if it is not archived. */
function ThreadLink({ messageId }: { messageId: string }): JSX.Element | null {
  const thread = useComputed(() => threadsByStarter.value.get(messageId));
  if (!thread.value) return null;
  const { id, name, messageCount } = thread.value;
  return (
    <a class="thread-link" href={pathOf(id)}>
      <Icon of={MessagesSquare} size="1em" /> <bdi>{name}</bdi>
      {messageCount !== null && <span class="hint">{countOf(messageCount, 'message')}</span>}
    </a>
  );
}

/** The note on an ephemeral message. It is not stored: only this user has it, until it is dismissed or the page is closed. */
function EphemeralNote({ message: { id, channelId } }: { message: Message }): JSX.Element {
  return (
    <p class="ephemeral-note hint">
      <Icon of={Eye} size="1em" /> Only you can see this.
      <button type="button" class="link-button" onClick={() => removeMessage(channelId, id)}>
        Dismiss
      </button>
    </p>
  );
}

/**
 * One message. `grouped`: it belongs to the group of the message above. `marked`: it was jumped to and is highlighted. `plain`: without tools, as in the list
 * of pins.
 */
export function MessageView({
  message,
  context,
  grouped = false,
  isHighlighted = false,
  plain = false,
}: {
  message: Message;
  context: ChannelContext;
  grouped?: boolean;
  isHighlighted?: boolean;
  plain?: boolean;
}): JSX.Element {
  const { id, author, createdAt } = message;
  const { serverId } = context;
  // Each row subscribes only to whether it is the active one, so that the other rows are not rendered again.
  const active = useComputed(() => activeMessage.value === id);
  const isEdited = useComputed(() => editing.value === id);
  const isActive = active.value && !plain;
  const mine = author.id === myId();
  const isMention = !mine && mentionsMe({ ...message, serverId });
  const covered = contentModeOf(context) === 'spoiler' && !mine;
  const classes = ['message', grouped && 'grouped', isMention && 'for-me', isHighlighted && 'marked', message.ephemeral && 'ephemeral'];
  const tabIndex = isActive ? 0 : -1;
  return (
    <article
      class={classes.filter(Boolean).join(' ')}
      id={plain ? undefined : `message-${id}`}
      tabIndex={-1}
      aria-label={`${author.displayName}, ${momentOf(createdAt)}`}
      aria-describedby={plain ? undefined : `message-body-${id}`}
    >
      <ReplyLine message={message} serverId={serverId} covered={covered} />
      <CommandLine message={message} serverId={serverId} />
      {grouped ? (
        <Moment at={createdAt} text={clockOf(createdAt)} />
      ) : (
        <button type="button" class="message-avatar" tabIndex={-1} aria-hidden="true" onClick={() => openProfile(author.id, serverId)}>
          <Avatar id={author.id} name={author.displayName} url={author.avatarUrl} />
        </button>
      )}
      <div class="message-main">
        {!grouped && <AuthorLine message={message} serverId={serverId} tabIndex={tabIndex} />}
        {isEdited.value && !plain ? (
          <MessageEdit message={message} context={context} />
        ) : (
          <MessageBody message={message} serverId={serverId} covered={covered} />
        )}
        <Reactions message={message} mayAdd={!message.ephemeral && may('Add Reactions', serverId, context.channel)} />
        <ThreadLink messageId={id} />
        {message.ephemeral && <EphemeralNote message={message} />}
      </div>
      {isActive && !isEdited.value && <MessageToolbar message={message} context={context} />}
    </article>
  );
}
