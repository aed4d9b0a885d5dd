import { availableParallelism } from 'node:os';
import { hash, type Options, verify } from '@node-rs/argon2';
import { refuse } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { createNewcomerQueue } from '../../base/newcomer-queue.ts';

/** Argon2id (the library's default kind) at 19 MiB and two passes. */
export const hashOptions: Options = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/**
 * The hash that a login with an unknown username is checked against, so that it takes as long as one with a known username. It has the same cost as
 * `hashOptions`.
 */
export const dummyHash = '$argon2id$v=19$m=19456,t=2,p=1$2ANkgg8Sx7p6SEWfDE6uCg$gim1Kn4TNaJsWgt6eC6J8yiz+RciW11Du5dijwGjItM';

/** How many hashes run at once: at most two, and fewer than there are cores, so that one stays free for everything else; at least one. */
const maxRunning = Math.min(limits.hashesAtOnce, Math.max(1, availableParallelism() - 1));

/**
 * Runs `work`, which hashes a password, in a queue that serves first the addresses and networks that hashed least in the last minute. Hashing uses the thread pool of the process, as file access does, so only a
 * few hashes run at once and the others wait. The process has one queue because it has one pool. Refuses `rate_limited` when too many hashes wait for
 * `address`, and `unavailable` when too many wait in all: then the work of the address that hashed most is refused.
 */
export const queueHash = createNewcomerQueue(
  { maxRunning, maxWaitingPerAddress: limits.hashesWaitingPerAddress, maxWaiting: limits.hashesWaiting, windowMs: limits.loginWindowMs },
  (reason) => {
    if (reason === 'key') refuse('rate_limited', { seconds: 1 }, { retryAfter: 1 });
    refuse('unavailable', undefined, { retryAfter: 2 });
  },
);

/** Hashes a password for storage, in the form NFC: devices type the same letters in different forms. Call it inside `queueHash`. */
export const hashPassword = (password: string): Promise<string> => hash(password.normalize('NFC'), hashOptions);

/**
 * The forms in which a password may have been hashed: NFC, and for hashes of versions that did not normalize as it was typed, which is NFC or NFD in practice.
 * Most passwords have one form.
 */
const listForms = (password: string): string[] => [...new Set([password.normalize('NFC'), password, password.normalize('NFD')])];

/** Whether `password` matches the hash `storedHash`. With null it takes as long as a wrong one and returns false. Call it inside `queueHash`. */
export async function verifyPassword(storedHash: string | null, password: string): Promise<boolean> {
  for (const form of listForms(password)) if ((await verify(storedHash ?? dummyHash, form)) && storedHash !== null) return true;
  return false;
}
