import { useSignal } from '@preact/signals';
import { X } from 'lucide';
import type { ComponentChildren, JSX } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { Button, type ButtonProps, IconButton } from './button.tsx';
import { ErrorNotice } from './error-notice.tsx';
import { Form, type FormProps, useTask } from './form.tsx';

const fields = '.dialog-body > :not(header) :is(input, textarea, select):not([type="hidden"], [hidden], :disabled)';
const mainActions = '.dialog-body > :not(header) :is(.button.main, .button.danger):not(:disabled)';

/**
 * Moves the focus from the close button, which the browser chooses because it is first, to the field that asks for it, the first field, or the main action. If
 * these are still being loaded, it waits for them, until the user does something. The text of an input is selected, so that typing replaces what was filled in.
 * Returns a function that ends the waiting.
 */
function focusMainControl(dialog: HTMLDialogElement): () => void {
  const stop = new AbortController();
  const changes = new MutationObserver(() => tryToFocus());
  const end = (): void => {
    changes.disconnect();
    stop.abort();
  };
  const tryToFocus = (): void => {
    const target =
      dialog.querySelector<HTMLElement>('[autofocus]') ??
      dialog.querySelector<HTMLElement>(fields) ??
      [...dialog.querySelectorAll<HTMLElement>(mainActions)].at(-1);
    if (!target) return;
    target.focus();
    if (target instanceof HTMLInputElement) target.select();
    end();
  };
  changes.observe(dialog, { childList: true, subtree: true, attributeFilter: ['disabled'] });
  for (const event of ['keydown', 'pointerdown']) dialog.addEventListener(event, end, { signal: stop.signal });
  tryToFocus();
  return end;
}

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
    const stopWaiting = dialog ? focusMainControl(dialog) : undefined;
    return () => {
      stopWaiting?.();
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
      onKeyDown={(event) => {
        // The key that opened the dialog may still be pressed, and must not confirm it.
        if (event.key === 'Enter' && event.repeat) event.preventDefault();
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

/** A dialog with a form, which can be cancelled. `run` of the form closes the dialog. */
export function FormDialog({
  title,
  onClose,
  wide = false,
  ...form
}: { title: string; onClose: () => void; wide?: boolean } & FormProps): JSX.Element {
  return (
    <Dialog title={title} onClose={onClose} wide={wide}>
      <Form {...form} onCancel={onClose} />
    </Dialog>
  );
}

/** A button that opens a dialog. `dialog` returns the dialog, and gets the function that closes it. */
export function DialogButton({ dialog, ...button }: ButtonProps & { dialog: (close: () => void) => ComponentChildren }): JSX.Element {
  const isOpen = useSignal(false);
  return (
    <>
      <Button {...button} onClick={() => (isOpen.value = true)} />
      {isOpen.value && dialog(() => (isOpen.value = false))}
    </>
  );
}

/** A button that asks for confirmation before it runs `run`. `question` is the heading of the dialog, `text` explains what happens. */
export function ConfirmButton({
  question,
  text,
  action,
  run,
  ...button
}: ButtonProps & { question: string; text: ComponentChildren; action: string; run: () => Promise<unknown> }): JSX.Element {
  return (
    <DialogButton
      {...button}
      dialog={(close) => (
        <Confirm title={question} action={action} run={run} onClose={close}>
          <p>{text}</p>
        </Confirm>
      )}
    />
  );
}
