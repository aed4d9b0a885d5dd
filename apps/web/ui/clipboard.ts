import { showToast } from './toast.tsx';

/** Copies by selecting the text, for browsers on plain HTTP, where the clipboard API is not available. */
function copySelected(text: string): boolean {
  const field = document.createElement('textarea');
  const previousFocus = document.activeElement;
  field.value = text;
  field.className = 'visually-hidden';
  (previousFocus?.closest('dialog') ?? document.body).append(field);
  field.select();
  const done = document.execCommand('copy');
  field.remove();
  if (previousFocus instanceof HTMLElement) previousFocus.focus();
  return done;
}

/** Copies a text and shows a message that it was copied, or that the browser does not allow it. `what` names the text. Returns whether it was copied. */
export async function copyText(text: string, what: string): Promise<boolean> {
  const done = await (navigator.clipboard?.writeText(text) ?? Promise.reject(new Error('closed'))).then(
    () => true,
    () => copySelected(text),
  );
  showToast(done ? `Copied ${what}.` : 'Your browser doesn’t allow this page to copy. Select the text and copy it yourself.', !done);
  return done;
}
