import { batch, effect, type Signal, signal, untracked } from '@preact/signals';
import type { Message } from '../../../../lib/contract/message.ts';
import { type ApiError, asApiError } from '../../api/call.ts';
import { historyOf, loadAround, loadNewer, loadNewest, loadOlder } from '../../state/histories.ts';
import { type Outgoing, outgoing } from '../../state/outgoing.ts';
import { type PendingCommand, pendingCommands } from '../../state/pending-commands.ts';
import { isUnread, reads } from '../../state/reads.ts';
import { showError } from '../../ui/toast.tsx';
import { extendUp, indexAfter, indexFrom, newestSlice, rangeOf, type Slice, sliceAround } from './slice.ts';

/** What the list shows, updated at most once per frame. */
export interface ListFrame {
  messages: readonly Message[];
  hasOlder: boolean;
  hasNewer: boolean;
  status: 'loading' | 'ready' | ApiError;
  outgoing: readonly Outgoing[];
  commands: readonly PendingCommand[];
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
  /** The edge that is loading, and the edge whose loading failed. */
  readonly busy = signal<'older' | 'newer' | null>(null);
  readonly failed = signal<{ edge: 'older' | 'newer'; error: ApiError } | null>(null);
  scrollTarget: ScrollTarget | null = null;
  /** The id of the message to show as soon as it is loaded, or `newest`. */
  private targetId: string | null = null;
  private isOpened = false;

  /** `messageId` is the message to begin at; without it the read mark decides. */
  constructor(channelId: string, messageId: string | undefined) {
    this.channelId = channelId;
    this.targetId = messageId ?? null;
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
    if (this.targetId !== null && this.targetId !== 'newest') void this.jump(this.targetId);
    else if (this.frame.value.status !== 'ready' || this.frame.value.hasNewer) void this.toNewest();
    return () => {
      stop();
      clearTimeout(timer);
      cancelAnimationFrame(frame);
    };
  }

  /** Moves the line "new" to the current read mark; removes it when everything is read. */
  updateReadMark(): void {
    this.readTo.value = isUnread(this.channelId) ? (reads.peek().get(this.channelId)?.readMessageId ?? null) : null;
  }

  /** Returns what is rendered next: everything, or only the first part when very many messages arrived at once. */
  private limitNew(next: ListFrame): ListFrame {
    const lastRendered = this.frame.peek().messages.at(-1);
    if (!lastRendered || this.slice.peek().last !== null || this.targetId !== null) return next;
    const upTo = indexAfter(next.messages, lastRendered.id) + maxNewPerRender;
    return upTo < next.messages.length ? { ...next, messages: next.messages.slice(0, upTo) } : next;
  }

  private apply(next: ListFrame): void {
    const hasSent = next.outgoing.length > this.frame.peek().outgoing.length || next.commands.length > this.frame.peek().commands.length;
    const { messages: before } = this.frame.peek();
    batch(() => {
      this.frame.value = next;
      const { messages, status } = next;
      if (status === 'ready' && !next.hasNewer && this.failed.peek()?.edge === 'newer') this.failed.value = null;
      if (status === 'loading' || !messages.length) return;
      const { from, to } = rangeOf(messages, this.slice.peek());
      const isShown = this.targetId !== null && this.targetId !== 'newest' && this.show(this.targetId, 'middle');
      if (!isShown && !this.isOpened) this.openAtUnread(messages);
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

  /** Chooses where a channel opens: at the first unread message when it is loaded, otherwise at the newest. */
  private openAtUnread(messages: readonly Message[]): void {
    const readTo = this.readTo.peek();
    const at = readTo === null ? 0 : indexAfter(messages, readTo);
    const unread = messages[at];
    this.showNewest();
    if (unread && at > 0 && !this.frame.peek().hasNewer) this.show(unread.id, 'top');
  }

  /** Shows the newest loaded messages and follows new ones. */
  private showNewest(): void {
    if (this.targetId === 'newest') this.targetId = null;
    this.scrollTarget = null;
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
