import { signal } from '@preact/signals';

const isActiveNow = (): boolean => document.visibilityState === 'visible' && document.hasFocus();

/** Whether the user looks at this page: it is visible and has the focus. Only then are messages marked as read. */
export const isPageActive = signal(isActiveNow());

const update = (): void => {
  isPageActive.value = isActiveNow();
};
window.addEventListener('focus', update);
window.addEventListener('blur', update);
document.addEventListener('visibilitychange', update);
