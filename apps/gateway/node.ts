import { randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import PQueue from 'p-queue';
import { refuse } from '../../lib/base/errors.ts';
import { createFairQueue, type QueueFull } from '../../lib/base/fair-queue.ts';
import { forEachLimit } from '../../lib/base/for-each-limit.ts';
import { type Listening, listen } from '../../lib/base/http-server.ts';
import type { Metrics } from '../../lib/base/metrics.ts';
import type { Role } from '../../lib/base/process.ts';
import type { GatewayPlatform } from '../../lib/store/platform.ts';
import { createLocalLimiter } from '../../lib/store/redis/preflight.ts';
import { removeIdleAddresses } from './address-usage.ts';
import { checkTokens, handleControl } from './control.ts';
import { dropSession, invalidReasons, releaseSession } from './disconnect.ts';
import { drainNode, moveClient } from './drain.ts';
import { closeExpired } from './frame-handler.ts';
import { createLane, getLane, waitForBarrier, waitUntilLive } from './lane.ts';
import { removeUnusedPlaces, trimTails } from './places.ts';
import { createPresenceState, recoverPresences } from './presence.ts';
import { interrupt, receiveEntry } from './receive.ts';
import { type GatewayNode, monotonicMs } from './state.ts';
import { createUpgradeServer } from './upgrade.ts';
import { closeSocket, createWriter } from './writer.ts';

/** A listening gateway node. */
export interface Gateway extends Listening, Required<Role> {
  /** The state of the node, for tests and measurements. */
  node: GatewayNode;
}

/** How often the node renews its lease and retries what failed, in milliseconds. */
const tickMs = 1_000;
/** How many event filters sessions can share. A bot can ask for any of a million combinations of events. */
export const maxEventFilters = 200;
/**
 * How many handshakes run at once, at most one of an account and half of them of an address; the others wait. Waiting ones are served by account in turn, so that
 * an account with many sockets delays others by little.
 */
const handshakes = { maxRunning: 64, maxRunningPerKey: [1, 32], maxWaitingPerKey: 200, maxWaiting: 20_000 };
/** The same for the check of the token, by address, because the account is not known before. */
const tokenChecks = { ...handshakes, maxRunningPerKey: [32] };
const refuseHandshake = (full: QueueFull): never => refuse(full === 'key' ? 'rate_limited' : 'unavailable', { seconds: 1 });
/** How many accounts' tokens, and how many watch lists, are checked at once. */
const maxConcurrentChecks = 16;
/** When all clients are moved at once, each waits for a random time below this, in milliseconds. */
const hurriedSpreadMs = 2_000;
/** How long the node waits for clients to answer the close when it stops, in milliseconds. */
const disconnectTimeoutMs = 2_000;

async function createNode(platform: GatewayPlatform, metrics: Metrics): Promise<GatewayNode> {
  const id = randomBytes(9).toString('base64url');
  // The node has no sessions until it is created, so messages that arrive before can be ignored.
  let node: GatewayNode | null = null;
  const eventLog = await platform.openLogReader(id, {
    onEntry: (place, entry) => node && receiveEntry(node, place, entry),
    onControl: (message) => node && handleControl(node, message),
    onInterrupted: (partition) => {
      if (!node) return;
      interrupt(node, getLane(node, { partition }));
      void recoverPresences(node, partition);
    },
  });
  const checks = new PQueue({ concurrency: maxConcurrentChecks });
  const gatewayNode: GatewayNode = {
    platform,
    metrics,
    eventLog,
    writer: createWriter((socket) => {
      if (socket.session) dropSession(gatewayNode, socket.session, 'suspend');
      closeSocket(gatewayNode, socket, 'tooSlow', 'The client reads too slowly: more than 1 MiB is waiting for it.');
    }),
    id,
    sockets: new Set(),
    sessions: new Map(),
    accounts: new Map(),
    places: new Map(),
    unusedPlaces: new Map(),
    presence: createPresenceState((check) => checks.add(check)),
    lanes: Array.from({ length: eventLog.partitions }, (_, partition) => createLane(partition)),
    interrupt: (lane) => interrupt(gatewayNode, lane),
    positionText: null,
    eventFilters: new LRUCache({ max: maxEventFilters }),
    addresses: new Map(),
    pendingReleases: new Map(),
    needsRecheck: new Set(),
    runTokenCheck: createFairQueue(tokenChecks, refuseHandshake),
    runHandshake: createFairQueue(handshakes, refuseHandshake),
    decideLocally: createLocalLimiter(monotonicMs),
    nextOwnerNumber: 1,
    nextMarkId: 1,
    isDraining: false,
    isClosing: false,
  };
  node = gatewayNode;
  for (const lane of gatewayNode.lanes) interrupt(gatewayNode, lane);
  await Promise.all(gatewayNode.lanes.map(waitUntilLive));
  return gatewayNode;
}

/** Runs each second: renews the node's lease, detects missed entries, removes expired state, and retries what failed because a store did not answer. */
async function runPeriodicTasks(node: GatewayNode): Promise<void> {
  removeIdleAddresses(node);
  removeUnusedPlaces(node);
  trimTails(node);
  for (const lane of node.lanes)
    if (lane.state === 'live' && lane.pendingMarks.size === 0) void waitForBarrier(node, lane).catch(() => undefined);
  try {
    await node.platform.sessions.renewLease(node.id);
  } catch {
    return;
  }
  for (const release of node.pendingReleases.values()) void releaseSession(node, release);
  const accounts = [...node.needsRecheck];
  node.needsRecheck.clear();
  void forEachLimit(accounts, maxConcurrentChecks, (account) => checkTokens(node, account));
}

/** Moves every client to other nodes at once, and waits until their sockets are closed. */
async function disconnectAll(node: GatewayNode): Promise<void> {
  await Promise.all([...node.sockets].map((socket) => moveClient(node, socket, Math.floor(Math.random() * hurriedSpreadMs))));
  const deadlineMs = performance.now() + disconnectTimeoutMs;
  while (node.sockets.size > 0 && performance.now() < deadlineMs) await new Promise((resolve) => setTimeout(resolve, 10));
  for (const socket of node.sockets) socket.terminate();
}

/**
 * Runs a gateway node on `config.GATEWAY_PORT` (0: any free port) until closed. `drain` refuses new connections and moves the clients to other nodes over 20 s.
 * `close` moves those that are left at once, and drops the lease. The caller closes the platform.
 */
export async function startGateway(platform: GatewayPlatform, metrics: Metrics): Promise<Gateway> {
  const node = await createNode(platform, metrics);
  // A counter begins at 0, so that its first increase is seen.
  for (const reason of Object.keys(invalidReasons)) metrics.invalidSessions.inc({ reason }, 0);
  await platform.sessions.renewLease(node.id);
  const taskTimer = setInterval(() => void runPeriodicTasks(node), tickMs);
  const expiryTimer = setInterval(() => closeExpired(node.sockets), Math.min(tickMs, platform.config.HEARTBEAT_INTERVAL_MS / 10));
  const server = await listen(createUpgradeServer(node), platform.config.GATEWAY_PORT, platform.config.HOST);
  const refuseConnections = (): void => {
    node.isDraining = true;
    void server.close();
  };
  return {
    port: server.port,
    node,
    async drain() {
      refuseConnections();
      await drainNode(node);
    },
    async close() {
      refuseConnections();
      clearInterval(taskTimer);
      clearInterval(expiryTimer);
      await disconnectAll(node);
      node.isClosing = true;
      await platform.sessions.dropLease(node.id).catch(() => undefined);
      await node.eventLog.close();
    },
  };
}
