type Method = (...args: unknown[]) => Promise<unknown>;

/** Puts `act` around the next call of `target[name]`; `real` makes it. For what comes just before or after one call to the database. */
export function around(target: object, name: string, act: (real: () => Promise<unknown>) => Promise<unknown>): void {
  const held = target as Record<string, Method>;
  const real = held[name] as Method;
  held[name] = (...args) => {
    held[name] = real;
    return act(() => Reflect.apply<unknown, unknown[], Promise<unknown>>(real, target, args));
  };
}
