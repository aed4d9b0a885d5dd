import { batch, effect, type Signal, signal, untracked } from '@preact/signals';
import type { Message } from '../../../../lib/contract/message.ts';
import { type ApiError, asApiError } from '../../api/call.ts';
import { historyOf, loadAround, loadNewer, loadNewest, loadOlder } from '../../state/histories.ts';
import { type Outgoing, outgoing } from '../../state/outgoing.ts';
import { isUnread, reads } from '../../state/reads.ts';
import { type Use, uses } from '../../state/uses.ts';
import { sayRefusal } from '../../ui/toast.tsx';
import { grownUp, indexAfter, indexFrom, newestSlice, rangeOf, type Slice, sliceAround } from './slice.ts';

/** What the list shows, taken once a frame. */
export interface ListFrame {
  messages: readonly Message[];
  hasOlder: boolean;
  hasNewer: boolean;
  status: 'loading' | 'ready' | ApiError;
  outgoing: readonly Outgoing[];
  uses: readonly Use[];
}

/** Where the view is to be moved at the next drawing: a message to its middle or its top. */
export interface Aim {
  id: string;
  to: 'middle' | 'top';
}

/** Between two drawings at least, in milliseconds: the first message is drawn at once, a burst ten times a second. */
const drawnEveryMs = 100;
/** New messages drawn at once at most: a page that had no time draws what it missed in several goes. */
const drawnAtOnce = 25;
/** Messages on the page when a slice is begun. */
const atFirst = 60;

/**
 * The list of one channel: which of the loaded messages are on the page, where it reads on, what it jumps to. Changes of a frame are taken
 * together, so that a burst of events is few drawings.
 */
export class ListModel {
  readonly channelId: string;
  readonly frame: Signal<ListFrame>;
  readonly slice = signal<Slice>({ first: '', last: null });
  /** The read mark as it stood on opening: the line "new" is below it. */
  readonly readTo = signal<string | null>(null);
  /** The newest message when the person left the end; what is newer counts as new. */
  readonly leftAt = signal<string | null>(null);
  /** The message that was jumped to, while it is marked. */
  readonly marked = signal<string | null>(null);
  /** The edge that is being read on, and the one whose reading failed. */
  readonly busy = signal<'older' | 'newer' | null>(null);
  readonly failed = signal<{ edge: 'older' | 'newer'; error: ApiError } | null>(null);
  aim: Aim | null = null;
  /** The id of the message to show as soon as it is loaded, or `newest`. */
  private wanted: string | null = null;
  private begun = false;

  /** `messageId` is where to begin; without one it is for the read mark to say. */
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

  /** Begins to follow the channel and reads what is not loaded. Returns what ends it. */
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

  /** The read mark as it stands now is where the line "new" goes; none when everything is read. */
  noteReadMark(): void {
    this.readTo.value = isUnread(this.channelId) ? (reads.peek().get(this.channelId)?.readMessageId ?? null) : null;
  }

  /** What is drawn next: everything, or where very many messages came at once, the first of them. */
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
      // Older ones stand above from their first drawing on: the oldest before them now goes on where they end, and may be lower than it
      // was.
      if (rangeOf(before, this.slice.peek()).from === 0 && indexFrom(messages, before[0]?.id ?? '') > 0)
        this.slice.value = grownUp(messages, this.slice.peek(), drawnAtOnce, messages.length);
    });
    // Who sends looks at the end.
    if (sent) void this.toNewest();
  }

  /** Where a channel opens: at the first unread message when it is loaded, else at the newest. */
  private begin(messages: readonly Message[]): void {
    const readTo = this.readTo.peek();
    const at = readTo === null ? 0 : indexAfter(messages, readTo);
    const unread = messages[at];
    this.follow();
    if (unread && at > 0 && !this.frame.peek().hasNewer) this.show(unread.id, 'top');
  }

  /** Shows the newest loaded messages and those to come. */
  private follow(): void {
    if (this.wanted === 'newest') this.wanted = null;
    this.aim = null;
    this.leftAt.value = null;
    this.slice.value = newestSlice(this.frame.peek().messages, atFirst);
  }

  /** Aims at a message; false when it is not loaded. */
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

  /** Notes that the person no longer follows the newest message: what comes now is counted, not shown. */
  leave(): void {
    const { messages } = this.frame.peek();
    if (this.leftAt.peek() === null) this.leftAt.value = messages.at(-1)?.id ?? '';
    if (this.slice.peek().last === null) this.slice.value = { ...this.slice.peek(), last: messages.at(-1)?.id ?? '' };
  }

  /** Notes that the person reached the end: they follow from here on. */
  arrive(): void {
    this.leftAt.value = null;
    this.slice.value = { ...this.slice.peek(), last: null };
  }

  /** Jumps to a message wherever it stands, and marks it; one that is gone is told of. */
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

  /** Goes to the newest message, and reads it when it is not loaded. */
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

  /** Goes to the oldest message that is loaded. */
  toOldest(): void {
    const [oldest] = this.frame.peek().messages;
    if (oldest) batch(() => this.show(oldest.id, 'top'));
  }

  /** Reads the next page beyond an edge, one at a time; after a refusal only when `again`. */
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
