import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { asApiError } from '../api/call.ts';
import { readStored, writeStored } from './browser-storage.ts';

const toasts = signal<readonly { id: number; text: string; isError: boolean }[]>([]);
const shownMs = 6_000;
const maxToasts = 4;
let count = 0;

/** Shows a short message at the edge of the page for a few seconds, for messages that are not shown anywhere else on the page. */
export function showToast(text: string, isError = false): void {
  const id = ++count;
  toasts.value = [...toasts.value, { id, text, isError }].slice(-maxToasts);
  setTimeout(() => {
    toasts.value = toasts.value.filter((one) => one.id !== id);
  }, shownMs);
}

const keptKey = 'parlance.toast';

/** Keeps a message for the page that this tab loads next. */
export const keepToast = (text: string): void => writeStored(keptKey, text, 'sessionStorage');

/** Shows the message that the page before has kept. */
function showKeptToast(): void {
  const text = readStored(keptKey, 'sessionStorage');
  if (!text) return;
  writeStored(keptKey, '', 'sessionStorage');
  showToast(text);
}

/** Shows the error of an action that has no form of its own, such as a reaction or a pin. */
export const showError = (fault: unknown): void => {
  const { message, missing } = asApiError(fault);
  showToast(missing.length ? `${message} Missing permissions: ${missing.join(', ')}.` : message, true);
};

/** Shows the messages of `showToast`. Rendered once per page. */
export function Toasts(): JSX.Element {
  useEffect(showKeptToast, []);
  return (
    <div class="toasts" role="status">
      {toasts.value.map(({ id, text, isError }) => (
        <p key={id} class={isError ? 'bad' : ''}>
          {text}
        </p>
      ))}
    </div>
  );
}
