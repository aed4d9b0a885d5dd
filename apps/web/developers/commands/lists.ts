/** Returns a list with one item replaced. */
export const replaced = <T>(list: readonly T[], at: number, item: T): T[] => list.map((one, index) => (index === at ? item : one));

/** Returns a list without one item. */
export const without = <T>(list: readonly T[], at: number): T[] => list.filter((_one, index) => index !== at);

/** Returns a list with one item moved by one position. */
export function moved<T>(list: readonly T[], at: number, by: 1 | -1): T[] {
  const next = without(list, at);
  next.splice(at + by, 0, list[at] as T);
  return next;
}

/** Wraps a click handler that moves its own button. The browser then removes the focus from the button, so it is focused again. */
export const refocus =
  (work: () => void) =>
  ({ currentTarget }: { currentTarget: HTMLElement }): void => {
    work();
    requestAnimationFrame(() => currentTarget.focus());
  };
