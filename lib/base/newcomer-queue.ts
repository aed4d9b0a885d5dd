import { LRUCache } from 'lru-cache';
import { listNetworks } from './client-address.ts';
import type { QueueFull } from './fair-queue.ts';

/** How many pieces of work a queue runs at once and keeps waiting, and for how long it remembers that an address has used it. */
interface NewcomerQueueOptions {
  maxRunning: number;
  maxWaitingPerAddress: number;
  maxWaiting: number;
  windowMs: number;
}

/** How many networks are remembered. */
const networksMax = 30_000;

/** A waiting piece of work. `networks` are those of its address, the widest first. */
interface Waiter {
  networks: readonly string[];
  start: () => void;
  refuse: () => void;
}

/**
 * Creates a queue that serves first who has used it least in the last `windowMs`, so that a new address need not wait for others, however many addresses these
 * have. The uses of an IPv6 address are those of its /48, then its /56, then its /64; those of an IPv4 address are its own. Of equals the newest is served first:
 * under overload it is the one whose client still waits. If too much work waits, the last in this order is refused, which may be work that has waited before:
 * it throws what `onFull` throws, as does work beyond `maxWaitingPerAddress`.
 */
export function createNewcomerQueue(
  { maxRunning, maxWaitingPerAddress, maxWaiting, windowMs }: NewcomerQueueOptions,
  onFull: (reason: QueueFull) => never,
): <T>(address: string, work: () => Promise<T>) => Promise<T> {
  /** How often each network has used the queue since it first did in the current window. */
  const uses = new LRUCache<string, number>({ max: networksMax, ttl: windowMs, noUpdateTTL: true });
  /** Oldest first. */
  const waiting: Waiter[] = [];
  let running = 0;

  /** Whether `one` is served before `other`, which came earlier. */
  const isBefore = (one: Waiter, other: Waiter): boolean => {
    for (let level = 0; level < Math.max(one.networks.length, other.networks.length); level++) {
      const difference = (uses.get(one.networks[level] ?? '') ?? 0) - (uses.get(other.networks[level] ?? '') ?? 0);
      if (difference !== 0) return difference < 0;
    }
    return true;
  };
  const findFirst = (): Waiter | undefined =>
    waiting.reduce<Waiter | undefined>((first, one) => (first && !isBefore(one, first) ? first : one), undefined);
  const findLast = (): Waiter | undefined =>
    waiting.reduce<Waiter | undefined>((last, one) => (last && isBefore(one, last) ? last : one), undefined);
  const remove = (waiter: Waiter): unknown => waiting.splice(waiting.indexOf(waiter), 1);

  /** Waits for a free slot. */
  const wait = (networks: readonly string[]): Promise<void> =>
    new Promise((start, reject) => {
      const refuse = (): void => {
        try {
          onFull('all');
        } catch (error) {
          reject(error);
        }
      };
      waiting.push({ networks, start, refuse });
      const last = waiting.length > maxWaiting ? findLast() : undefined;
      if (!last) return;
      remove(last);
      last.refuse();
    });

  return async (address, work) => {
    const networks = listNetworks(address);
    for (const network of networks) uses.set(network, (uses.get(network) ?? 0) + 1);
    if (running < maxRunning) running++;
    else {
      if (waiting.filter((one) => one.networks.at(-1) === networks.at(-1)).length >= maxWaitingPerAddress) onFull('key');
      await wait(networks); // whoever starts it leaves it the slot
    }
    try {
      return await work();
    } finally {
      const next = findFirst();
      if (next) {
        remove(next);
        next.start();
      } else running--;
    }
  };
}
