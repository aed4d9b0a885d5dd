import type { IconNode } from 'lucide';
import type { JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { Icon } from '../../ui/icon.tsx';
import './menu.css';
import { Popover } from './popover.tsx';

/** One item of a menu. */
export interface MenuItem {
  label: string;
  icon: IconNode;
  danger?: boolean;
  run: (event: MouseEvent) => void;
}

/** A menu beside the element that opened it. Arrow keys, Home and End move, Enter chooses, Escape closes. Choosing an item first closes the menu. */
export function Menu({
  anchor,
  label,
  items,
  onClose,
}: {
  anchor: Element;
  label: string;
  items: readonly MenuItem[];
  onClose: () => void;
}): JSX.Element {
  const ref = useRef<HTMLUListElement>(null);
  const buttons = (): HTMLElement[] => Array.from(ref.current?.querySelectorAll('button') ?? []);
  useLayoutEffect(() => buttons()[0]?.focus(), []);
  const onKey = (event: KeyboardEvent): void => {
    const all = buttons();
    const at = all.indexOf(document.activeElement as HTMLElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key];
    if (event.key === 'Tab') onClose();
    if (to === undefined) return;
    event.preventDefault();
    all.at(to === all.length ? 0 : to)?.focus();
  };
  return (
    <Popover anchor={anchor} label={label} class="menu" onClose={onClose} bare>
      <ul ref={ref} role="menu" aria-label={label} onKeyDown={onKey}>
        {items.map(({ label: name, icon, danger, run }) => (
          <li key={name} role="none">
            <button
              type="button"
              role="menuitem"
              tabIndex={-1}
              class={danger ? 'danger' : ''}
              onClick={(event) => {
                onClose();
                run(event);
              }}
            >
              <Icon of={icon} /> {name}
            </button>
          </li>
        ))}
      </ul>
    </Popover>
  );
}
