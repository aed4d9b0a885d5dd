import { signal } from '@preact/signals';

const now = (): boolean => document.visibilityState === 'visible' && document.hasFocus();

/** Whether the user looks at this page: it is visible and has the focus. Only then are messages marked as read. */
export const attended = signal(now());

const look = (): void => {
  attended.value = now();
};
window.addEventListener('focus', look);
window.addEventListener('blur', look);
document.addEventListener('visibilitychange', look);
