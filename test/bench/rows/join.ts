import { Redis } from 'ioredis';
import { WebSocket } from 'ws';
import { startApi } from '../../../apps/api/listen.ts';
import { startGateway } from '../../../apps/gateway/node.ts';
import { readConfig } from '../../../config/index.ts';
import { createLog } from '../../../lib/base/log.ts';
import { createMetrics } from '../../../lib/base/metrics.ts';
import { openApiPlatform, openGatewayPlatform, openWorkerPlatform, type Platform } from '../../../lib/store/platform.ts';
import { handlers, wakeHandlers } from '../../../workers/handlers.ts';
import { monitoredUrl, onDatabaseCommand } from '../../harness/commands.ts';
import { fillServer, giveTokens, seedServer } from '../../harness/seed.ts';
import { multipleRow, type Row } from '../report.ts';
import { type Bench, openSetting, startHelper } from '../setting.ts';

const sizes = [50, 5_000] as const;
const joins = 20;
const reads = new Set(['find', 'aggregate', 'count', 'distinct', 'getMore']);

/** The cost of one join: reads from the database and Redis commands. */
interface Cost {
  reads: number;
  commands: number;
}

/** How many commands Redis has run so far. */
async function commandsOf(redis: Redis): Promise<number> {
  const stats = await redis.info('commandstats');
  return [...stats.matchAll(/:calls=(\d+)/g)].reduce((sum, [, calls]) => sum + Number(calls), 0);
}

/** A bot that calls `onJoin` at each MEMBER_ADD. */
function connectWitness(url: string, token: string, onJoin: () => void): Promise<WebSocket> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, { perMessageDeflate: false });
    socket.on('error', reject);
    socket.on('message', (data: Buffer) => {
      const frame = JSON.parse(data.toString()) as { op: number; t?: string };
      if (frame.op === 10) socket.send(JSON.stringify({ op: 2, d: { token, events: ['MEMBER_ADD'] } }));
      else if (frame.t === 'READY') resolve(socket);
      else if (frame.t === 'MEMBER_ADD') onJoin();
    });
  });
}

/**
 * The cost of a join with `online` members online, for each round. All roles run in this process, without the sweeps, so that their commands can be counted.
 */
async function costsWith(bench: Bench, online: number): Promise<Cost[]> {
  const setting = await openSetting(bench, { api: 0, gateway: 0, worker: 0 });
  const config = readConfig({
    ...setting.env,
    MONGODB_URL: monitoredUrl(setting.env.MONGODB_URL ?? ''),
    PORT: '0',
    GATEWAY_PORT: '0',
    HEARTBEAT_INTERVAL_MS: '300000',
    STORE_TIMEOUT_FACTOR: '20',
  });
  const log = createLog('bench', 'silent');
  let read = 0;
  const counted = <P extends Platform>(platform: P): P => {
    onDatabaseCommand(platform, ({ commandName }) => void (reads.has(commandName) && read++));
    return platform;
  };
  const platform = counted(await openApiPlatform(config, log));
  const worker = counted(await openWorkerPlatform(config, log));
  const nodePlatform = counted(await openGatewayPlatform(config, log));
  const api = await startApi(platform, createMetrics('api'));
  const work = [worker.startConsumers(handlers, () => undefined), worker.startWakes(wakeHandlers, () => undefined)];
  const gateway = await startGateway(nodePlatform, createMetrics('gateway'));
  const swarm = await startHelper('swarm', {});
  const redis = new Redis(config.REDIS_URL);
  const sockets: WebSocket[] = [];
  try {
    const seeded = await seedServer(platform, { bots: 1, channels: 1 });
    const lobby = await seedServer(platform, { bots: 0, channels: 1 });
    const members = await fillServer(platform, seeded.serverId, online, 'member');
    const newcomers = await giveTokens(platform, await fillServer(platform, lobby.serverId, (bench.rounds + 1) * joins, 'newcomer'));
    const url = `ws://127.0.0.1:${gateway.port}`;
    await swarm.ask({ kind: 'connect', urls: [url], tokens: await giveTokens(platform, members) });
    let joined = (): void => undefined;
    sockets.push(await connectWitness(url, seeded.bots[0]?.token ?? '', () => joined()));
    const post = async (path: string, token: string): Promise<{ code: string }> => {
      const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
      const answer = await fetch(`http://127.0.0.1:${api.port}/api${path}`, { method: 'POST', headers, body: '{}' });
      if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
      return (await answer.json()) as { code: string };
    };
    const { code } = await post(`/servers/${seeded.serverId}/invites`, seeded.ownerToken);
    const costs: Cost[] = [];
    for (let round = 0; round < bench.rounds + 1; round++) {
      const [readBefore, commandsBefore, began] = [read, await commandsOf(redis), performance.now()];
      for (let n = 0; n < joins; n++) {
        const arrived = new Promise<void>((resolve) => {
          joined = resolve;
        });
        await post(`/invites/${code}`, newcomers.pop() ?? '');
        await arrived;
      }
      const [readAfter, commandsAfter, tookMs] = [read, await commandsOf(redis), performance.now() - began];
      // The same time without a join, to subtract the work that the roles do anyway.
      await new Promise((resolve) => setTimeout(resolve, tookMs));
      const idle: Cost = { reads: read - readAfter, commands: (await commandsOf(redis)) - commandsAfter };
      if (round === 0) continue; // the first round warms up
      costs.push({
        reads: (readAfter - readBefore - idle.reads) / joins,
        commands: (commandsAfter - commandsBefore - idle.commands) / joins,
      });
    }
    return costs;
  } finally {
    for (const socket of sockets) socket.terminate();
    await swarm.close();
    await gateway.close();
    for (const one of work) await one.close();
    await api.close();
    redis.disconnect();
    for (const one of [nodePlatform, worker, platform]) await one.close();
    await setting.close();
  }
}

/** The cost of one join for the stores in a server with 5,000 members online, compared with 50. */
export async function joinRows(bench: Bench): Promise<Row[]> {
  const [few, many] = [await costsWith(bench, sizes[0]), await costsWith(bench, sizes[1])];
  const name = `one join, ${sizes[1].toLocaleString('en')} online compared with ${sizes[0]}`;
  const of = (costs: readonly Cost[], what: keyof Cost): number[] => costs.map((cost) => cost[what]);
  return [
    multipleRow(`${name}: reads of the database`, 'reads', of(many, 'reads'), of(few, 'reads'), 1.1),
    multipleRow(`${name}: commands of Redis`, 'commands', of(many, 'commands'), of(few, 'commands'), 1.1),
  ];
}
