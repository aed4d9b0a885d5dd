import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { writeSecret } from '../../apps/local/data-folder.ts';
import { freePort, probe } from '../../apps/local/probe.ts';
import { findRedisProgram } from '../../apps/local/redis.ts';
import { type SupervisedProcess, startProcess } from '../../apps/local/supervised-process.ts';

/** One node of a cluster, as a separate process. */
export interface ClusterNode {
  /** Its id in the cluster. */
  readonly id: string;
  readonly port: number;
  /** A connection to it, for `CLUSTER` commands. */
  readonly redis: Redis;
  /** Its process; undefined while it is down. */
  readonly pid: number | undefined;
  /** The role that the node reports now. Rejects while it is down. */
  role(): Promise<'master' | 'replica'>;
  /** Kills it (SIGKILL) and waits until it has ended. */
  kill(): Promise<void>;
  /** Restarts it with its data; resolves when it answers. */
  start(): Promise<void>;
}

/**
 * A Redis Cluster of three masters, each with one replica. Initially `nodes[0]` to `nodes[2]` are masters, and `nodes[i + 3]` is the replica of `nodes[i]`.
 */
export interface RedisCluster {
  /** For `REDIS_URL`. */
  readonly url: string;
  readonly nodes: readonly ClusterNode[];
  /** The current master of a key's slot, as reported by a running node. */
  masterOf(key: string): Promise<ClusterNode>;
  /** The replica of a master. */
  replicaOf(master: ClusterNode): Promise<ClusterNode>;
  /** Moves the slot of a key, with all its keys, to another master while the slot is in use. */
  moveSlot(key: string, to: ClusterNode): Promise<void>;
  /** Resolves when every running node reports that all slots are served, every running master has an online replica, and every running replica is linked. */
  healthy(): Promise<void>;
  close(): Promise<void>;
}

const masters = 3;
const slots = 16_384;
/** Time without a response after which a node counts as failed, in milliseconds: short, but longer than a busy machine delays a process. */
const nodeTimeoutMs = 2_000;
const lookAgainMs = 20;

/** Resolves when `isSo` returns true; an error counts as false. Rejects after a minute. */
async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  for (const giveUpAt = performance.now() + 60_000; !(await isSo().catch(() => false)); await pause(lookAgainMs))
    if (performance.now() > giveUpAt) throw new Error(`the cluster did not get there: ${what}`);
}

async function startNode(
  command: string,
  folder: string,
  password: string,
): Promise<{ child: SupervisedProcess; port: number; redis: Redis }> {
  const [port, busPort] = [await freePort(), await freePort()];
  const dir = join(folder, `redis-${port}`);
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const settingsFile = join(dir, 'redis.conf');
  writeSecret(settingsFile, `requirepass ${password}\nmasterauth ${password}\n`);
  const settings: Record<string, string> = {
    bind: '127.0.0.1',
    port: String(port),
    dir,
    save: '',
    appendonly: 'yes',
    appendfsync: 'everysec',
    'maxmemory-policy': 'noeviction',
    'cluster-enabled': 'yes',
    'cluster-port': String(busPort),
    'cluster-node-timeout': String(nodeTimeoutMs),
    'cluster-require-full-coverage': 'no',
    'cluster-replica-validity-factor': '0',
    'repl-diskless-sync-delay': '0',
  };
  const child = await startProcess({
    name: `redis ${port}`,
    command,
    args: [settingsFile, ...Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value])],
    cwd: dir,
    supervise: false,
    stopSignal: 'SIGKILL',
    ready: () => probe(port, `AUTH ${password}\r\nPING\r\n`, '+OK\r\n+PONG'),
  });
  const redis = new Redis({ host: '127.0.0.1', port, password, retryStrategy: () => lookAgainMs, maxRetriesPerRequest: 1 });
  redis.on('error', () => undefined);
  return { child, port, redis };
}

/** The value of a field of INFO or CLUSTER INFO. */
const field = (text: string, name: string): string => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(text)?.[1] ?? '';

async function isHealthy({ redis }: ClusterNode): Promise<boolean> {
  const info = await redis.cluster('INFO');
  if (field(info, 'cluster_state') !== 'ok' || field(info, 'cluster_slots_ok') !== String(slots)) return false;
  const replication = await redis.info('replication');
  return field(replication, 'role') === 'master'
    ? /^slave\d+:.*state=online/m.test(replication)
    : field(replication, 'master_link_status') === 'up';
}

