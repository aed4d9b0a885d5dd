import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { Config } from '../../config/index.ts';
import type { GatewayPlatform } from '../../lib/store/platform.ts';
import { type Entry, type EntryHead, readEntry } from '../../lib/store/redis/log/entry.ts';
import { createKeys } from '../../lib/store/redis/log/keys.ts';
import type { LogReader } from '../../lib/store/redis/log/reader.ts';

/** An entry in the log of a place. */
export interface Logged {
  name: string;
  data: Record<string, unknown>;
  head: EntryHead;
}

const toLogged = ({ head, payload }: Entry): Logged => ({
  name: head.name,
  data: JSON.parse(payload.toString()) as Record<string, unknown>,
  head,
});

/** Reads the log of a place, oldest entry first. */
export async function entriesOf({ REDIS_URL, REDIS_PREFIX, LOG_PARTITIONS }: Config, place: string): Promise<Logged[]> {
  const keys = createKeys(REDIS_PREFIX, LOG_PARTITIONS);
  const redis = new Redis(REDIS_URL);
  try {
    const rows = await redis.xrangeBuffer(`${keys.partitionPrefix(keys.partitionOf(place))}log:${place}`, '-', '+');
    return rows.map(([, fields]) => toLogged(readEntry(fields[1] as Buffer) as Entry));
  } finally {
    redis.disconnect();
  }
}

/** Subscribes to these places. Calls `onEntry` for every entry that is appended from now on, including entries missed while Redis was away. */
export async function subscribe(
  gateway: GatewayPlatform,
  places: readonly string[],
  onEntry: (entry: Logged, place: string) => void,
): Promise<Pick<LogReader, 'close'>> {
  const last = new Map<string, number>();
  for (const place of places) last.set(place, (await gateway.readLastNumber(place)) ?? 0);
  let held: { place: string; entry: Entry }[] | null = null;
  let isClosed = false;
  const give = (place: string, entry: Entry): void => {
    if (entry.head.number <= (last.get(place) ?? 0)) return;
    last.set(place, entry.head.number);
    onEntry(toLogged(entry), place);
  };
  const subscribeAll = async (): Promise<void> => {
    for (const place of places) {
      const k = log.partitionOf(place);
      while (!log.isUp(k) && !isClosed) await pause(20);
      await log.subscribe(k, [place]);
    }
  };
  const restore = async (): Promise<void> => {
    await subscribeAll();
    for (const place of places) {
      const [found] = await log.readLogs(log.partitionOf(place), [{ place, after: last.get(place) ?? 0 }]);
      for (const entry of found?.entries ?? []) give(place, entry);
    }
    const since = held ?? [];
    held = null;
    for (const { place, entry } of since) give(place, entry);
  };
  const catchUp = async (): Promise<void> => {
    while (held && !isClosed) await restore().catch(() => pause(20));
  };
  const log = await gateway.openLogReader('test', {
    onEntry: (place, entry) => (held ? void held.push({ place, entry }) : give(place, entry)),
    onControl: () => undefined,
    onInterrupted() {
      if (held) return;
      held = [];
      void catchUp();
    },
  });
  await subscribeAll();
  return {
    close: () => {
      isClosed = true;
      return log.close();
    },
  };
}
