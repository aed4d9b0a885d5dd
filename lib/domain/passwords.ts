import { availableParallelism } from 'node:os';
import { hash, type Options, verify } from '@node-rs/argon2';
import { refuse } from '../base/errors.ts';
import { createFairQueue } from '../base/fair-queue.ts';
import { limits } from '../base/limits.ts';

/** Argon2id (the library's default kind) at 19 MiB and two passes. */
export const hashing: Options = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** What a login of an unknown name is checked against, so that it takes as long as one of a known name. Of the same cost as `hashing`. */
export const nobodysHash = '$argon2id$v=19$m=19456,t=2,p=1$2ANkgg8Sx7p6SEWfDE6uCg$gim1Kn4TNaJsWgt6eC6J8yiz+RciW11Du5dijwGjItM';

/** How many hashes run at once: two, and a core is left to everything else. */
const atOnce = Math.min(limits.hashesAtOnce, Math.max(1, availableParallelism() - 1));

/**
 * Runs `work`, which hashes a password, in the turn of `address`. Hashing runs in the process' thread pool, which reading and writing files shares, so few
 * hashes run at once and the rest waits. One queue for the process, as the pool is. Refuses `rate_limited` and `unavailable` when too many wait.
 */
export const takeHashTurn = createFairQueue(
  { atOnce, waitingPerKey: limits.hashesWaitingPerAddress, waitingInAll: limits.hashesWaiting },
  (why) => {
    if (why === 'key') refuse('rate_limited', { seconds: 1 }, { retryAfter: 1 });
    refuse('unavailable', undefined, { retryAfter: 2 });
  },
);

/** The hash under which a password is stored. To be run in a turn of `takeHashTurn`. */
export const hashPassword = (password: string): Promise<string> => hash(password, hashing);

/** Whether a password is the one behind `stored`; null takes as long, and is never right. To be run in a turn of `takeHashTurn`. */
export const isPassword = async (stored: string | null, password: string): Promise<boolean> =>
  (await verify(stored ?? nobodysHash, password)) && stored !== null;
