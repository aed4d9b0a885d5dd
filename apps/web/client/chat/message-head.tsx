import { CornerUpRight } from 'lucide';
import type { JSX } from 'preact';
import type { Message } from '../../../../lib/contract/message.ts';
import { Icon } from '../../ui/icon.tsx';
import { momentOf, shortMomentOf } from '../../ui/times.ts';
import { pathOf } from '../channel-context.ts';
import { plainText } from './markup-text.ts';
import { Name, TagMark } from './name.tsx';

/** The time of a message; its tooltip shows the full date and time. */
export function Moment({ at, text }: { at: string; text?: string }): JSX.Element {
  return (
    <time class="moment" dateTime={at} title={momentOf(at)}>
      {text ?? shortMomentOf(at)}
    </time>
  );
}

/**
 * The message that this one replies to, in its current version and with a link to it, or a note that it is deleted. `covered`: the channel's posts are hidden
 * until clicked.
 */
export function ReplyLine({
  message: { reply, replyDeleted, channelId },
  serverId,
  covered,
}: {
  message: Message;
  serverId: string | null;
  covered: boolean;
}): JSX.Element | null {
  if (replyDeleted)
    return (
      <p class="reply-line">
        <Icon of={CornerUpRight} size="1em" /> <em>The original message was deleted.</em>
      </p>
    );
  if (!reply) return null;
  const text = covered ? '(spoiler)' : plainText(reply.content, serverId);
  return (
    <p class="reply-line">
      <Icon of={CornerUpRight} size="1em" />
      <a href={pathOf(channelId, reply.id)} title="Jump to original message">
        <strong>
          <bdi>{reply.author.displayName}</bdi>
        </strong>{' '}
        <bdi>{text || (reply.hasAttachments ? 'attachment' : 'embed')}</bdi>
        {text && reply.hasAttachments ? ' (with attachments)' : ''}
      </a>
    </p>
  );
}

/** Who used which command, shown above the response of a bot. */
export function CommandLine({ message: { interaction }, serverId }: { message: Message; serverId: string | null }): JSX.Element | null {
  if (!interaction) return null;
  return (
    <p class="reply-line">
      <Icon of={CornerUpRight} size="1em" />
      <span>
        <Name account={interaction.user} serverId={serverId} tabIndex={-1} /> used <strong>/{interaction.name}</strong>
      </span>
    </p>
  );
}

/** The author and time of a message. */
export function AuthorLine({
  message: { author, createdAt },
  serverId,
  tabIndex,
}: {
  message: Message;
  serverId: string | null;
  tabIndex: number;
}): JSX.Element {
  return (
    <p class="author-line">
      <Name account={author} serverId={serverId} tabIndex={tabIndex} />
      <TagMark tag={author.tag} />
      <Moment at={createdAt} />
    </p>
  );
}
