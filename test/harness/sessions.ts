import { createLog } from '../../lib/base/log.ts';
import { type GatewayPlatform, openGatewayPlatform } from '../../lib/store/platform.ts';
import type { TestApi } from './api.ts';

/** Gateway sessions without sockets, on nodes that exist only as leases. */
export interface TestSessions {
  gateway: GatewayPlatform;
  /** Opens a session of an account on `node`, whose lease is renewed from now on. */
  open(account: { id: string }, node: string, events?: string[]): Promise<{ id: string; accountId: string; owner: string }>;
  /** Ends the lease of `node`, as if the node had crashed. */
  kill(node: string): Promise<void>;
  close(): Promise<void>;
}

/** Opens a gateway platform on the stores of `api` for sessions without sockets. */
export async function startSessions({ platform: { config } }: TestApi): Promise<TestSessions> {
  const gateway = await openGatewayPlatform(config, createLog('test', config.LOG_LEVEL));
  const { sessions } = gateway;
  const nodes = new Set<string>();
  const renewal = setInterval(() => {
    for (const node of nodes) sessions.renewLease(node).catch(() => undefined);
  }, 1_000);
  let count = 0;
  return {
    gateway,
    async open({ id: accountId }, node, events = []) {
      nodes.add(node);
      await sessions.renewLease(node);
      const session = { id: `session-${++count}`, accountId, owner: `${node}-${count}` };
      await sessions.open({ ...session, node, events });
      return session;
    },
    async kill(node) {
      nodes.delete(node);
      await sessions.dropLease(node);
    },
    async close() {
      clearInterval(renewal);
      await gateway.close();
    },
  };
}
