/** Gives a slot back; calling it again does nothing. */
export type Release = () => void;

/** Waits for a slot of `key`. */
export type Acquire = (key: string) => Promise<Release>;

/**
 * Slots that are shared fairly: at most `inAll` are taken at once, at most `perKey` of them by one key. A free slot goes to the keys in turn, however many
 * requests of one key wait. The caller bounds how many wait.
 */
export function createFairSlots({ inAll, perKey }: { inAll: number; perKey: number }): Acquire {
  const lanes = new Map<string, { taken: number; waiting: (() => void)[] }>();
  let taken = 0;
  const serve = (): void => {
    for (const lane of lanes.values()) {
      if (taken >= inAll) return;
      if (lane.taken >= perKey || lane.waiting.length === 0) continue;
      lane.taken++;
      taken++;
      lane.waiting.shift()?.();
    }
  };
  const release = (key: string): Release => {
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      const lane = lanes.get(key);
      taken--;
      lanes.delete(key);
      if (lane && (--lane.taken > 0 || lane.waiting.length > 0)) lanes.set(key, lane); // the last of the keys now
      serve();
    };
  };
  return async (key) => {
    const lane = lanes.get(key) ?? { taken: 0, waiting: [] };
    lanes.set(key, lane);
    const turn = new Promise<void>((resolve) => lane.waiting.push(resolve));
    serve();
    await turn;
    return release(key);
  };
}
