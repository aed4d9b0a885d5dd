import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { forEachLimit } from '../../../lib/base/for-each-limit.ts';
import { createLog } from '../../../lib/base/log.ts';
import { type GatewayPlatform, openGatewayPlatform, openWorkerPlatform } from '../../../lib/store/platform.ts';
import { serverPlace } from '../../../lib/store/redis/log/keys.ts';
import type { LogReader } from '../../../lib/store/redis/log/reader.ts';
import { figure, multipleRow, type Row } from '../report.ts';
import { type Bench, openSetting } from '../setting.ts';

const sizes = [10, 1_000, 10_000];
const events = 2_000;
/** How many calls run concurrently. */
const concurrency = 8;
/** How many nodes the sessions are spread over. */
const nodes = 2;

/** Redis' CPU time so far, in microseconds. */
async function cpuOf(redis: Redis): Promise<number> {
  const info = await redis.info('cpu');
  const seconds = (name: string): number => Number(new RegExp(`${name}:([\\d.]+)`).exec(info)?.[1]);
  return (seconds('used_cpu_user') + seconds('used_cpu_sys')) * 1e6;
}

/** The Redis CPU time per call, averaged over many calls, in microseconds. */
async function costOf(redis: Redis, call: (n: number) => Promise<unknown>): Promise<number> {
  const before = await cpuOf(redis);
  let next = 0;
  const run = async (): Promise<void> => {
    while (next < events) await call(next++);
  };
  await Promise.all(Array.from({ length: concurrency }, run));
  return ((await cpuOf(redis)) - before) / events;
}

/** Opens `count` sessions, each of a different account, on nodes that subscribe to the place; returns the nodes' log readers. */
async function openSessions(gateway: GatewayPlatform, place: string, count: number): Promise<LogReader[]> {
  const ignore = { onEntry: () => undefined, onControl: () => undefined, onInterrupted: () => undefined };
  const names = Array.from({ length: nodes }, (_, at) => `${place}-${at}`);
  const readers = await Promise.all(names.map((name) => gateway.openLogReader(name, ignore)));
  for (const reader of readers) {
    const k = reader.partitionOf(place);
    while (!reader.isUp(k)) await sleep(10);
    await reader.subscribe(k, [place]);
  }
  const ids = Array.from({ length: count }, () => gateway.ids.next());
  const open = (id: string): Promise<void> => {
    const node = names[Number(id.slice(-3)) % nodes] as string;
    return gateway.sessions.open({ id, accountId: id, events: [], node, owner: `${node}-${id}` });
  };
  await forEachLimit(ids, 200, open);
  return readers;
}

/** Redis CPU time of an append to a place with different numbers of sessions, compared with a bare XADD and PUBLISH to the same number of nodes. */
export async function appendRows(bench: Bench): Promise<Row[]> {
  const setting = await openSetting(bench, { api: 0, gateway: 0, worker: 0 });
  const silent = createLog('bench', 'silent');
  const [worker, gateway] = await Promise.all([openWorkerPlatform(setting.config, silent), openGatewayPlatform(setting.config, silent)]);
  const redis = new Redis(setting.config.REDIS_URL);
  const [channelId, payload] = [worker.ids.next(), JSON.stringify({ content: 'x'.repeat(500) })];
  const readers: LogReader[] = [];
  try {
    const ours = new Map<number, number[]>(sizes.map((size) => [size, []]));
    const bare = new Map<number, number[]>(sizes.map((size) => [size, []]));
    for (const size of sizes) {
      const place = serverPlace(worker.ids.next());
      const opened = await openSessions(gateway, place, size);
      const subscribers = await Promise.all(
        opened.map(async () => {
          const subscriber = redis.duplicate();
          await subscriber.subscribe(`bare:${place}`);
          return subscriber;
        }),
      );
      readers.push(...opened);
      const append = (): Promise<unknown> =>
        worker.eventLog.append(place, [{ id: worker.ids.next(), name: 'MESSAGE_CREATE', payload, channelId }]);
      const xaddAndPublish = (): Promise<unknown> =>
        redis.multi().xadd(`bare:log:${place}`, 'MAXLEN', '~', '5000', '*', 'm', payload).publish(`bare:${place}`, payload).exec();
      for (let i = 0; i < bench.rounds + 1; i++) {
        const [mine, limit] = [await costOf(redis, append), await costOf(redis, xaddAndPublish)];
        if (i === 0) continue; // the first round warms up
        ours.get(size)?.push(mine);
        bare.get(size)?.push(limit);
      }
      for (const subscriber of subscribers) subscriber.disconnect();
    }
    const of = (rounds: Map<number, number[]>, size: number): number[] => rounds.get(size) ?? [];
    const least = figure(of(ours, sizes[0] as number)).median;
    const most = of(ours, sizes.at(-1) as number);
    return [
      ...sizes.map((size) =>
        multipleRow(`append, ${size.toLocaleString('en')} sessions in the place, CPU of Redis`, 'µs', of(ours, size), of(bare, size), 3),
      ),
      multipleRow('append, 10,000 sessions compared with 10', 'µs', most, [least], 1.3),
    ];
  } finally {
    for (const reader of readers) await reader.close();
    redis.disconnect();
    await Promise.all([worker.close(), gateway.close()]);
    await setting.close();
  }
}
