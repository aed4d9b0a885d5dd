import { useSignalEffect } from '@preact/signals';
import type { JSX, RefObject } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { refreshPins } from '../../state/histories.ts';
import { loadMembers } from '../../state/people.ts';
import { pinChanges } from '../../state/pins.ts';
import { reads } from '../../state/reads.ts';
import { myId } from '../../state/session.ts';
import { ErrorNotice } from '../../ui/error-notice.tsx';
import { Spinner } from '../../ui/loading.tsx';
import { type ChannelContext, pathOf } from '../channel-context.ts';
import { AgeGate, isAgeConfirmed } from './age-gate.tsx';
import { editing } from './composing.ts';
import { Announcer } from './list-announcer.tsx';
import { followPointer, moveFocus } from './list-keys.ts';
import { ListModel } from './list-model.ts';
import { JumpToNewestBar, MessageItem, SkippedBar, TopEdge } from './list-parts.tsx';
import { isPageActive } from './page-activity.ts';
import './message-list.css';
import { OpenTools } from './message-actions.tsx';
import { contentModeOf } from './message-body.tsx';
import { rowsOf } from './message-rows.ts';
import { openTool } from './message-tools.ts';
import { OutgoingView, PendingCommandView } from './pending-items.tsx';
import { rangeOf } from './slice.ts';
import { Viewport } from './viewport.ts';

/** How long a message that was jumped to stays highlighted, in milliseconds. */
const highlightMs = 3_000;

/**
 * The message list of a channel. Only the messages around the view are on the page; the others are in memory or on the server. `jumpTo` is the message to go
 * to.
 */
export function MessageList({ context, jumpTo }: { context: ChannelContext; jumpTo: string | undefined }): JSX.Element {
  const { channelId, serverId, channel, name, recipientId } = context;
  // Keep the same object while nothing in it changed, because rows are rendered again when their `context` is another object.
  const stableContext = useMemo(() => context, [channelId, serverId, channel, name, recipientId]);
  if (contentModeOf(stableContext) === 'age_restricted' && !isAgeConfirmed(channelId)) return <AgeGate context={stableContext} />;
  return <List key={channelId} context={stableContext} jumpTo={jumpTo} />;
}

/** Marks what is in view as read when the user returns to the page. The line "new" is set again first. */
function useMarkRead(model: ListModel, viewport: RefObject<Viewport | null>): void {
  const isReturning = useRef(false);
  useSignalEffect(() => {
    void reads.value;
    if (!isPageActive.value) {
      isReturning.current = true;
      model.resetSeen();
      return;
    }
    if (isReturning.current) model.updateReadMark();
    isReturning.current = false;
    viewport.current?.recordPositions();
  });
}

function List({ context, jumpTo }: { context: ChannelContext; jumpTo: string | undefined }): JSX.Element {
  const { channelId, serverId } = context;
  const box = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const viewport = useRef<Viewport>(null);
  const { route } = useLocation();
  const model = useMemo(() => new ListModel(channelId, jumpTo), []);

  useLayoutEffect(() => {
    if (!box.current || !content.current) return undefined;
    viewport.current = new Viewport(model, box.current);
    const cleanups = [
      viewport.current.attach(content.current),
      followPointer(box.current, (id, anchor) => {
        const message = model.frame.peek().messages.find((one) => one.id === id);
        if (message) openTool.value = { kind: 'menu', message, anchor };
      }),
    ];
    return () => cleanups.forEach((cleanup) => cleanup());
  }, []);
  useEffect(() => {
    if (serverId) loadMembers(serverId).catch(() => undefined);
    return model.start();
  }, []);
  const isFirstRender = useRef(true);
  useEffect(() => {
    if (jumpTo === undefined) return;
    if (!isFirstRender.current) void model.jump(jumpTo);
    // Remove the message from the URL, so that the same link works again.
    route(pathOf(channelId), true);
  }, [jumpTo]);
  useEffect(() => {
    isFirstRender.current = false;
  }, []);
  useLayoutEffect(() => viewport.current?.rendered());
  useMarkRead(model, viewport);

  const highlighted = model.highlighted.value;
  useEffect(() => {
    if (highlighted === null) return undefined;
    const timer = setTimeout(() => (model.highlighted.value = null), highlightMs);
    return () => clearTimeout(timer);
  }, [highlighted]);
  const pins = pinChanges.value.get(channelId);
  useEffect(() => {
    if (pins !== undefined) void refreshPins(channelId);
  }, [pins]);
  useSignalEffect(() => {
    const id = editing.value;
    const { messages } = model.frame.peek();
    if (id !== null && messages.some((one) => one.id === id) && !document.getElementById(`message-${id}`)) void model.jump(id);
  });

  const { messages, hasOlder, hasNewer, status, outgoing, commands } = model.frame.value;
  const { from, to } = rangeOf(messages, model.slice.value);
  const atEnd = to === messages.length && !hasNewer;
  const failed = model.failed.value;
  const isEmpty = messages.length === 0;
  const onKey = (event: KeyboardEvent): void => {
    const target = event.target as Element;
    if (event.altKey || event.ctrlKey || event.metaKey || !box.current) return;
    if (target !== box.current && !target.matches('article')) return;
    if (event.key === 'ArrowUp' || event.key === 'ArrowDown') {
      event.preventDefault();
      if (event.key === 'ArrowUp') model.stopFollowing();
      moveFocus(box.current, event.key === 'ArrowUp' ? -1 : 1);
    } else if (event.key === 'End') {
      event.preventDefault();
      void model.passToNewest();
    } else if (event.key === 'Home') {
      event.preventDefault();
      model.toOldest();
    }
  };
  return (
    <div class="message-list">
      <SkippedBar model={model} />
      <div class="message-scroll" ref={box} role="group" aria-label={`Messages in ${context.name}`} tabIndex={0} onKeyDown={onKey}>
        <div class="message-rows" ref={content}>
          {(!isEmpty || status === 'ready') && (
            <TopEdge
              hasOlder={hasOlder || from > 0}
              failed={failed?.edge === 'older' ? failed.error : null}
              retry={() => void model.loadMore('older', true)}
              context={context}
            />
          )}
          {isEmpty && status === 'loading' && <Spinner />}
          {isEmpty && typeof status === 'object' && <ErrorNotice error={status} retry={() => void model.toNewest()} />}
          {rowsOf(messages, from, to, hasOlder, model.readTo.value, myId()).map(({ message, grouped, day, fresh }) => (
            <MessageItem key={message.id} {...{ message, grouped, day, fresh, context }} isHighlighted={highlighted === message.id} />
          ))}
          {failed?.edge === 'newer' && !isEmpty && <ErrorNotice error={failed.error} retry={() => void model.loadMore('newer', true)} />}
          {atEnd && outgoing.map((one) => <OutgoingView key={one.key} message={one} serverId={serverId} />)}
          {atEnd && commands.map((one) => <PendingCommandView key={one.id} pending={one} />)}
        </div>
      </div>
      <JumpToNewestBar model={model} />
      <Announcer messages={messages} live={!hasNewer && status === 'ready'} serverId={serverId} />
      <OpenTools context={context} />
    </div>
  );
}
