import { createExpiringNames } from './expiring-names.ts';
import type { Keys } from './log/keys.ts';
import type { RedisClient } from './redis.ts';

/** How long an address stays registered after it was last registered, in milliseconds. */
const leaseMs = 20_000;
/** How often a process registers its address again, in milliseconds. */
const registerIntervalMs = 5_000;

/** A live process of the installation, and the URL at which it serves its metrics and its health check. */
export interface ProcessAddress {
  /** `<role>:<random>`. */
  name: string;
  url: string;
}

/** The addresses of all live processes, by which the operators' overview finds their metrics (docs/operations.md#metrics). */
export interface ProcessAddresses {
  /** Registers a process for 20 s. Rejects while Redis is unavailable. */
  registerProcess(address: ProcessAddress): Promise<void>;
  /** Removes a process that stops. Rejects while Redis is unavailable. */
  unregisterProcess(address: ProcessAddress): Promise<void>;
  /** The live processes in the order of their names, at most 1,000. Rejects while Redis is unavailable. */
  listProcesses(): Promise<ProcessAddress[]>;
}

/**
 * Registers a process until the returned function is called, and resolves when the first try has ended. While Redis is unavailable it tries again every 5 s, and
 * the address of a process that stops expires.
 */
export async function keepRegistered(
  addresses: Pick<ProcessAddresses, 'registerProcess' | 'unregisterProcess'>,
  address: ProcessAddress,
): Promise<() => Promise<void>> {
  const register = (): Promise<void> => addresses.registerProcess(address).catch(() => undefined);
  await register();
  const timer = setInterval(() => void register(), registerIntervalMs);
  return async () => {
    clearInterval(timer);
    await addresses.unregisterProcess(address).catch(() => undefined);
  };
}

const toEntry = ({ name, url }: ProcessAddress): string => `${name} ${url}`;

/** Binds the addresses of one installation to `redis`. */
export function createProcessAddresses(redis: RedisClient, keys: Keys): ProcessAddresses {
  const names = createExpiringNames(redis);
  const key = `${keys.partitionPrefix(0)}processes`;
  return {
    registerProcess: (address) => names.add(key, toEntry(address), leaseMs),
    unregisterProcess: async (address) => void (await names.remove(key, toEntry(address))),
    listProcesses: async () =>
      (await names.list(key)).toSorted().map((entry) => {
        const [name = '', url = ''] = entry.split(' ');
        return { name, url };
      }),
  };
}
