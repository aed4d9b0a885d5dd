import { say } from './toast.tsx';

/** The way of browsers on plain http, where the clipboard is closed: what is selected is copied. */
function copySelected(text: string): boolean {
  const field = document.createElement('textarea');
  const before = document.activeElement;
  field.value = text;
  field.className = 'visually-hidden';
  (before?.closest('dialog') ?? document.body).append(field);
  field.select();
  const done = document.execCommand('copy');
  field.remove();
  if (before instanceof HTMLElement) before.focus();
  return done;
}

/** Copies a text and says that it did, or that the browser does not let it; `what` names it. Resolves with whether it did. */
export async function copyText(text: string, what: string): Promise<boolean> {
  const done = await (navigator.clipboard?.writeText(text) ?? Promise.reject(new Error('closed'))).then(
    () => true,
    () => copySelected(text),
  );
  say(done ? `Copied ${what}.` : 'The browser does not allow this page to copy. Select the text and copy it.', !done);
  return done;
}
