import { batch, effect, type Signal, signal, untracked } from '@preact/signals';
import type { Message } from '../../../../lib/contract/message.ts';
import { type ApiError, asApiError } from '../../api/call.ts';
import { historyOf, loadAround, loadNewer, loadNewest, loadOlder } from '../../state/histories.ts';
import { type Outgoing, outgoing } from '../../state/outgoing.ts';
import { isUnread, reads } from '../../state/reads.ts';
import { type Use, uses } from '../../state/uses.ts';
import { sayRefusal } from '../../ui/toast.tsx';
import { grownUp, indexAfter, indexFrom, newestSlice, rangeOf, type Slice, sliceAround } from './slice.ts';

/** What the list shows, updated at most once per frame. */
export interface ListFrame {
  messages: readonly Message[];
  hasOlder: boolean;
  hasNewer: boolean;
  status: 'loading' | 'ready' | ApiError;
  outgoing: readonly Outgoing[];
  uses: readonly Use[];
}

/** The message to scroll to at the next rendering, and whether it goes to the middle or the top of the view. */
export interface Aim {
  id: string;
  to: 'middle' | 'top';
}

/** The minimum interval between two renderings, in milliseconds: the first message is rendered at once, a burst ten times a second. */
const drawnEveryMs = 100;
/** The maximum number of new messages that are rendered at once. After a pause, the page renders the missed messages in several steps. */
const drawnAtOnce = 25;
/** The number of messages on the page at first. */
const atFirst = 60;

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
  readonly marked = signal<string | null>(null);
  /** The edge that is loading, and the edge whose loading failed. */
  readonly busy = signal<'older' | 'newer' | null>(null);
  readonly failed = signal<{ edge: 'older' | 'newer'; error: ApiError } | null>(null);
  aim: Aim | null = null;
  /** The id of the message to show as soon as it is loaded, or `newest`. */
  private wanted: string | null = null;
  private begun = false;

  /** `messageId` is the message to begin at; without it the read mark decides. */
  constructor(channelId: string, messageId: string | undefined) {
    this.channelId = channelId;
    this.wanted = messageId ?? null;
    this.frame = signal(untracked(() => this.now()));
    untracked(() => {
      this.noteReadMark();
      this.take(this.frame.value);
    });
  }

  private now(): ListFrame {
    const history = historyOf(this.channelId);
    return {
      messages: history.messages.value,
      hasOlder: history.hasOlder.value,
      hasNewer: history.hasNewer.value,
      status: history.status.value,
      outgoing: outgoing.value.filter((one) => one.channelId === this.channelId),
      uses: uses.value.filter((one) => one.channelId === this.channelId),
    };
  }

  /** Begins to follow the channel and loads what is missing. Returns a function that stops it. */
  start(): () => void {
    let due: ReturnType<typeof setTimeout> | undefined;
    let frame = 0;
    let drawnAt = 0;
    const draw = (): void => {
      due = undefined;
      drawnAt = performance.now();
      const now = this.now();
      const next = this.slowly(now);
      this.take(next);
      if (next !== now) frame = requestAnimationFrame(draw);
    };
    const stop = effect(() => {
      this.now();
      due ??= setTimeout(() => (frame = requestAnimationFrame(draw)), Math.max(0, drawnAt + drawnEveryMs - performance.now()));
    });
    if (this.wanted !== null && this.wanted !== 'newest') void this.jump(this.wanted);
    else if (this.frame.value.status !== 'ready' || this.frame.value.hasNewer) void this.toNewest();
    return () => {
      stop();
      clearTimeout(due);
      cancelAnimationFrame(frame);
    };
  }

  /** Moves the line "new" to the current read mark; removes it when everything is read. */
  noteReadMark(): void {
    this.readTo.value = isUnread(this.channelId) ? (reads.peek().get(this.channelId)?.readMessageId ?? null) : null;
  }

  /** Returns what is rendered next: everything, or only the first part when very many messages arrived at once. */
  private slowly(next: ListFrame): ListFrame {
    const drawn = this.frame.peek().messages.at(-1);
    if (!drawn || this.slice.peek().last !== null || this.wanted !== null) return next;
    const upTo = indexAfter(next.messages, drawn.id) + drawnAtOnce;
    return upTo < next.messages.length ? { ...next, messages: next.messages.slice(0, upTo) } : next;
  }

  private take(next: ListFrame): void {
    const sent = next.outgoing.length > this.frame.peek().outgoing.length || next.uses.length > this.frame.peek().uses.length;
    const { messages: before } = this.frame.peek();
    batch(() => {
      this.frame.value = next;
      const { messages, status } = next;
      if (status === 'ready' && !next.hasNewer && this.failed.peek()?.edge === 'newer') this.failed.value = null;
      if (status === 'loading' || !messages.length) return;
      const { from, to } = rangeOf(messages, this.slice.peek());
      const shown = this.wanted !== null && this.wanted !== 'newest' && this.show(this.wanted, 'middle');
      if (!shown && !this.begun) this.begin(messages);
      else if (!shown && (this.wanted === 'newest' || from >= to)) this.follow();
      this.begun = true;
      // Older messages that were just loaded are put on the page in the same rendering. The message below them may then join their group, which changes its
      // height.
      if (rangeOf(before, this.slice.peek()).from === 0 && indexFrom(messages, before[0]?.id ?? '') > 0)
        this.slice.value = grownUp(messages, this.slice.peek(), drawnAtOnce, messages.length);
    });
    // A user who sends a message is moved to the end of the list.
    if (sent) void this.toNewest();
  }

  /** Chooses where a channel opens: at the first unread message when it is loaded, otherwise at the newest. */
  private begin(messages: readonly Message[]): void {
    const readTo = this.readTo.peek();
    const at = readTo === null ? 0 : indexAfter(messages, readTo);
    const unread = messages[at];
    this.follow();
    if (unread && at > 0 && !this.frame.peek().hasNewer) this.show(unread.id, 'top');
  }

  /** Shows the newest loaded messages and follows new ones. */
  private follow(): void {
    if (this.wanted === 'newest') this.wanted = null;
    this.aim = null;
    this.leftAt.value = null;
    this.slice.value = newestSlice(this.frame.peek().messages, atFirst);
  }

  /** Scrolls to a message; returns false when it is not loaded. */
  private show(id: string, to: Aim['to']): boolean {
    const { messages } = this.frame.peek();
    if (messages[indexFrom(messages, id)]?.id !== id) return false;
    if (this.wanted === id) this.wanted = null;
    this.leave();
    this.slice.value = sliceAround(messages, id, atFirst);
    this.aim = { id, to };
    if (to === 'middle') this.marked.value = id;
    return true;
  }

  /** Records that the user no longer follows the newest message. New messages are then counted and not shown. */
  leave(): void {
    const { messages } = this.frame.peek();
    if (this.leftAt.peek() === null) this.leftAt.value = messages.at(-1)?.id ?? '';
    if (this.slice.peek().last === null) this.slice.value = { ...this.slice.peek(), last: messages.at(-1)?.id ?? '' };
  }

  /** Records that the user reached the end and follows new messages from now on. */
  arrive(): void {
    this.leftAt.value = null;
    this.slice.value = { ...this.slice.peek(), last: null };
  }

  /** Jumps to a message, loaded or not, and highlights it. Shows the error when it cannot be loaded. */
  async jump(id: string): Promise<void> {
    this.wanted = id;
    try {
      await loadAround(this.channelId, id);
      if (this.wanted === id) this.take(this.now());
    } catch (fault) {
      this.wanted = null;
      sayRefusal(fault);
      if (historyOf(this.channelId).messages.peek().length === 0) void this.toNewest();
    }
  }

  /** Goes to the newest message, and loads it if needed. */
  async toNewest(): Promise<void> {
    this.wanted = 'newest';
    try {
      if (this.frame.peek().status !== 'ready' || this.frame.peek().hasNewer) await loadNewest(this.channelId);
      this.failed.value = null;
      this.take(this.now());
    } catch (fault) {
      this.failed.value = { edge: 'newer', error: asApiError(fault) };
    }
  }

  /** Goes to the oldest loaded message. */
  toOldest(): void {
    const [oldest] = this.frame.peek().messages;
    if (oldest) batch(() => this.show(oldest.id, 'top'));
  }

  /** Loads the next page at an edge. Does nothing while a page is loading; after a failure it loads only with `again`. */
  async readOn(edge: 'older' | 'newer', again = false): Promise<void> {
    if (this.busy.peek() !== null || this.frame.peek().status === 'loading') return;
    if (this.failed.peek()?.edge === edge && !again) return;
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
