import { batch, effect, type Signal, signal, untracked } from '@preact/signals';
import type { Message } from '../../../../lib/contract/message.ts';
import { type ApiError, asApiError } from '../../api/call.ts';
import { historyOf, isMarkLoaded, loadAround, loadAroundMark, loadNewer, loadNewest, loadOlder } from '../../state/histories.ts';
import { lastSent, type Outgoing, outgoing } from '../../state/outgoing.ts';
import { type PendingCommand, pendingCommands } from '../../state/pending-commands.ts';
import { isUnread, markRead, unreadAfter, unreadMentions } from '../../state/reads.ts';
import { myId } from '../../state/session.ts';
import { showError } from '../../ui/toast.tsx';
import { firstUnreadOf } from './message-rows.ts';
import { isPageActive } from './page-activity.ts';
import { extendUp, indexAfter, indexFrom, newestSlice, rangeOf, type Slice, sliceAround } from './slice.ts';

/** What the list shows, updated at most once per frame. */
export interface ListFrame {
  messages: readonly Message[];
  hasOlder: boolean;
  hasNewer: boolean;
  status: 'loading' | 'ready' | ApiError;
  outgoing: readonly Outgoing[];
  commands: readonly PendingCommand[];
  /** The last message or command that the user sent here; null when there is none. */
  sent: object | null;
}

/** The message to scroll to at the next rendering, and whether it goes to the middle or the top of the view. */
export interface ScrollTarget {
  id: string;
  to: 'middle' | 'top';
}

/** The minimum interval between two renderings, in milliseconds: the first message is rendered at once, a burst ten times a second. */
const renderIntervalMs = 100;
/** The maximum number of new messages that are rendered at once. After a pause, the page renders the missed messages in several steps. */
const maxNewPerRender = 25;
/** The number of messages on the page at first. */
const initialCount = 60;

/**
 * The state of the message list of one channel: which loaded messages are on the page, which edge is loading, and where it jumps to. Changes are collected
 * per frame, so that a burst of events causes few renderings.
 */
export class ListModel {
  readonly channelId: string;
  readonly frame: Signal<ListFrame>;
  readonly slice = signal<Slice>({ first: '', last: null });
  /** The read mark when the channel was opened. The line "new" is shown below it. */
  readonly readTo = signal<string | null>(null);
  /** The newest message when the user left the end of the list. Newer messages count as new. */
  readonly leftAt = signal<string | null>(null);
  /** The message that was jumped to, while it is highlighted. */
  readonly highlighted = signal<string | null>(null);
  /** The first message that came into view, while there are unread messages before it that the user has not seen, because the list jumped past them. */
  readonly skippedBefore = signal<string | null>(null);
  /** The edge that is loading, and the edge whose loading failed. */
  readonly busy = signal<'older' | 'newer' | null>(null);
  readonly failed = signal<{ edge: 'older' | 'newer'; error: ApiError } | null>(null);
  scrollTarget: ScrollTarget | null = null;
  /** What to show as soon as it is loaded: the message with this id, the first unread one for `unread`, or the newest one for `newest`. */
  private targetId: string | null = null;
  private isOpened = false;
  /** The messages that came into view since the last jump, without gaps. */
  private seen: { from: string; to: string } | null = null;
  /** Whether the user chose to go to the newest message, past those that are not shown. */
  private isPassingOver = false;

  /** `messageId` is the message to begin at; without it the read mark decides. */
  constructor(channelId: string, messageId: string | undefined) {
    this.channelId = channelId;
    const isAtMark = untracked(() => !isUnread(channelId) || isMarkLoaded(historyOf(channelId), unreadAfter(channelId)));
    this.targetId = messageId ?? (isAtMark ? null : 'unread');
    this.frame = signal(untracked(() => this.currentFrame()));
    untracked(() => {
      this.updateReadMark();
      this.apply(this.frame.value);
    });
  }

  private currentFrame(): ListFrame {
    const history = historyOf(this.channelId);
    return {
      messages: history.messages.value,
      hasOlder: history.hasOlder.value,
      hasNewer: history.hasNewer.value,
      status: history.status.value,
      outgoing: outgoing.value.filter((one) => one.channelId === this.channelId),
      commands: pendingCommands.value.filter((one) => one.channelId === this.channelId),
      sent: lastSent.value?.channelId === this.channelId ? lastSent.value : null,
    };
  }

