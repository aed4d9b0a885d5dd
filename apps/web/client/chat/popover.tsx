import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import './popover.css';

const edgePx = 8;

/** Returns the position for a box beside an element: above it when there is room, otherwise below, and always inside the window. */
function positionBeside(anchor: DOMRect, { offsetWidth, offsetHeight }: HTMLElement): { left: number; top: number } {
  const above = anchor.top - offsetHeight - 4;
  const top = above >= edgePx ? above : anchor.bottom + 4;
  return {
    left: Math.max(edgePx, Math.min(anchor.right - offsetWidth, window.innerWidth - offsetWidth - edgePx)),
    top: Math.max(edgePx, Math.min(top, window.innerHeight - offsetHeight - edgePx)),
  };
}

/**
 * A box over the page, beside the element that opened it. `onClose` is called when Escape, a click elsewhere or a focus elsewhere closes it. It uses the
 * browser's popover, which is above everything else. It stays where it opened, even when its anchor moves or disappears. The focus then returns to where it
 * was.
 */
export function Popover({
  anchor,
  label,
  class: more = '',
  bare = false,
  onClose,
  children,
}: {
  anchor: Element;
  label: string;
  class?: string;
  /** Whether the content has its own role and label, as a menu does. */
  bare?: boolean;
  onClose: () => void;
  children: ComponentChildren;
}): JSX.Element {
  const ref = useRef<HTMLDivElement>(null);
  const anchorRect = useRef(anchor.getBoundingClientRect());
  useLayoutEffect(() => {
    const box = ref.current;
    const previousFocus = document.activeElement;
    box?.showPopover();
    return () => {
      if (box?.contains(document.activeElement) && previousFocus instanceof HTMLElement) previousFocus.focus();
    };
  }, []);
  useLayoutEffect(() => {
    const box = ref.current;
    if (!box) return;
    const position = (): void => {
      const { left, top } = positionBeside(anchorRect.current, box);
      box.style.left = `${left}px`;
      box.style.top = `${top}px`;
    };
    position();
    const resized = new ResizeObserver(position);
    resized.observe(box);
    return () => resized.disconnect();
  }, []);
  const close = useRef(onClose);
  close.current = onClose;
  // The browser's light dismissal is not used, because it treats the end of the long press that opened a menu as a click elsewhere. The listeners are added
  // before the browser paints, because a key press may follow at once.
  useLayoutEffect(() => {
    const onDown = ({ target }: PointerEvent): void => {
      if (!ref.current?.contains(target as Node)) close.current();
    };
    const onKey = (event: KeyboardEvent): void => {
      if (event.key !== 'Escape') return;
      event.stopPropagation();
      event.preventDefault();
      close.current();
    };
    document.addEventListener('pointerdown', onDown, true);
    document.addEventListener('keydown', onKey, true);
    return () => {
      document.removeEventListener('pointerdown', onDown, true);
      document.removeEventListener('keydown', onKey, true);
    };
  }, []);
  const onFocusOut = ({ relatedTarget }: FocusEvent): void => {
    if (relatedTarget instanceof Node && !ref.current?.contains(relatedTarget)) onClose();
  };
  return (
    <div
      ref={ref}
      popover="manual"
      onFocusOut={onFocusOut}
      class={`popover ${more}`}
      {...(!bare && { role: 'dialog', 'aria-label': label })}
    >
      {children}
    </div>
  );
}
