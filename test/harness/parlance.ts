import { getLane } from '../../apps/gateway/lane.ts';
import { startGateway } from '../../apps/gateway/node.ts';
import type { GatewayNode } from '../../apps/gateway/state.ts';
import type { Config } from '../../config/index.ts';
import { createLog } from '../../lib/base/log.ts';
import { createMetrics } from '../../lib/base/metrics.ts';
import { openGatewayPlatform, openWorkerPlatform, type WorkerPlatform } from '../../lib/store/platform.ts';
import { serverPlace } from '../../lib/store/redis/log/keys.ts';
import { startWorker } from '../../workers/start.ts';
import { startTestApi, type TestApi } from './api.ts';
import { type BotClient, connectBot, type Dispatch } from './bot-client.ts';
import { toPayload } from './event-payload.ts';
import { waitUntil } from './interaction-fixture.ts';
import { make } from './use.ts';

/** A gateway node in this process. */
export interface TestNode {
  node: GatewayNode;
  gatewayUrl: string;
  close(): Promise<void>;
}

/** Starts a gateway node on the stores of `config`. */
export async function startNode(config: Config): Promise<TestNode> {
  const platform = await openGatewayPlatform(config, createLog('gateway', config.LOG_LEVEL));
  const gateway = await startGateway(platform, createMetrics('gateway'));
  return {
    node: gateway.node,
    gatewayUrl: `ws://127.0.0.1:${gateway.port}/gateway?v=1`,
    async close() {
      await gateway.close();
      await platform.close();
    },
  };
}

/** All roles in one process: the API, a worker and a gateway node on one fresh database. */
export interface TestParlance extends TestApi {
  worker: WorkerPlatform;
  /** The gateway's node, for tests that interfere with it. */
  node: GatewayNode;
  gatewayUrl: string;
  close(): Promise<void>;
}

/** Starts all roles with `overrides`. */
export async function startParlance(overrides: Record<string, string> = {}): Promise<TestParlance> {
  const api = await startTestApi(overrides);
  const { config } = api.platform;
  const worker = await openWorkerPlatform(config, createLog('worker', config.LOG_LEVEL));
  const jobs = startWorker(worker, createMetrics('worker'));
  const gateway = await startNode(config);
  return {
    ...api,
    worker,
    node: gateway.node,
    gatewayUrl: gateway.gatewayUrl,
    async close() {
      await gateway.close();
      await jobs.close();
      await worker.close();
      await api.close();
    },
  };
}

/** A connected session that stores the events it receives and can wait for one. */
export interface EventRecorder {
  client: BotClient;
  received: Dispatch[];
  /** The first event, already received or still to come, for which `wanted` returns true. */
  waitFor(wanted: (event: Dispatch) => boolean): Promise<Dispatch>;
}

/** Connects a bot or a person and waits until it is ready. `resumes`: it reconnects whenever its socket closes. */
export async function recordEvents(
  parlance: Pick<TestParlance, 'gatewayUrl'>,
  token: string,
  events?: string[],
  resumes = false,
): Promise<EventRecorder> {
  const received: Dispatch[] = [];
  const waiting = new Set<{ wanted: (event: Dispatch) => boolean; found: (event: Dispatch) => void }>();
  const client = connectBot({
    urlOf: () => parlance.gatewayUrl,
    token,
    ...(events ? { events } : {}),
    reconnects: resumes,
    onEvent: (event) => {
      received.push(event);
      for (const one of waiting)
        if (one.wanted(event)) {
          waiting.delete(one);
          one.found(event);
        }
    },
  });
  await client.ready;
  return {
    client,
    received,
    waitFor: (wanted) => {
      const known = received.find(wanted);
      if (known) return Promise.resolve(known);
      return new Promise((found) => waiting.add({ wanted, found }));
    },
  };
}

/** `recordEvents` before the tests of a `describe`, or with `each` before every test. The session ends with its gateway node. */
export const useRecorder = (
  node: Pick<TestParlance, 'gatewayUrl'>,
  account: { token: string },
  events?: string[],
  { each = false } = {},
): EventRecorder => make(() => recordEvents(node, account.token, events), { each });

/** Waits until each of these sessions has received an event for which `wanted` returns true. */
export const waitForAll = (recorders: readonly EventRecorder[], wanted: (event: Dispatch) => boolean): Promise<Dispatch[]> =>
  Promise.all(recorders.map((recorder) => recorder.waitFor(wanted)));

/**
 * Resolves when a session of `accountId` has received everything that was appended to `place` before. It works even for a bot that subscribed to no event,
 * because the mark is a MESSAGE_CREATE without a channel.
 */
export async function caughtUp(worker: WorkerPlatform, place: string, accountId: string, recorder: EventRecorder): Promise<void> {
  const id = worker.ids.next();
  await worker.eventLog.append(place, [
    { id, name: 'MESSAGE_CREATE', payload: toPayload('MESSAGE_CREATE', { id }), onlyAccount: accountId },
  ]);
  await recorder.waitFor(({ t, d }) => t === 'MESSAGE_CREATE' && d.id === id);
}

/** Resolves when the node has received all entries of the server's place, if it holds the place. */
export async function untilReceived(node: GatewayNode, worker: WorkerPlatform, serverId: string): Promise<void> {
  const place = node.places.get(serverPlace(serverId));
  if (!place) return;
  const last = (await worker.readLastNumber(place.name)) ?? 0;
  await waitUntil(() => getLane(node, place).sentNumber >= last, 'the node has received the entries');
}
