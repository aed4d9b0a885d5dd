import { useSignal } from '@preact/signals';
import { Check, Copy } from 'lucide';
import type { ComponentChildren, JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { Button } from './button.tsx';
import { copyText } from './clipboard.ts';
import { Icon } from './icon.tsx';

const shownMs = 2_000;

/** Copies `text` and shows that it was copied. `what` names the text for a screen reader; `children` is the text on the button. */
export function CopyButton({ text, what, children = 'Copy' }: { text: string; what: string; children?: ComponentChildren }): JSX.Element {
  const copied = useSignal(0);
  useEffect(() => {
    if (copied.value === 0) return undefined;
    const timer = setTimeout(() => (copied.value = 0), shownMs);
    return () => clearTimeout(timer);
  }, [copied.value]);
  const copy = async (): Promise<void> => {
    if (await copyText(text, what)) copied.value++;
  };
  return (
    <Button aria-label={`Copy ${what}`} onClick={() => void copy()}>
      <Icon of={copied.value ? Check : Copy} /> {children}
    </Button>
  );
}
