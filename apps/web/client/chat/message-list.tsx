import { useSignalEffect } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { refreshPins } from '../../state/histories.ts';
import { loadMembers } from '../../state/people.ts';
import { pinChanges } from '../../state/pins.ts';
import { markRead, reads } from '../../state/reads.ts';
import { Problem } from '../../ui/problem.tsx';
import { type Place, pathOf } from '../place.ts';
import { AgeGate, isEntered } from './age-gate.tsx';
import { attended } from './attention.ts';
import { editing } from './composing.ts';
import { Announcer } from './list-announcer.tsx';
import { followPointer, moveFocus } from './list-keys.ts';
import { ListModel } from './list-model.ts';
import { DownBar, MessageItem, TopEdge } from './list-parts.tsx';
import './message-list.css';
import { OpenTools } from './message-actions.tsx';
import { contentModeOf } from './message-body.tsx';
import { rowsOf } from './message-rows.ts';
import { OutgoingView, UseView } from './message-slots.tsx';
import { openTool } from './message-tools.ts';
import { rangeOf } from './slice.ts';
import { Viewport } from './viewport.ts';

/** How long a message that was jumped to stays highlighted, in milliseconds. */
const markedMs = 3_000;

/**
 * The message list of a channel. Only the messages around the view are on the page; the others are in memory or on the server. `jumpTo` is the message to go
 * to.
 */
export function MessageList({ place, jumpTo }: { place: Place; jumpTo: string | undefined }): JSX.Element {
  const { channelId, serverId, channel, name, recipientId } = place;
  // Keep the same object while nothing in it changed, because rows are rendered again when their `place` is another object.
  const same = useMemo(() => place, [channelId, serverId, channel, name, recipientId]);
  if (contentModeOf(same) === 'age_restricted' && !isEntered(channelId)) return <AgeGate place={same} />;
  return <List key={channelId} place={same} jumpTo={jumpTo} />;
}

/**
 * Marks the channel as read while the user follows its newest messages and looks at the page. When the user returns to the page, the line "new" is set again.
 */
function useReading(model: ListModel): void {
  const wasAway = useRef(false);
  useSignalEffect(() => {
    const { status, hasNewer } = model.frame.value;
    const follows = model.slice.value.last === null && status === 'ready' && !hasNewer;
    void reads.value;
    if (!attended.value) {
      wasAway.current = true;
      return;
    }
    if (wasAway.current) model.noteReadMark();
    wasAway.current = false;
    if (follows) markRead(model.channelId);
  });
}

function List({ place, jumpTo }: { place: Place; jumpTo: string | undefined }): JSX.Element {
  const { channelId, serverId } = place;
  const box = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const viewport = useRef<Viewport>(null);
  const { route } = useLocation();
  const model = useMemo(() => new ListModel(channelId, jumpTo), []);

  useLayoutEffect(() => {
    if (!box.current || !content.current) return undefined;
    viewport.current = new Viewport(model, box.current);
    const ends = [
      viewport.current.attach(content.current),
      followPointer(box.current, (id, anchor) => {
        const message = model.frame.peek().messages.find((one) => one.id === id);
        if (message) openTool.value = { kind: 'menu', message, anchor };
      }),
    ];
    return () => ends.forEach((end) => end());
  }, []);
  useEffect(() => {
    if (serverId) loadMembers(serverId).catch(() => undefined);
    return model.start();
  }, []);
  const first = useRef(true);
  useEffect(() => {
    if (jumpTo === undefined) return;
    if (!first.current) void model.jump(jumpTo);
    // Remove the message from the URL, so that the same link works again.
    route(pathOf(channelId), true);
  }, [jumpTo]);
  useEffect(() => {
    first.current = false;
  }, []);
  useLayoutEffect(() => viewport.current?.drawn());
  useReading(model);

  const marked = model.marked.value;
  useEffect(() => {
    if (marked === null) return undefined;
    const timer = setTimeout(() => (model.marked.value = null), markedMs);
    return () => clearTimeout(timer);
  }, [marked]);
  const pins = pinChanges.value.get(channelId);
  useEffect(() => {
    if (pins !== undefined) void refreshPins(channelId);
  }, [pins]);
  useSignalEffect(() => {
    const id = editing.value;
    const { messages } = model.frame.peek();
    if (id !== null && messages.some((one) => one.id === id) && !document.getElementById(`message-${id}`)) void model.jump(id);
  });

  const { messages, hasOlder, hasNewer, status, outgoing, uses } = model.frame.value;
  const { from, to } = rangeOf(messages, model.slice.value);
  const atEnd = to === messages.length && !hasNewer;
  const failed = model.failed.value;
  const empty = messages.length === 0;
  const onKey = (event: KeyboardEvent): void => {
    const target = event.target as Element;
    if (event.altKey || event.ctrlKey || event.metaKey || !box.current) return;
    if (target !== box.current && !target.matches('article')) return;
    if (event.key === 'ArrowUp' || event.key === 'ArrowDown') {
      event.preventDefault();
      if (event.key === 'ArrowUp') model.leave();
      moveFocus(box.current, event.key === 'ArrowUp' ? -1 : 1);
    } else if (event.key === 'End') {
      event.preventDefault();
      void model.toNewest();
    } else if (event.key === 'Home') {
      event.preventDefault();
      model.toOldest();
    }
  };
  return (
    <div class="message-list">
      <div class="message-scroll" ref={box} role="group" aria-label={`Messages of ${place.name}`} tabIndex={0} onKeyDown={onKey}>
        <div class="message-rows" ref={content}>
          {(!empty || status === 'ready') && (
            <TopEdge
              older={hasOlder || from > 0}
              failed={failed?.edge === 'older' ? failed.error : null}
              again={() => void model.readOn('older', true)}
              place={place}
            />
          )}
          {empty && status === 'loading' && <p class="spinner">Loading …</p>}
          {empty && typeof status === 'object' && <Problem error={status} again={() => void model.toNewest()} />}
          {rowsOf(messages, from, to, hasOlder, model.readTo.value).map(({ message, grouped, day, fresh }) => (
            <MessageItem key={message.id} {...{ message, grouped, day, fresh, place }} marked={marked === message.id} />
          ))}
          {failed?.edge === 'newer' && !empty && <Problem error={failed.error} again={() => void model.readOn('newer', true)} />}
          {atEnd && outgoing.map((one) => <OutgoingView key={one.key} one={one} serverId={serverId} />)}
          {atEnd && uses.map((one) => <UseView key={one.id} use={one} />)}
        </div>
      </div>
      <DownBar model={model} />
      <Announcer messages={messages} live={!hasNewer && status === 'ready'} serverId={serverId} />
      <OpenTools place={place} />
    </div>
  );
}
