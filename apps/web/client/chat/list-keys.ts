import { activeMessage, openTool } from './message-tools.ts';

/** How long a finger rests on a message until its menu opens, in milliseconds. */
const holdMs = 500;

const messageAt = (target: EventTarget | null): HTMLElement | null =>
  target instanceof Element ? target.closest<HTMLElement>('article.message[id]') : null;

const idOf = (article: HTMLElement): string => article.id.slice('message-'.length);

/** Where the arrow keys lead: the next or previous message on the page, or the first or last in view when none has the focus. */
export function moveFocus(box: HTMLElement, by: 1 | -1): void {
  const all = Array.from(box.querySelectorAll<HTMLElement>('article.message'));
  const current = document.activeElement?.closest<HTMLElement>('article.message');
  const at = current ? all.indexOf(current) : -1;
  const { bottom } = box.getBoundingClientRect();
  const next = at < 0 ? all.findLast((one) => one.getBoundingClientRect().top < bottom) : all[at + by];
  next?.focus();
}

/**
 * Lets a list know which message is meant: the one under the pointer or with the focus shows its tools, and a finger that rests on one
 * opens its menu. Returns what ends it. `menuOf` opens the menu of a message beside its element.
 */
export function followPointer(box: HTMLElement, menuOf: (id: string, anchor: Element) => void): () => void {
  let hold: ReturnType<typeof setTimeout> | undefined;
  let held = false;
  const stopHold = (): void => clearTimeout(hold);
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
    stopHold();
    held = false;
    const article = messageAt(target);
    const open = (): void => {
      held = true;
      if (article) menuOf(idOf(article), article);
    };
    // What a browser offers at a link, image or control by itself stays.
    const own = (target as Element).closest('a, button, img, video, audio, textarea');
    if (pointerType === 'touch' && article && !own) hold = setTimeout(open, holdMs);
  };
  // The click that would follow a lifted finger is for nobody: it would close the menu.
  const onLift = (event: Event): void => {
    if (held) event.preventDefault();
  };
  const listeners: [keyof HTMLElementEventMap, (event: never) => void][] = [
    ['pointerover', onOver],
    ['pointerleave', onLeave],
    ['focusin', onFocus],
    ['pointerdown', onDown],
    ['pointerup', stopHold],
    ['pointercancel', stopHold],
    ['scroll', stopHold],
    ['touchend', onLift],
  ];
  for (const [name, listener] of listeners) box.addEventListener(name, listener as EventListener);
  return () => {
    stopHold();
    for (const [name, listener] of listeners) box.removeEventListener(name, listener as EventListener);
  };
}
