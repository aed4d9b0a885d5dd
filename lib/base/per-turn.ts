import DataLoader from 'dataloader';

/**
 * Returns a function that loads the value of a key. The keys that are requested in one turn of the event loop are loaded together, at most 500 at a time. `load`
 * returns the values in the order of the keys.
 */
export function perTurn<K, V>(load: (keys: readonly K[]) => Promise<readonly V[]>): (key: K) => Promise<V> {
  const loader = new DataLoader<K, V>(load, { cache: false, maxBatchSize: 500, batchScheduleFn: (run) => void setImmediate(run) });
  return (key) => loader.load(key);
}
