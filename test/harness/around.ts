import type { EnqueuePlatform } from '../../lib/store/platform.ts';

type Method = (...args: unknown[]) => Promise<unknown>;

/** Replaces the next call of `target[name]` with `act`, which can make the call with `real`. Use it to act just before or after one database call. */
export function around(target: object, name: string, act: (real: () => Promise<unknown>) => Promise<unknown>): void {
  const held = target as Record<string, Method>;
  const real = held[name] as Method;
  held[name] = (...args) => {
    held[name] = real;
    return act(() => Reflect.apply<unknown, unknown[], Promise<unknown>>(real, target, args));
  };
}

/**
 * Lets calls that manage a server run without waiting for each other, as they do without Redis. For tests that make one call within another, in which only the
 * conditions of the writes decide.
 */
export function ignoreManagingWrites({ managingWrites }: Pick<EnqueuePlatform, 'managingWrites'>): void {
  managingWrites.enter = () => Promise.resolve(() => Promise.resolve());
}
