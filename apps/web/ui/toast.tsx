import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { asApiError } from '../api/call.ts';

const toasts = signal<readonly { id: number; text: string; bad: boolean }[]>([]);
const shownMs = 6_000;
const most = 4;
let count = 0;

/** Shows a short message at the edge of the page for a few seconds, for messages that have no place of their own on the page. */
export function say(text: string, bad = false): void {
  const id = ++count;
  toasts.value = [...toasts.value, { id, text, bad }].slice(-most);
  setTimeout(() => {
    toasts.value = toasts.value.filter((one) => one.id !== id);
  }, shownMs);
}

/** Shows the error of an action that has no form of its own, such as a reaction or a pin. */
export const sayRefusal = (fault: unknown): void => {
  const { message, missing } = asApiError(fault);
  say(missing.length ? `${message} Missing: ${missing.join(', ')}.` : message, true);
};

/** Shows the messages of `say`. Rendered once per page. */
export function Toasts(): JSX.Element {
  return (
    <div class="toasts" role="status">
      {toasts.value.map(({ id, text, bad }) => (
        <p key={id} class={bad ? 'bad' : ''}>
          {text}
        </p>
      ))}
    </div>
  );
}
