import { activeMessage, openTool } from './message-tools.ts';

/** How long a touch on a message lasts until its menu opens, in milliseconds. */
const longPressMs = 500;

const messageAt = (target: EventTarget | null): HTMLElement | null =>
  target instanceof Element ? target.closest<HTMLElement>('article.message[id]') : null;

const idOf = (article: HTMLElement): string => article.id.slice('message-'.length);

/** Moves the focus by an arrow key: to the next or previous message on the page, or to the first or last one in view when none has the focus. */
export function moveFocus(box: HTMLElement, by: 1 | -1): void {
  const all = Array.from(box.querySelectorAll<HTMLElement>('article.message'));
  const current = document.activeElement?.closest<HTMLElement>('article.message');
  const at = current ? all.indexOf(current) : -1;
  const { bottom } = box.getBoundingClientRect();
  const next = at < 0 ? all.findLast((one) => one.getBoundingClientRect().top < bottom) : all[at + by];
  next?.focus();
}

/**
 * Tracks the active message of a list: the one under the pointer or with the focus shows its tools, and a long press opens its menu. `menuOf` opens the menu
 * of a message beside its element. Returns a function that removes the listeners.
 */
export function followPointer(box: HTMLElement, menuOf: (id: string, anchor: Element) => void): () => void {
  let longPress: ReturnType<typeof setTimeout> | undefined;
  let isLongPress = false;
  const cancelLongPress = (): void => clearTimeout(longPress);
  const set = (article: HTMLElement | null): void => {
    // While its picker or menu is open, a message keeps its tools.
    if (openTool.peek() === null) activeMessage.value = article && idOf(article);
  };
  const onOver = ({ target, pointerType }: PointerEvent): void => {
    if (pointerType !== 'touch') set(messageAt(target));
  };
  const onLeave = (): void => set(messageAt(document.activeElement));
  const onFocus = ({ target }: FocusEvent): void => set(messageAt(target));
  const onDown = ({ target, pointerType }: PointerEvent): void => {
    cancelLongPress();
    isLongPress = false;
    const article = messageAt(target);
    const open = (): void => {
      isLongPress = true;
      if (article) menuOf(idOf(article), article);
    };
    // A long press on a link, image or control keeps the browser's own behavior.
    const hasOwnPress = (target as Element).closest('a, button, img, video, audio, textarea');
    if (pointerType === 'touch' && article && !hasOwnPress) longPress = setTimeout(open, longPressMs);
  };
  // Suppress the click that follows the end of a long press; it would close the menu.
  const onTouchEnd = (event: Event): void => {
    if (isLongPress) event.preventDefault();
  };
  const listeners: [keyof HTMLElementEventMap, (event: never) => void][] = [
    ['pointerover', onOver],
    ['pointerleave', onLeave],
    ['focusin', onFocus],
    ['pointerdown', onDown],
    ['pointerup', cancelLongPress],
    ['pointercancel', cancelLongPress],
    ['scroll', cancelLongPress],
    ['touchend', onTouchEnd],
  ];
  for (const [name, listener] of listeners) box.addEventListener(name, listener as EventListener);
  return () => {
    cancelLongPress();
    for (const [name, listener] of listeners) box.removeEventListener(name, listener as EventListener);
  };
}
