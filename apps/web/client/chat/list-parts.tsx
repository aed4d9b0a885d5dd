import { useComputed } from '@preact/signals';
import { ArrowDown, ArrowUp } from 'lucide';
import type { JSX } from 'preact';
import type { ApiError } from '../../api/call.ts';
import { unreadMentions } from '../../state/reads.ts';
import { myId } from '../../state/session.ts';
import { Button } from '../../ui/button.tsx';
import { countOf } from '../../ui/counts.ts';
import { ErrorNotice } from '../../ui/error-notice.tsx';
import { Icon } from '../../ui/icon.tsx';
import { dateOf } from '../../ui/times.ts';
import type { ChannelContext } from '../channel-context.ts';
import type { ListModel } from './list-model.ts';
import { MessageView } from './message.tsx';
import type { MessageRow } from './message-rows.ts';
import { indexAfter } from './slice.ts';

/**
 * The element above the first message on the page: it says that older messages are loading, or that the history begins here. It is always rendered, because
 * its height leaves room to scroll while older messages load.
 */
export function TopEdge({
  hasOlder,
  failed,
  retry,
  context,
}: {
  hasOlder: boolean;
  failed: ApiError | null;
  retry: () => void;
  context: ChannelContext;
}): JSX.Element {
  if (failed) return <ErrorNotice error={failed} retry={retry} />;
  if (hasOlder) return <p class="list-edge soft">Loading older messages…</p>;
  return (
    <div class="list-start">
      <h2>
        <bdi>{context.name}</bdi>
      </h2>
      <p class="soft">
        This is the beginning of{' '}
        {context.serverId === null ? 'your conversation' : context.channel?.kind === 'thread' ? 'this thread' : 'this channel'}.
      </p>
    </div>
  );
}

/** A message with the lines above it: the date and the line "new". */
export function MessageItem({
  message,
  grouped,
  day,
  fresh,
  context,
  isHighlighted,
}: MessageRow & { context: ChannelContext; isHighlighted: boolean }): JSX.Element {
  return (
    <>
      {day !== undefined && (
        <p class="day-line">
          <span>{dateOf(day)}</span>
        </p>
      )}
      {fresh && (
        <p class="new-line">
          <span>New</span>
        </p>
      )}
      <MessageView message={message} context={context} grouped={grouped} isHighlighted={isHighlighted} />
    </>
  );
}

/** Says that there are unread messages above the view that the user has not seen, and offers to go to them or to mark them as read. */
export function SkippedBar({ model }: { model: ListModel }): JSX.Element | null {
  const before = model.skippedBefore.value;
  if (before === null) return null;
  const mentions = unreadMentions(model.channelId).filter((id) => id < before).length;
  return (
    <div class="skipped-bar" role="status">
      <span>{mentions > 0 ? `${countOf(mentions, 'unread mention')} above` : 'Unread messages above'}</span>
      <Button onClick={() => void model.toUnread()}>
        <Icon of={ArrowUp} /> Jump to first unread
      </Button>
      <Button variant="quiet" onClick={() => model.markAllRead()}>
        Mark as read
      </Button>
    </div>
  );
}

/** The button that jumps to the newest message, shown while the user looks at older ones, with the number of messages that arrived meanwhile. */
export function JumpToNewestBar({ model }: { model: ListModel }): JSX.Element | null {
  const shown = useComputed(() => {
    const { messages, hasNewer } = model.frame.value;
    const { last } = model.slice.value;
    if (last === null || !messages.length) return null;
    if (hasNewer) return 'You’re viewing older messages';
    const later = messages.slice(indexAfter(messages, model.leftAt.value ?? ''));
    const count = later.filter(({ author }) => author.id !== myId()).length;
    if (count > 0) return countOf(count, 'new message');
    return '';
  });
  if (shown.value === null) return null;
  return (
    <div class="down-bar">
      {shown.value !== '' && <span role="status">{shown.value}</span>}
      <Button onClick={() => void model.passToNewest()}>
        <Icon of={ArrowDown} /> Jump to newest
      </Button>
    </div>
  );
}
