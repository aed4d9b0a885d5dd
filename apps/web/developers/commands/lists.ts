/** A list with one item put in the place of another. */
export const replaced = <T>(list: readonly T[], at: number, item: T): T[] => list.map((one, index) => (index === at ? item : one));

/** A list without one item. */
export const without = <T>(list: readonly T[], at: number): T[] => list.filter((_one, index) => index !== at);

/** A list with one item moved by one place. */
export function moved<T>(list: readonly T[], at: number, by: 1 | -1): T[] {
  const next = without(list, at);
  next.splice(at + by, 0, list[at] as T);
  return next;
}

/** A click that moves its own button along: the focus, which the browser drops then, comes back to it. */
export const refocus =
  (work: () => void) =>
  ({ currentTarget }: { currentTarget: HTMLElement }): void => {
    work();
    requestAnimationFrame(() => currentTarget.focus());
  };
