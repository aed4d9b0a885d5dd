/**
 * Keeps the keys of an input method's composition from all key handlers of the page: the Enter that confirms a composition only confirms it. Some browsers
 * send that key after the composition has ended, with the key code 229. Must be called before any part of the page adds its handlers.
 */
export function hideCompositionKeys(): void {
  addEventListener(
    'keydown',
    (event) => {
      if (!event.isComposing && event.keyCode !== 229) return;
      event.stopImmediatePropagation();
      // A form must not be submitted either. The input method has got the key already.
      if (event.key === 'Enter') event.preventDefault();
    },
    { capture: true },
  );
}
