import { lookAt } from '../../state/histories.ts';
import type { ListModel } from './list-model.ts';
import { grownDown, grownUp, newestSlice, rangeOf } from './slice.ts';

/** How near to an end of what is on the page more is put there, in pixels. */
const marginPx = 600;
/** How many messages more at a time: few enough to be drawn within a frame. */
const step = 25;
/** The lowest that a message can be, in pixels. */
const lowestPx = 24;
/** From here on the view counts as at the end, in pixels. */
const endPx = 4;

/**
 * Keeps the view of a list still while messages come and go around it, at the end when it follows the newest, and tells the model when more
 * is needed. Heights are measured, never guessed: before each change it is known where the messages in view stand, and after it the first
 * of them is put back there.
 */
export class Viewport {
  private readonly model: ListModel;
  private readonly box: HTMLElement;
  private inView: { id: string; y: number }[] = [];
  private lastTop = 0;

  constructor(model: ListModel, box: HTMLElement) {
    this.model = model;
    this.box = box;
  }

  /** Listens to scrolling and to changes of size. Returns what ends it. */
  attach(content: HTMLElement): () => void {
    const { box } = this;
    const onScroll = (): void => this.scrolled();
    // Before the first scroll event of a wheel, an arriving message would pull the view back to the end.
    const onWheel = ({ deltaY }: WheelEvent): void => {
      if (deltaY < 0 && box.scrollTop > 0 && this.follows) this.model.leave();
    };
    const resized = new ResizeObserver(() => this.keep());
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

  private get follows(): boolean {
    return this.model.slice.peek().last === null;
  }

  /** The most messages that are on the page: the view and its margins filled with the lowest, and two steps. */
  private get most(): number {
    return Math.ceil((this.box.clientHeight + 2 * marginPx) / lowestPx) + 2 * step;
  }

  private get gap(): number {
    return this.box.scrollHeight - this.box.scrollTop - this.box.clientHeight;
  }

  private elementOf = (id: string): HTMLElement | null => document.getElementById(`message-${id}`);

  /** Puts the view where it belongs after something changed. */
  keep(): void {
    const { box, model } = this;
    const aimed = model.aim && this.elementOf(model.aim.id);
    if (aimed && model.aim) {
      const y = model.aim.to === 'top' ? box.clientHeight / 4 : Math.max(0, (box.clientHeight - aimed.offsetHeight) / 2);
      box.scrollTop += this.yOf(aimed) - y;
      if (model.aim.to === 'middle') aimed.focus({ preventScroll: true });
      model.aim = null;
    } else if (this.follows) box.scrollTop = box.scrollHeight;
    else {
      for (const { id, y } of this.inView) {
        const element = this.elementOf(id);
        if (!element) continue;
        // What was scrolled since it was noted was meant so.
        const moved = this.yOf(element) - (y + this.lastTop - box.scrollTop);
        if (Math.abs(moved) >= 0.5) box.scrollTop += moved;
        break;
      }
    }
    this.note();
  }

  /** After each drawing: keeps the view, lets go of what is far away, and asks for what is near. */
  drawn(): void {
    this.keep();
    const { messages } = this.model.frame.peek();
    const { from, to } = rangeOf(messages, this.model.slice.peek());
    if (this.follows && to - from > this.most) this.model.slice.value = newestSlice(messages, this.most - step);
    else this.reach();
  }

  private yOf = (element: HTMLElement): number => element.getBoundingClientRect().top - this.box.getBoundingClientRect().top;

  /** Notes which messages are in view, and where. */
  private note(): void {
    const { box, model } = this;
    this.lastTop = box.scrollTop;
    this.inView = [];
    if (!this.follows) {
      const { top, bottom } = box.getBoundingClientRect();
      for (const element of box.querySelectorAll<HTMLElement>('article.message')) {
        const rect = element.getBoundingClientRect();
        if (rect.top > bottom) break;
        if (rect.bottom > top) this.inView.push({ id: element.id.slice('message-'.length), y: rect.top - top });
      }
      // The first that is loaded may lose the lines above it when older ones come: it is no place to hold on to.
      const [oldest] = model.frame.peek().messages;
      if (this.inView.length > 1 && this.inView[0]?.id === oldest?.id) this.inView.push(...this.inView.splice(0, 1));
    }
    lookAt(model.channelId, this.follows ? null : (this.inView[0]?.id ?? null));
  }

  private scrolled(): void {
    // Only a view that went up left the end: one that what it shows outgrew did not.
    if (this.follows && this.box.scrollTop < this.lastTop - 1 && this.gap > endPx) this.model.leave();
    this.note();
    this.reach();
  }

  /**
   * Puts more messages on the page near an end of what is there; at the end of what is loaded it reads on, and at the very end it follows.
   */
  private reach(): void {
    const { box, model, gap } = this;
    const { messages, hasOlder, hasNewer } = model.frame.peek();
    const slice = model.slice.peek();
    const { from, to } = rangeOf(messages, slice);
    if (box.scrollTop < marginPx) {
      if (from > 0) model.slice.value = grownUp(messages, slice, step, this.most);
      else if (hasOlder && messages.length) void model.readOn('older');
    }
    if (gap >= marginPx || this.follows) return;
    if (to < messages.length) model.slice.value = grownDown(messages, model.slice.peek(), step, this.most);
    else if (hasNewer) void model.readOn('newer');
    else if (gap <= endPx && model.aim === null) model.arrive();
  }
}
