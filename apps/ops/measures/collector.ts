import type { Running } from '../../../lib/base/process.ts';
import type { OpsPlatform } from '../../../lib/store/platform.ts';
import type { GroupId, Overview } from '../page/rows.ts';
import { groupsOf } from './groups.ts';
import { addReading, type History } from './history.ts';
import { createLastHour } from './last-hour.ts';
import { createReader } from './reading.ts';
import { readSamples, scrapeProcesses } from './scrape.ts';

/** How often the metrics are collected, in milliseconds. */
const collectIntervalMs = 5_000;

/** Collects the metrics of all processes and stores, and keeps what the overview shows of the last hour. */
export interface Collector extends Running {
  /** The overview as of the last collection; it waits for the first one. */
  getOverview(): Promise<Overview>;
}

const round = (value: number | null): number | null => (value === null || !Number.isFinite(value) ? null : Number(value.toPrecision(4)));

/**
 * Starts to collect, at once and then every 5 s. The addresses of the processes are in Redis; while it is unavailable, those of the last collection are used.
 * Other ops processes are not asked, because their measures of the stores are the same as those of `measureStores`, the measures of this one.
 */
export function startCollector(platform: OpsPlatform, measureStores: () => Promise<string>, intervalMs = collectIntervalMs): Collector {
  const lastHour = createLastHour();
  const read = createReader();
  let addresses: Awaited<ReturnType<OpsPlatform['listProcesses']>> | null = null;
  let history: History = [];
  let collectedAt = performance.now();
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;

  const collect = async (): Promise<void> => {
    addresses = await platform.listProcesses().catch(() => addresses);
    const others = addresses?.filter(({ name }) => !name.startsWith('ops:'));
    const [stores, scraped] = await Promise.all([measureStores(), others && scrapeProcesses(others)]);
    collectedAt = performance.now();
    const samples = [...readSamples(stores), ...(scraped?.samples ?? [])];
    history = addReading(history, read(samples, scraped?.processes ?? null, collectedAt));
    for (const [id, rows] of Object.entries(groupsOf(history)))
      for (const { name, value } of rows) if (value !== undefined) lastHour.record(`${id} ${name}`, round(value), collectedAt);
  };
  const collectNext = async (): Promise<void> => {
    try {
      await collect();
    } catch (error) {
      platform.log.warn({ err: error }, 'could not collect the metrics of the processes');
    }
    const startNext = (): void => {
      current = collectNext();
    };
    if (!isClosed) timer = setTimeout(startNext, intervalMs);
  };
  let current = collectNext();
  const first = current;
  const toRows = (id: GroupId, rows: ReturnType<typeof groupsOf>[GroupId]): Overview['groups'][GroupId] =>
    rows
      .filter(({ isHidden }) => !isHidden)
      .map(({ name, now, value, assessment }) => ({
        name,
        now,
        assessment,
        lastHour: value === undefined ? [] : lastHour.read(`${id} ${name}`, performance.now()),
      }));
  return {
    getOverview: async () => {
      await first;
      const groups = Object.entries(groupsOf(history)).map(([id, rows]) => [id, toRows(id as GroupId, rows)]);
      return { ageMs: Math.round(performance.now() - collectedAt), groups: Object.fromEntries(groups) as Overview['groups'] };
    },
    close: async () => {
      isClosed = true;
      clearTimeout(timer);
      await current;
    },
  };
}
