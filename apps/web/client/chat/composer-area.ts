import type { RefObject } from 'preact';
import { useLayoutEffect } from 'preact/hooks';

/** Whether writing is by touch: then Enter breaks the line, as keyboards on glass have no Shift at hand. */
export const isTouch = (): boolean => matchMedia('(hover: none) and (pointer: coarse)').matches;

/** Whether a key ends the writing: Enter alone, or with Ctrl or Cmd; never while a letter is being composed. */
export function isSendKey(event: KeyboardEvent): boolean {
  if (event.key !== 'Enter' || event.isComposing || event.keyCode === 229 || event.altKey) return false;
  return event.ctrlKey || event.metaKey || (!event.shiftKey && !isTouch());
}

/** Replaces a part of a text area and puts the caret behind it, as if it were typed: undoing takes it back. */
export function replaceIn(area: HTMLTextAreaElement, start: number, end: number, text: string): void {
  area.focus();
  area.setSelectionRange(start, end);
  // Nothing else keeps the browser's own undo.
  if (document.execCommand('insertText', false, text)) return;
  area.setRangeText(text, start, end, 'end');
  area.dispatchEvent(new InputEvent('input', { bubbles: true }));
}

/** Lets a text area be as high as its text. Browsers that know `field-sizing` do it by themselves. */
export function useAutoGrow(ref: RefObject<HTMLTextAreaElement | null>, text: string): void {
  useLayoutEffect(() => {
    const area = ref.current;
    if (!area || CSS.supports('field-sizing', 'content')) return;
    area.style.height = 'auto';
    area.style.height = `${area.scrollHeight + 2}px`;
  }, [text]);
}

/** Whether keys have another use than the composer now: a field has the focus, or something is open over the page. */
const isTakingKeys = (): boolean =>
  document.activeElement?.matches('input, textarea, select, [contenteditable]') === true ||
  document.querySelector('dialog[open], [popover]:popover-open') !== null;

/**
 * Gives a text area the focus when its channel is opened, and when someone begins to type outside of a field. Not by touch, where the focus would open the
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
