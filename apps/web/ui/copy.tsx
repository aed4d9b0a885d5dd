import { useSignal } from '@preact/signals';
import { Check, Copy } from 'lucide';
import type { ComponentChildren, JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { Button } from './button.tsx';
import { Icon } from './icon.tsx';
import { say } from './toast.tsx';

/** The way of browsers on plain http, where the clipboard is closed: what is selected is copied. It stands in `beside`, as a dialog keeps the focus inside. */
function copySelected(text: string, beside: Element): boolean {
  const field = document.createElement('textarea');
  field.value = text;
  field.className = 'visually-hidden';
  beside.append(field);
  field.select();
  const done = document.execCommand('copy');
  field.remove();
  return done;
}

const shownMs = 2_000;

/** Copies `text`, and says that it did. `what` names it for a screen reader; `children` is what stands on the button. */
export function CopyButton({ text, what, children = 'Copy' }: { text: string; what: string; children?: ComponentChildren }): JSX.Element {
  const copied = useSignal(0);
  useEffect(() => {
    if (copied.value === 0) return undefined;
    const timer = setTimeout(() => (copied.value = 0), shownMs);
    return () => clearTimeout(timer);
  }, [copied.value]);
  const copy = async (button: HTMLElement): Promise<void> => {
    const done = await (navigator.clipboard?.writeText(text) ?? Promise.reject(new Error('closed'))).then(
      () => true,
      () => copySelected(text, button.parentElement ?? document.body),
    );
    button.focus();
    if (done) copied.value++;
    say(done ? `Copied: ${what}.` : 'The browser does not let this page copy. Select the text, then copy it yourself.', !done);
  };
  return (
    <Button aria-label={`Copy ${what}`} onClick={({ currentTarget }) => void copy(currentTarget)}>
      <Icon of={copied.value ? Check : Copy} /> {children}
    </Button>
  );
}
