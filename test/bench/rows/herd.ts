import { Redis } from 'ioredis';
import { startGateway } from '../../../apps/gateway/node.ts';
import { createLog } from '../../../lib/base/log.ts';
import { createMetrics } from '../../../lib/base/metrics.ts';
import { openGatewayPlatform, openWorkerPlatform } from '../../../lib/store/platform.ts';
import { serverPlace } from '../../../lib/store/redis/log/keys.ts';
import { monitoredUrl, onDatabaseCommand } from '../../harness/commands.ts';
import { makePeople, makeServers } from '../../harness/seed.ts';
import type { Herd } from '../bare/herd.ts';
import { aboveRow, type Row } from '../report.ts';
import { type Bench, openSetting, startHelper } from '../setting.ts';

const [few, many] = [250, 2_000];
const servers = 20;
/** How many servers each person is in, and how many messages arrived in each server while they were disconnected. */
const [serversEach, missed] = [5, 2];
/** The maximum number of commands per person in each store. */
const maxCommands = 10;

/** Commands per person. */
interface Cost {
  database: number;
  redis: number;
}

/** Counts the commands that this process sends to Redis from now on. */
function countRedis(): () => number {
  let sent = 0;
  const original = Reflect.get(Redis.prototype, 'sendCommand') as (...args: unknown[]) => unknown;
  Redis.prototype.sendCommand = function (...args) {
    sent++;
    return Reflect.apply(original, this, args);
  };
  return () => sent;
}

/** Kills a node with `count` people, who all resume at once on another node in this process. Returns how many commands that node sends to the stores. */
async function resumeHerd(bench: Bench, count: number): Promise<Cost> {
  const setting = await openSetting(bench, { api: 1, gateway: 1, worker: 0 }, { TRUST_PROXY: '1' });
  const silent = createLog('bench', 'silent');
  const config = { ...setting.config, MONGODB_URL: monitoredUrl(setting.config.MONGODB_URL), GATEWAY_PORT: 0 };
  const [platform, worker] = await Promise.all([openGatewayPlatform(config, silent), openWorkerPlatform(setting.config, silent)]);
  const node = await startGateway(platform, createMetrics('gateway'));
  const clients = await startHelper('herd', {});
  const redisCount = countRedis();
  try {
    const people = await makePeople(setting.platform, count);
    const members = Array.from({ length: servers }, (_, at) =>
      people.filter((_person, n) => (n + at) % servers < serversEach).map(({ id }) => ({ id, bot: false })),
    );
    const made = await makeServers(setting.platform, members);
    await clients.ask({ kind: 'identify', url: setting.stack.gatewayUrl(), tokens: people.map(({ token }) => token) });
    await setting.stack.gateways[0]?.stop('SIGKILL');
    for (const { serverId, channelId } of made)
      for (let n = 0; n < missed; n++)
        await worker.eventLog.append(serverPlace(serverId), [
          { id: worker.ids.next(), name: 'MESSAGE_CREATE', payload: JSON.stringify({ channelId, content: 'while away' }), channelId },
        ]);
    let databaseCommands = 0;
    onDatabaseCommand(platform, () => databaseCommands++);
    const before = redisCount();
    const { replayed, ms } = await clients.ask<Herd>({ kind: 'resume', url: `ws://127.0.0.1:${node.port}/gateway?v=1` });
    const cost = { database: databaseCommands / count, redis: (redisCount() - before) / count };
    if (replayed !== count * serversEach * missed) throw new Error(`${replayed} of ${count * serversEach * missed} events were replayed`);
    bench.log(
      `  herd of ${count}: ${(ms / 1000).toFixed(1)} s; ${cost.database.toFixed(1)} database and ${cost.redis.toFixed(1)} Redis commands per person`,
    );
    return cost;
  } finally {
    await clients.close();
    await node.close();
    await Promise.all([platform.close(), worker.close()]);
    await setting.close();
  }
}

/**
 * Commands per person when 2,000 people resume at once after a node was killed, compared with 250. One round is enough, because counts vary less than times.
 */
export async function herdRows(bench: Bench): Promise<Row[]> {
  const [small, large] = [await resumeHerd(bench, few), await resumeHerd(bench, many)];
  const row = (store: keyof Cost): Row =>
    aboveRow(
      `${many.toLocaleString('en')} people resume at once, ${store} commands per person`,
      'commands',
      [large[store]],
      null,
      maxCommands,
    );
  const flat = (store: keyof Cost): Row =>
    aboveRow(`${store} commands per person, above those of ${few} people`, 'commands', [large[store]], [small[store]], 1);
  return [row('database'), row('redis'), flat('database'), flat('redis')];
}
