import { createLog } from '../../lib/base/log.ts';
import { type GatewayPlatform, openGatewayPlatform } from '../../lib/store/platform.ts';
import type { TestApi } from './api.ts';

/** A gateway session without a socket. */
export interface TestSession {
  id: string;
  accountId: string;
  owner: string;
}

/** Gateway sessions without sockets, on nodes that exist only as leases. */
export interface TestSessions {
  gateway: GatewayPlatform;
  /** Opens a session of an account on `node`, whose lease is renewed from now on. */
  open(account: { id: string }, node: string, events?: readonly string[]): Promise<TestSession>;
  /** Ends a session as its socket does: `end` for good, `suspend` so that it can be resumed. */
  release(session: TestSession, mode: 'end' | 'suspend'): Promise<void>;
  /** Renews the lease of `node` again. */
  revive(node: string): Promise<void>;
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
  const revive = (node: string): Promise<void> => {
    nodes.add(node);
    return sessions.renewLease(node);
  };
  return {
    gateway,
    async open({ id: accountId }, node, events = []) {
      await revive(node);
      const session = { id: `session-${++count}`, accountId, owner: `${node}-${count}` };
      await sessions.open({ ...session, node, events });
      return session;
    },
    release: (session, mode) => sessions.release(session, mode),
    revive,
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
