import { X } from 'lucide';
import type { ComponentChildren, JSX } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { Button, IconButton } from './button.tsx';
import { ErrorNotice } from './error-notice.tsx';
import { useTask } from './form.tsx';

/**
 * A modal dialog, open while it is rendered. It uses the browser's dialog element, which keeps the focus inside, restores it afterwards and closes with
 * Escape.
 */
export function Dialog({
  title,
  onClose,
  children,
  wide = false,
}: {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  wide?: boolean;
}): JSX.Element {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  // Runs before the browser paints, because a key press may follow at once.
  useLayoutEffect(() => {
    const dialog = ref.current;
    const previousFocus = document.activeElement;
    dialog?.showModal();
    return () => {
      dialog?.close();
      if (previousFocus instanceof HTMLElement) previousFocus.focus();
    };
  }, []);
  return (
    <dialog
      ref={ref}
      class={`dialog ${wide ? 'wide' : ''}`}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        // A click on the backdrop has the dialog itself as its target.
        if (event.target === ref.current) onClose();
      }}
    >
      <div class="dialog-body">
        <header>
          <h2 id={id}>{title}</h2>
          <IconButton of={X} label="Close" onClick={onClose} />
        </header>
        {children}
      </div>
    </dialog>
  );
}

/** Asks for confirmation before something that cannot be undone. Runs `run` after confirmation, shows its error, and calls `onClose` when it succeeded. */
export function Confirm({
  title,
  children,
  action,
  run,
  onClose,
}: {
  title: string;
  children: ComponentChildren;
  action: string;
  run: () => Promise<unknown>;
  onClose: () => void;
}): JSX.Element {
  const task = useTask();
  return (
    <Dialog title={title} onClose={onClose}>
      {children}
      <ErrorNotice error={task.error} />
      <div class="actions">
        <Button onClick={onClose}>Cancel</Button>
        <Button variant="danger" busy={task.busy} onClick={() => void task.run(run).then((done) => done && onClose())}>
          {action}
        </Button>
      </div>
    </Dialog>
  );
}
