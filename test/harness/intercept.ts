import type { EnqueuePlatform, WorkerPlatform } from '../../lib/store/platform.ts';

type Method = (...args: unknown[]) => Promise<unknown>;

/** Replaces the next call of `target[name]` with `act`, which can make the call with `real`. Use it to act just before or after one database call. */
export function interceptNext(target: object, name: string, act: (real: () => Promise<unknown>) => Promise<unknown>): void {
  const held = target as Record<string, Method>;
  const real = held[name] as Method;
  held[name] = (...args) => {
    held[name] = real;
    return act(() => Reflect.apply<unknown, unknown[], Promise<unknown>>(real, target, args));
  };
}

/** Stops the next call of one of these methods just before it is made. Resolves when a call is stopped, with the function that lets it continue. */
export const holdNext = (targets: readonly object[], names: readonly string[]): Promise<() => void> =>
  new Promise((reached) => {
    let isHeld = false;
    const hold = async (real: () => Promise<unknown>): Promise<unknown> => {
      if (!isHeld) {
        isHeld = true;
        await new Promise<void>((go) => reached(go));
      }
      return real();
    };
    for (const target of targets) for (const name of names) interceptNext(target, name, hold);
  });

/**
 * Runs `act` just before the next query made by `collection[method]` is sent to the database. This makes another request's effect arrive at the worst moment, every
 * time. For races that parallel requests rarely trigger.
 */
export const beforeNextQuery = (collection: object, method: string, act: () => Promise<unknown>): void =>
  interceptNext(collection, method, (real) => act().then(real));

/**
 * Lets calls that manage a server run without waiting for each other, as they do without Redis. For tests that make one call within another, in which only the
 * conditions of the writes decide.
 */
export function ignoreManagingWrites({ managingWrites }: Pick<EnqueuePlatform, 'managingWrites'>): void {
  managingWrites.begin = () => Promise.resolve(() => Promise.resolve());
}

/** Lets queues take every job while no worker runs: most tests run none, so that what they enqueue is never taken. */
export function admitWithoutWorker({ jobs, readWorkerHeartbeat, now }: EnqueuePlatform): void {
  const { hasRoom } = jobs;
  const isWorkerLive = async (): Promise<boolean> => ((await readWorkerHeartbeat()) ?? 0) > now() - 3_000;
  Object.assign(jobs, { hasRoom: async (...asked: Parameters<typeof hasRoom>) => !(await isWorkerLive()) || hasRoom(...asked) });
}

/** A worker whose functions of the log are replaced by `own`. */
export const withLog = (worker: WorkerPlatform, own: Partial<WorkerPlatform['eventLog']>): WorkerPlatform => ({
  ...worker,
  eventLog: { ...worker.eventLog, ...own },
});
