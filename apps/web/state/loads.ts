import { batch } from '@preact/signals';

/** A load in progress: the changes that came during it, and whether it wants those of messages, too. */
interface Load {
  readonly changes: (() => void)[];
  readonly wantsMessages: boolean;
}

const loads = new Set<Load>();

/** Has a change made again after each load in progress, because what is loaded may be older. `isMessage`: whether it changes messages or what counts them. */
export function repeatAfterLoads(change: () => void, isMessage: boolean): void {
  for (const load of loads) if (load.wantsMessages || !isMessage) load.changes.push(change);
}

/** Loads something and applies it, then the changes that came meanwhile. Returns what was loaded. */
export async function applyLoad<T>(load: () => Promise<T>, apply: (loaded: T) => void, wantsMessages = false): Promise<T> {
  const current: Load = { changes: [], wantsMessages };
  loads.add(current);
  try {
    const loaded = await load();
    batch(() => {
      apply(loaded);
      for (const change of current.changes) change();
    });
    return loaded;
  } finally {
    loads.delete(current);
  }
}