  /** Begins to follow the channel and loads what is missing. Returns a function that stops it. */
  start(): () => void {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let frame = 0;
    let renderedAt = 0;
    const render = (): void => {
      timer = undefined;
      renderedAt = performance.now();
      const now = this.currentFrame();
      const next = this.limitNew(now);
      this.apply(next);
      if (next !== now) frame = requestAnimationFrame(render);
    };
    const stop = effect(() => {
      this.currentFrame();
      timer ??= setTimeout(() => (frame = requestAnimationFrame(render)), Math.max(0, renderedAt + renderIntervalMs - performance.now()));
    });
    if (this.targetId === 'unread') void this.toUnread();
    else if (this.targetId !== null && this.targetId !== 'newest') void this.jump(this.targetId);
    else if (this.frame.value.status !== 'ready' || (this.frame.value.hasNewer && this.readTo.value === null)) void this.toNewest();
    return () => {
      stop();
      clearTimeout(timer);
      cancelAnimationFrame(frame);
    };
  }

  /** Moves the line "new" to the current read mark; removes it when everything is read. */
  updateReadMark(): void {
    this.readTo.value = isUnread(this.channelId) ? unreadAfter(this.channelId) : null;
  }

  private firstUnread(readTo = this.readTo.peek()): Message | undefined {
    const { messages, hasOlder } = this.frame.peek();
    return firstUnreadOf(messages, hasOlder, readTo, myId());
  }

  /** Forgets what came into view, because the list jumps or the user does not look at the page. */
  resetSeen(): void {
    this.seen = null;
  }

  /**
   * Records the first and last message in view. The channel is marked as read up to the last one if the user has seen all unread messages before it, or chose
   * to go to the newest message and is not mentioned in those between.
   */
  noteInView(first: string, last: string): void {
    const { messages, status, hasNewer } = this.frame.peek();
    if (!isPageActive.peek() || this.targetId !== null || this.scrollTarget !== null || status !== 'ready') return;
    const { from, to } = this.seen ?? { from: first, to: last };
    this.seen = { from: first < from ? first : from, to: last > to ? last : to };
    const readTo = unreadAfter(this.channelId);
    const seen = this.seen;
    const isPassedOver = this.isPassingOver && !unreadMentions(this.channelId).some((id) => id < seen.from);
    const isComplete = seen.from <= (this.firstUnread(readTo)?.id ?? readTo) || isPassedOver;
    this.skippedBefore.value = isUnread(this.channelId) && !isComplete ? seen.from : null;
    if (!isComplete) return;
    this.isPassingOver = false;
    const newest = historyOf(this.channelId).messages.peek().at(-1)?.id ?? '';
    // The newest message may be deleted, and the mark then goes beyond the messages that are left.
    if (!hasNewer && seen.to >= newest && messages.at(-1)?.id === newest) markRead(this.channelId);
    else markRead(this.channelId, seen.to);
  }

  /** Marks the channel as read although not everything was in view. */
  markAllRead(): void {
    this.skippedBefore.value = null;
    markRead(this.channelId);
  }

  /** Returns what is rendered next: everything, or only the first part when very many messages arrived at once. */
  private limitNew(next: ListFrame): ListFrame {
    const lastRendered = this.frame.peek().messages.at(-1);
    if (!lastRendered || this.slice.peek().last !== null || this.targetId !== null) return next;
    const upTo = indexAfter(next.messages, lastRendered.id) + maxNewPerRender;
    if (upTo >= next.messages.length) return next;
    this.resetSeen();
    return { ...next, messages: next.messages.slice(0, upTo) };
  }

  private apply(next: ListFrame): void {
    const { messages: before, sent } = this.frame.peek();
    if (this.readTo.peek() === null && this.slice.peek().last !== null) this.updateReadMark();
    const hasSent = next.sent !== null && next.sent !== sent;
    batch(() => {
      this.frame.value = next;
      const { messages, status } = next;
      if (status === 'ready' && !next.hasNewer && this.failed.peek()?.edge === 'newer') this.failed.value = null;
      if (status === 'loading' || !messages.length) return;
      const { from, to } = rangeOf(messages, this.slice.peek());
      const isShown =
        this.targetId !== null && this.targetId !== 'newest' && this.targetId !== 'unread' && this.show(this.targetId, 'middle');
      if (!isShown && (!this.isOpened || this.isUnreadLoaded())) this.openAtUnread();
      else if (!isShown && (this.targetId === 'newest' || from >= to)) this.showNewest();
      this.isOpened = true;
      // Older messages that were just loaded are put on the page in the same rendering. The message below them may then join their group, which changes its
      // height.
      if (rangeOf(before, this.slice.peek()).from === 0 && indexFrom(messages, before[0]?.id ?? '') > 0)
        this.slice.value = extendUp(messages, this.slice.peek(), maxNewPerRender, messages.length);
    });
    // A user who sends a message is moved to the end of the list.
    if (hasSent) void this.toNewest();
  }

