import { Redis } from 'ioredis';
import { startApi } from '../../apps/api/listen.ts';
import { startGateway } from '../../apps/gateway/node.ts';
import { readConfig } from '../../config/index.ts';
import { createLog } from '../../lib/base/log.ts';
import { createMetrics } from '../../lib/base/metrics.ts';
import { openApiPlatform, openGatewayPlatform, openWorkerPlatform, type Platform } from '../../lib/store/platform.ts';
import { heartbeatIntervalMs } from '../../lib/store/redis/worker-shares.ts';
import { handlers, wakeHandlers } from '../../workers/handlers.ts';
import { monitoredUrl, onDatabaseCommand } from '../harness/commands.ts';
import { type Bench, openSetting } from './setting.ts';

const reads = new Set(['find', 'aggregate', 'count', 'distinct', 'getMore']);
const writes = new Set(['insert', 'update', 'delete', 'findAndModify', 'bulkWrite']);

/** What work costs the stores: reads and writes of the database, and commands of Redis. */
export interface StoreCost {
  reads: number;
  writes: number;
  commands: number;
}

/** All roles in this process, without the sweeps, so that their commands can be counted. */
export interface Counted {
  platform: Awaited<ReturnType<typeof openApiPlatform>>;
  apiUrl: string;
  gatewayUrl: string;
  /** The cost of one of `count` runs of `work`, without what the roles do anyway in the same time. */
  costOf(count: number, work: () => Promise<void>): Promise<StoreCost>;
  close(): Promise<void>;
}

/** How many commands Redis has run so far. */
async function readCommandCount(redis: Redis): Promise<number> {
  const stats = await redis.info('commandstats');
  return [...stats.matchAll(/:calls=(\d+)/g)].reduce((sum, [, calls]) => sum + Number(calls), 0);
}

/** How long the work after the last response takes, such as acknowledgements of the relay, in milliseconds. */
const settleMs = 500;

/** Starts all roles in this process on a fresh database of `bench`. */
export async function openCounted(bench: Bench, overrides: Record<string, string> = {}): Promise<Counted> {
  const setting = await openSetting(bench, { api: 0, gateway: 0, worker: 0 }, overrides);
  const config = readConfig({
    ...setting.env,
    MONGODB_URL: monitoredUrl(setting.env.MONGODB_URL ?? ''),
    PORT: '0',
    GATEWAY_PORT: '0',
    HEARTBEAT_INTERVAL_MS: '300000',
    STORE_TIMEOUT_FACTOR: '20',
  });
  const log = createLog('bench', 'silent');
  const used = { reads: 0, writes: 0 };
  const counted = <P extends Platform>(platform: P): P => {
    onDatabaseCommand(platform, ({ commandName }) => {
      if (reads.has(commandName)) used.reads++;
      if (writes.has(commandName)) used.writes++;
    });
    return platform;
  };
  const platform = counted(await openApiPlatform(config, log));
  const worker = counted(await openWorkerPlatform(config, log));
  const nodePlatform = counted(await openGatewayPlatform(config, log));
  const api = await startApi(platform, createMetrics('api'));
  await worker.shares.recordHeartbeat();
  const heartbeat = setInterval(() => void worker.shares.recordHeartbeat().catch(() => undefined), heartbeatIntervalMs);
  const work = [worker.startConsumers(handlers, () => undefined), worker.startWakes(wakeHandlers, () => undefined)];
  const gateway = await startGateway(nodePlatform, createMetrics('gateway'));
  const redis = new Redis(config.REDIS_URL);
  const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
  const measure = async (run: () => Promise<void>): Promise<StoreCost> => {
    const before = { ...used, commands: await readCommandCount(redis) };
    await run();
    const commands = await readCommandCount(redis);
    return { reads: used.reads - before.reads, writes: used.writes - before.writes, commands: commands - before.commands };
  };
  return {
    platform,
    apiUrl: `http://127.0.0.1:${api.port}/api`,
    gatewayUrl: `ws://127.0.0.1:${gateway.port}`,
    async costOf(count, run) {
      const began = performance.now();
      const all = await measure(async () => {
        await run();
        await wait(settleMs);
      });
      const tookMs = performance.now() - began;
      const idle = await measure(() => wait(tookMs));
      const one = (what: keyof StoreCost): number => (all[what] - idle[what]) / count;
      return { reads: one('reads'), writes: one('writes'), commands: one('commands') };
    },
    async close() {
      clearInterval(heartbeat);
      await gateway.close();
      for (const one of work) await one.close();
      await api.close();
      redis.disconnect();
      for (const one of [nodePlatform, worker, platform]) await one.close();
      await setting.close();
    },
  };
}
