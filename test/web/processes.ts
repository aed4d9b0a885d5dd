import { randomBytes } from 'node:crypto';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { freePort } from '../../apps/local/probe.ts';
import { createLog } from '../../lib/base/log.ts';
import { openApiPlatform } from '../../lib/store/platform.ts';
import type { Answer, TestApi } from '../harness/api.ts';
import { type RoleProcess, type Stack, startStack } from '../harness/stack.ts';
import { testConfig } from '../harness/stores.ts';

/** Parlance as separate processes of the last build: an API, a worker, and gateway nodes behind a load balancer. */
export interface Processes extends Pick<TestApi, 'call' | 'platform'> {
  origin: string;
  stack: Stack;
  gateways: RoleProcess[];
  close(): Promise<void>;
}

/** Starts a round-robin TCP load balancer. A connection goes to the first of `targets` that accepts it. */
async function startBalancer(targets: () => number[]): Promise<{ port: number; server: Server; sockets: Set<Socket> }> {
  const sockets = new Set<Socket>();
  let firstTarget = 0;
  const server = createServer((client) => {
    const ports = targets();
    firstTarget++;
    const attempt = (at: number): void => {
      const port = ports[(firstTarget + at) % ports.length];
      if (at >= ports.length || port === undefined) return void client.destroy();
      const upstream = connect(port, '127.0.0.1');
      sockets.add(upstream);
      upstream.once('connect', () => {
        client.pipe(upstream).pipe(client);
        client.on('close', () => upstream.destroy());
      });
      upstream.on('error', () => (upstream.connecting ? undefined : client.destroy()));
      upstream.on('close', (failed) => {
        sockets.delete(upstream);
        if (failed && upstream.bytesRead === 0 && upstream.bytesWritten === 0) attempt(at + 1);
        else client.destroy();
      });
    };
    client.on('error', () => client.destroy());
    attempt(0);
  });
  await new Promise<void>((resolve) => server.listen(0, resolve));
  return { port: (server.address() as AddressInfo).port, server, sockets };
}

/** Starts the processes on the stores of the test run. */
export async function startProcesses(gatewayNodes: number): Promise<Processes> {
  const name = `t${randomBytes(6).toString('hex')}`;
  let stack: Stack | undefined;
  const balancer = await startBalancer(() => (stack?.gateways ?? []).map(({ port }) => port));
  const port = await freePort();
  const origin = `http://localhost:${port}`;
  const urls = { BASE_URL: origin, GATEWAY_URL: `ws://localhost:${balancer.port}/gateway` };
  const config = testConfig({ REDIS_PREFIX: name, ...urls });
  const env = {
    MONGODB_URL: config.MONGODB_URL,
    REDIS_URL: config.REDIS_URL,
    REDIS_PREFIX: name,
    FILES_DIR: config.FILES_DIR,
    APP_KEY: config.APP_KEY.toString('base64'),
    RATE_LIMIT: 'off',
    LOG_LEVEL: 'error',
    PORT: String(port),
    ...urls,
  };
  stack = await startStack({ api: 1, gateway: gatewayNodes, worker: 1 }, env);
  const running = stack;
  const platform = await openApiPlatform(config, createLog('test', 'error'));
  return {
    origin,
    stack: running,
    gateways: running.gateways,
    platform,
    async call<T>(method: string, path: string, { as, body }: { as?: string | undefined; body?: unknown } = {}): Promise<Answer<T>> {
      const response = await fetch(origin + path, {
        method,
        headers: { ...(body !== undefined && { 'Content-Type': 'application/json' }), ...(as && { Authorization: as }) },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      return { status: response.status, headers: response.headers, body: (text ? JSON.parse(text) : undefined) as T };
    },
    close: async () => {
      await platform.close();
      await running.close();
      balancer.server.close();
      for (const socket of balancer.sockets) socket.destroy();
    },
  };
}
