import { X } from 'lucide';
import type { ComponentChildren, JSX } from 'preact';
import { useId } from 'preact/hooks';
import { IconButton } from '../../ui/button.tsx';

/** A panel beside the messages; on a narrow page it covers them. `flush`: the content scrolls by itself. */
export function Panel({
  title,
  onClose,
  children,
  flush = false,
}: {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  flush?: boolean;
}): JSX.Element {
  const id = useId();
  return (
    <aside class={`panel ${flush ? '' : 'wide'}`} aria-labelledby={id} onKeyDown={({ key }) => key === 'Escape' && onClose()}>
      <header>
        <h2 id={id}>{title}</h2>
        <IconButton of={X} label={`Close ${title.toLowerCase()}`} onClick={onClose} />
      </header>
      <div class={flush ? 'panel-body' : 'panel-body scroll'}>{children}</div>
    </aside>
  );
}
