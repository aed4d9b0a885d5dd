import { testConfig } from '../harness/stores.ts';
import { startTcpProxy, type TcpProxy } from '../harness/tcp-proxy.ts';
import type { Client } from './client.ts';
import { type GatewayFixture, startGatewayFixture, type TestAccount } from './gateway-fixture.ts';
import type { Expectation } from './reference.ts';

/** An account with one session. */
export interface Member extends TestAccount {
  bot: boolean;
  client: Client | null;
  sessionId: string;
  s: string;
  /** How many of its frames have been checked. */
  taken: number;
  expected: Expectation;
}

/** A worker and two nodes. The second node reaches its stores through separate proxies. */
export interface ModelFixture {
  fixture: GatewayFixture;
  /** The Redis behind the proxies. */
  redisUrl: string;
  /** The proxy between Redis and the worker and first node, and the proxy between Redis and the second node. */
  links: readonly [TcpProxy, TcpProxy];
  database: TcpProxy;
  close(): Promise<void>;
}

/** A reproducible random generator: returns integers from 0 to `below` - 1, determined by `seed`. */
export function createDice(seed: number): (below: number) => number {
  let x = (seed * 2_654_435_761) >>> 0 || 1;
  return (below) => {
    x ^= x << 13;
    x >>>= 0;
    x ^= x >>> 17;
    x ^= x << 5;
    x >>>= 0;
    return x % below;
  };
}

/** Starts a worker and two nodes. */
export async function startModelFixture(partitions: number): Promise<ModelFixture> {
  const { REDIS_URL: redisUrl, MONGODB_URL } = testConfig();
  const links = [await startTcpProxy(redisUrl, 6379), await startTcpProxy(redisUrl, 6379)] as const;
  const fixture = await startGatewayFixture(1, { LOG_PARTITIONS: String(partitions), REDIS_URL: links[0].url, MONGODB_URL });
  const database = await startTcpProxy(fixture.config.MONGODB_URL, 27017);
  await fixture.addNode({ REDIS_URL: links[1].url, MONGODB_URL: database.url });
  const close = async (): Promise<void> => {
    await fixture.close();
    await Promise.all([...links, database].map((proxy) => proxy.close()));
  };
  return { fixture, redisUrl, links, database, close };
}
