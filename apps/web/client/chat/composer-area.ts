import type { RefObject } from 'preact';
import { useLayoutEffect } from 'preact/hooks';

/** Whether the user types on a touch device. There Enter inserts a line break, because on-screen keyboards have no convenient Shift key. */
export const isTouch = (): boolean => matchMedia('(hover: none) and (pointer: coarse)').matches;

/** Whether a key press submits the text: Enter alone, or with Ctrl or Cmd. */
export function isSendKey(event: KeyboardEvent): boolean {
  if (event.key !== 'Enter' || event.altKey) return false;
  return event.ctrlKey || event.metaKey || (!event.shiftKey && !isTouch());
}

/** Replaces a part of a text area and moves the caret behind it. The change is part of the browser's undo history. */
export function replaceIn(area: HTMLTextAreaElement, start: number, end: number, text: string): void {
  area.focus();
  area.setSelectionRange(start, end);
  // There is no other way to keep the browser's undo history.
  if (document.execCommand('insertText', false, text)) return;
  area.setRangeText(text, start, end, 'end');
  area.dispatchEvent(new InputEvent('input', { bubbles: true }));
}

/** Makes a text area as high as its text. Browsers with `field-sizing` do this without a script. */
export function useAutoGrow(ref: RefObject<HTMLTextAreaElement | null>, text: string): void {
  useLayoutEffect(() => {
    const area = ref.current;
    if (!area || CSS.supports('field-sizing', 'content')) return;
    area.style.height = 'auto';
    area.style.height = `${area.scrollHeight + 2}px`;
  }, [text]);
}

/** Whether keys must not go to the composer: a field has the focus, or a dialog or popover is open. */
const isTakingKeys = (): boolean =>
  document.activeElement?.matches('input, textarea, select, [contenteditable]') === true ||
  document.querySelector('dialog[open], [popover]:popover-open') !== null;

/**
 * Focuses a text area when its channel is opened, and when the user begins to type outside of a field. Not on touch devices, where the focus would open the
 * keyboard.
 */
export function useTypeAnywhere(ref: RefObject<HTMLTextAreaElement | null>): void {
  useLayoutEffect(() => {
    if (isTouch()) return undefined;
    if (!isTakingKeys()) ref.current?.focus();
    const onKey = (event: KeyboardEvent): void => {
      const { key, ctrlKey, metaKey, altKey, defaultPrevented } = event;
      if (defaultPrevented || ctrlKey || metaKey || altKey || Array.from(key).length !== 1 || key === ' ') return;
      if (!isTakingKeys()) ref.current?.focus();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
}