/** Joins new nodes: the first three share the slots, the others replicate them. */
async function joinNodes(nodes: readonly ClusterNode[]): Promise<void> {
  const busPorts = await Promise.all(nodes.map(async ({ redis }) => Number((await redis.config('GET', 'cluster-port'))[1])));
  await Promise.all(
    nodes.map(async ({ redis }, at) => {
      await redis.cluster('SET-CONFIG-EPOCH', at + 1);
      const [from, to] = [at, at + 1].map((part) => Math.floor((slots * part) / masters)) as [number, number];
      if (at < masters) await redis.cluster('ADDSLOTSRANGE', from, to - 1);
      // Every node meets every other directly: discovery by gossip would take seconds.
      for (const [other, { port }] of nodes.entries())
        if (other < at) await redis.call('CLUSTER', 'MEET', '127.0.0.1', port, busPorts[other] as number);
    }),
  );
  await Promise.all(
    nodes.map(({ redis, port }) =>
      until(
        `${port} knows all nodes`,
        async () =>
          ((await redis.cluster('NODES')) as string)
            .trim()
            .split('\n')
            .filter((line) => !line.includes('handshake')).length === nodes.length,
      ),
    ),
  );
  await Promise.all(nodes.slice(masters).map(({ redis }, at) => redis.cluster('REPLICATE', (nodes[at] as ClusterNode).id)));
}

/** Starts a cluster of six processes on loopback, with a password. `close` removes its data. The processes end with this one. */
export async function startRedisCluster(): Promise<RedisCluster> {
  const program = await findRedisProgram(() => undefined);
  if (!('command' in program)) throw new Error(`no redis-server: ${program.reasons.join('; ')}`);
  const folder = await mkdtemp(join(tmpdir(), 'parlance-cluster-'));
  const password = randomBytes(24).toString('base64url');
  const started = await Promise.all(Array.from({ length: 2 * masters }, () => startNode(program.command, folder, password)));
  const nodes: ClusterNode[] = await Promise.all(
    started.map(async ({ child, port, redis }) => ({
      id: await redis.cluster('MYID'),
      port,
      redis,
      get pid() {
        return child.pid;
      },
      role: async () => (field(await redis.info('replication'), 'role') === 'master' ? 'master' : 'replica'),
      kill: () => child.stop(),
      start: () => child.start(),
    })),
  );
  const isUp = ({ pid }: ClusterNode): boolean => pid !== undefined;
  const cluster: RedisCluster = {
    url: `redis+cluster://:${password}@${nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`,
    nodes,
    async masterOf(key) {
      const asked = nodes.find(isUp) as ClusterNode;
      const slot = await asked.redis.cluster('KEYSLOT', key);
      const ranges = await asked.redis.cluster('SLOTS');
      const port = ranges.find(([from, to]) => slot >= from && slot <= to)?.[2]?.[1];
      return nodes.find((node) => node.port === port) as ClusterNode;
    },
    async replicaOf(master) {
      let found: ClusterNode | undefined;
      await until('the master knows its replica', async () => {
        const lines = String(await master.redis.cluster('NODES')).split('\n');
        const id = lines.find((line) => line.includes(` ${master.id} `) && line.includes('slave'))?.split(' ')[0];
        found = nodes.find((node) => node.id === id);
        return found !== undefined;
      });
      return found as ClusterNode;
    },
    async moveSlot(key, to) {
      const from = await cluster.masterOf(key);
      const slot = await to.redis.cluster('KEYSLOT', key);
      await to.redis.cluster('SETSLOT', slot, 'IMPORTING', from.id);
      await from.redis.cluster('SETSLOT', slot, 'MIGRATING', to.id);
      const target = ['127.0.0.1', to.port, '', 0, 5_000, 'AUTH', password, 'KEYS'];
      for (;;) {
        const names = await from.redis.cluster('GETKEYSINSLOT', slot, 10);
        if (names.length === 0) break;
        await from.redis.call('MIGRATE', ...target, ...names);
      }
      for (const node of [to, from]) await node.redis.cluster('SETSLOT', slot, 'NODE', to.id);
    },
    healthy: () =>
      until('all slots served and replicated', async () => (await Promise.all(nodes.filter(isUp).map(isHealthy))).every(Boolean)),
    async close() {
      for (const { redis } of nodes) redis.disconnect();
      await Promise.all(started.map(({ child }) => child.stop()));
      await rm(folder, { recursive: true, force: true });
    },
  };
  try {
    await joinNodes(nodes);
    await cluster.healthy();
    return cluster;
  } catch (error) {
    await cluster.close();
    throw error;
  }
}
