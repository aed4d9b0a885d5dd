import type { EnqueuePlatform } from '../../lib/store/platform.ts';

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

/**
 * Lets calls that manage a server run without waiting for one another, as they do without Redis: for tests in which one is called within another, where the
 * conditions of the writes decide alone.
 */
export function ignoreManagingWrites({ managingWrites }: Pick<EnqueuePlatform, 'managingWrites'>): void {
  managingWrites.enter = () => Promise.resolve(() => Promise.resolve());
}
