import { setViewedMessage } from '../../state/histories.ts';
import type { ListModel } from './list-model.ts';
import { extendDown, extendUp, newestSlice, rangeOf } from './slice.ts';

/** How near to an edge of the rendered messages the view must be before more are rendered, in pixels. */
const marginPx = 600;
/** How many messages are added at a time: few enough to be rendered within a frame. */
const step = 25;
/** The smallest possible height of a message, in pixels. */
const minMessagePx = 24;
/** The view counts as at the end when it is at most this far from it, in pixels. */
const endPx = 4;

/**
 * Keeps the scroll position of a list while messages around it are added and removed, keeps it at the end while it follows the newest, and tells the model
 * when more messages are needed. Heights are measured and never estimated: it records the positions of the messages in view, and after each change moves the
 * first of them back to its position.
 */
export class Viewport {
  private readonly model: ListModel;
  private readonly box: HTMLElement;
  private inView: { id: string; y: number }[] = [];
  private lastScrollTop = 0;

  constructor(model: ListModel, box: HTMLElement) {
    this.model = model;
    this.box = box;
  }

  /** Listens to scrolling and resizing. Returns a function that removes the listeners. */
  attach(content: HTMLElement): () => void {
    const { box } = this;
    const onScroll = (): void => this.scrolled();
    // Without this, a message that arrives before the first scroll event of the wheel would move the view back to the end.
    const onWheel = ({ deltaY }: WheelEvent): void => {
      if (deltaY < 0 && box.scrollTop > 0 && this.isFollowing) this.model.stopFollowing();
    };
    const resized = new ResizeObserver(() => this.restoreScroll());
    resized.observe(box);
    resized.observe(content);
    box.addEventListener('scroll', onScroll, { passive: true });
    box.addEventListener('wheel', onWheel, { passive: true });
    return () => {
      resized.disconnect();
      box.removeEventListener('scroll', onScroll);
      box.removeEventListener('wheel', onWheel);
    };
  }

  private get isFollowing(): boolean {
    return this.model.slice.peek().last === null;
  }

  /** The maximum number of messages on the page: as many of the smallest height as fill the view and its margins, and two steps. */
  private get maxRendered(): number {
    return Math.ceil((this.box.clientHeight + 2 * marginPx) / minMessagePx) + 2 * step;
  }

  private get distanceToEnd(): number {
    return this.box.scrollHeight - this.box.scrollTop - this.box.clientHeight;
  }

  private elementOf = (id: string): HTMLElement | null => document.getElementById(`message-${id}`);

  /** Restores the scroll position after something changed. */
  restoreScroll(): void {
    const { box, model } = this;
    const target = model.scrollTarget && this.elementOf(model.scrollTarget.id);
    if (target && model.scrollTarget) {
      const y = model.scrollTarget.to === 'top' ? box.clientHeight / 4 : Math.max(0, (box.clientHeight - target.offsetHeight) / 2);
      box.scrollTop += this.yOf(target) - y;
      if (model.scrollTarget.to === 'middle') target.focus({ preventScroll: true });
      model.scrollTarget = null;
    } else if (this.isFollowing) box.scrollTop = box.scrollHeight;
    else {
      for (const { id, y } of this.inView) {
        const element = this.elementOf(id);
        if (!element) continue;
        // Scrolling since the position was recorded is intended, so it is kept.
        const moved = this.yOf(element) - (y + this.lastScrollTop - box.scrollTop);
        if (Math.abs(moved) >= 0.5) box.scrollTop += moved;
        break;
      }
    }
    this.recordPositions();
  }

  /** Runs after each rendering: restores the scroll position, removes distant messages, and requests near ones. */
  rendered(): void {
    this.restoreScroll();
    const { messages } = this.model.frame.peek();
    const { from, to } = rangeOf(messages, this.model.slice.peek());
    if (this.isFollowing && to - from > this.maxRendered) this.model.slice.value = newestSlice(messages, this.maxRendered - step);
    else this.extendRange();
  }

  private yOf = (element: HTMLElement): number => element.getBoundingClientRect().top - this.box.getBoundingClientRect().top;

  /** Records which messages are in view and their positions. */
  recordPositions(): void {
    const { box, model } = this;
    this.lastScrollTop = box.scrollTop;
    const { top, bottom } = box.getBoundingClientRect();
    const inView: { id: string; y: number }[] = [];
    let lastSeen: string | undefined;
    for (const element of box.querySelectorAll<HTMLElement>('article.message[id]')) {
      const rect = element.getBoundingClientRect();
      if (rect.top > bottom) break;
      if (rect.bottom <= top) continue;
      const id = element.id.slice('message-'.length);
      inView.push({ id, y: rect.top - top });
      // A message is seen when its end was in view.
      if (rect.bottom <= bottom + endPx) lastSeen = id;
    }
    const [first] = inView;
    if (first && lastSeen !== undefined) model.noteInView(first.id, lastSeen);
    this.inView = this.isFollowing ? [] : inView;
    // The first loaded message may lose the lines above it when older messages are loaded, so it is the last choice as a reference.
    const [oldest] = model.frame.peek().messages;
    if (this.inView.length > 1 && this.inView[0]?.id === oldest?.id) this.inView.push(...this.inView.splice(0, 1));
    setViewedMessage(model.channelId, this.inView[0]?.id ?? null);
  }

  private scrolled(): void {
    // The view left the end only if it moved up. If the content grew below it, the user still follows.
    if (this.isFollowing && this.box.scrollTop < this.lastScrollTop - 1 && this.distanceToEnd > endPx) this.model.stopFollowing();
    this.recordPositions();
    this.extendRange();
  }

  /**
   * Renders more messages near an edge of the rendered range. At an edge of the loaded range it loads the next page; at the end of the channel the list
   * follows new messages.
   */
  private extendRange(): void {
    const { box, model, distanceToEnd } = this;
    const { messages, hasOlder, hasNewer } = model.frame.peek();
    const slice = model.slice.peek();
    const { from, to } = rangeOf(messages, slice);
    if (box.scrollTop < marginPx) {
      if (from > 0) model.slice.value = extendUp(messages, slice, step, this.maxRendered);
      else if (hasOlder && messages.length) void model.loadMore('older');
    }
    if (distanceToEnd >= marginPx || this.isFollowing) return;
    if (to < messages.length) model.slice.value = extendDown(messages, model.slice.peek(), step, this.maxRendered);
    else if (hasNewer) void model.loadMore('newer');
    else if (distanceToEnd <= endPx && model.scrollTarget === null) model.followNewest();
  }
}