  private isUnreadLoaded(): boolean {
    return this.targetId === 'unread' && isMarkLoaded(historyOf(this.channelId), this.readTo.peek() ?? '');
  }

  /** Chooses where a channel opens: at the first unread message when it is loaded, otherwise at the newest. */
  private openAtUnread(): void {
    const isLoaded = this.isUnreadLoaded();
    const unread = this.firstUnread();
    this.showNewest();
    if (unread) this.show(unread.id, 'top');
    if (isLoaded) this.targetId = null;
  }

  /** Shows the newest loaded messages and follows new ones. */
  private showNewest(): void {
    if (this.targetId === 'newest') this.targetId = null;
    this.scrollTarget = null;
    this.resetSeen();
    this.leftAt.value = null;
    this.slice.value = newestSlice(this.frame.peek().messages, initialCount);
  }

  /** Scrolls to a message; returns false when it is not loaded. */
  private show(id: string, to: ScrollTarget['to']): boolean {
    const { messages } = this.frame.peek();
    if (messages[indexFrom(messages, id)]?.id !== id) return false;
    if (this.targetId === id) this.targetId = null;
    this.stopFollowing();
    this.slice.value = sliceAround(messages, id, initialCount);
    this.scrollTarget = { id, to };
    if (to === 'middle') this.highlighted.value = id;
    this.resetSeen();
    return true;
  }

  /** Records that the user no longer follows the newest message. New messages are then counted and not shown. */
  stopFollowing(): void {
    const { messages } = this.frame.peek();
    if (this.leftAt.peek() === null) this.leftAt.value = messages.at(-1)?.id ?? '';
    if (this.slice.peek().last === null) this.slice.value = { ...this.slice.peek(), last: messages.at(-1)?.id ?? '' };
  }

  /** Records that the user reached the end and follows new messages from now on. */
  followNewest(): void {
    this.leftAt.value = null;
    this.slice.value = { ...this.slice.peek(), last: null };
  }

  /** Jumps to a message, loaded or not, and highlights it. Shows the error when it cannot be loaded. */
  async jump(id: string): Promise<void> {
    this.isPassingOver = false;
    this.targetId = id;
    try {
      await loadAround(this.channelId, id);
      if (this.targetId === id) this.apply(this.currentFrame());
    } catch (fault) {
      this.targetId = null;
      showError(fault);
      if (historyOf(this.channelId).messages.peek().length === 0) void this.toNewest();
    }
  }

  /** Goes to the first unread message, and loads it if needed. */
  async toUnread(): Promise<void> {
    this.isPassingOver = false;
    this.updateReadMark();
    if (this.readTo.peek() === null) return this.toNewest();
    this.targetId = 'unread';
    try {
      await loadAroundMark(this.channelId, this.readTo.peek() ?? '');
      if (this.targetId !== 'unread') return;
      this.apply(this.currentFrame());
      // All unread messages may be deleted, or the user's own.
      if (this.scrollTarget === null && this.frame.peek().hasNewer) await this.toNewest();
    } catch (fault) {
      this.targetId = null;
      this.failed.value = { edge: 'newer', error: asApiError(fault) };
    }
  }

  /** Goes to the newest message, as the user chose, past unread messages that are not shown. */
  passToNewest(): Promise<void> {
    this.isPassingOver = true;
    return this.toNewest();
  }

  /** Goes to the newest message, and loads it if needed. */
  async toNewest(): Promise<void> {
    this.targetId = 'newest';
    try {
      if (this.frame.peek().status !== 'ready' || this.frame.peek().hasNewer) await loadNewest(this.channelId);
      this.failed.value = null;
      this.apply(this.currentFrame());
    } catch (fault) {
      this.failed.value = { edge: 'newer', error: asApiError(fault) };
    }
  }

  /** Goes to the oldest loaded message. */
  toOldest(): void {
    const [oldest] = this.frame.peek().messages;
    if (oldest) batch(() => this.show(oldest.id, 'top'));
  }

  /** Loads the next page at an edge. Does nothing while a page is loading; after a failure it loads only with `retry`. */
  async loadMore(edge: 'older' | 'newer', retry = false): Promise<void> {
    if (this.busy.peek() !== null || this.frame.peek().status === 'loading') return;
    if (this.failed.peek()?.edge === edge && !retry) return;
    this.busy.value = edge;
    this.failed.value = null;
    try {
      await (edge === 'older' ? loadOlder : loadNewer)(this.channelId);
    } catch (fault) {
      this.failed.value = { edge, error: asApiError(fault) };
    } finally {
      this.busy.value = null;
    }
  }
}
