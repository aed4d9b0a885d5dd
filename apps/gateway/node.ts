import { randomBytes } from 'node:crypto';
import { forEachAtOnce } from '../../lib/base/at-once.ts';
import { type Listening, listen } from '../../lib/base/http-server.ts';
import type { Metrics } from '../../lib/base/metrics.ts';
import { createTurns } from '../../lib/base/turns.ts';
import type { GatewayPlatform } from '../../lib/store/platform.ts';
import { forgetAddresses } from './address-usage.ts';
import { checkTokens, receiveControl } from './control.ts';
import { dropSession, releaseSession } from './disconnect.ts';
import { closeExpired } from './frame-handler.ts';
import { op } from './frames.ts';
import { barrier, createLane, laneOf, whenLive } from './lane.ts';
import { removeLeftPlaces, trimTails } from './places.ts';
import { createPresenceState, recoverPresences } from './presence.ts';
import { interrupt, receiveEntry } from './receive.ts';
import type { GatewayNode } from './state.ts';
import { createUpgradeServer } from './upgrade.ts';
import { closeSocket, createWriter, sendControl } from './writer.ts';

/** A listening gateway node. */
export interface Gateway extends Listening {
  /** The state of the node, for tests and measurements. */
  node: GatewayNode;
}

/** How often the node renews its lease and retries what failed, in milliseconds. */
const beatMs = 1_000;
/** How many handshakes run at once; the others wait. */
const handshakesAtOnce = 64;
/** How many accounts' tokens, and how many watch lists, are checked at once. */
const checkedAtOnce = 16;
/** When the node stops, each client is told to reconnect after a random time below this, in milliseconds, so that not all arrive at the other nodes at once. */
const spreadMs = 2_000;
/** How long the node waits for clients to answer the close when it stops, in milliseconds. */
const disconnectMs = 2_000;

async function createNode(platform: GatewayPlatform, metrics: Metrics): Promise<GatewayNode> {
  const id = randomBytes(9).toString('base64url');
  // The node has no sessions until it is created, so messages that arrive before can be ignored.
  let node: GatewayNode | null = null;
  const log = await platform.listen(id, {
    onEntry: (place, entry) => node && receiveEntry(node, place, entry),
    onControl: (message) => node && receiveControl(node, message),
    onInterrupted: (k) => {
      if (!node) return;
      interrupt(node, laneOf(node, { k }));
      void recoverPresences(node, k);
    },
  });
  const entering = createTurns(handshakesAtOnce);
  const checking = createTurns(checkedAtOnce);
  const made: GatewayNode = {
    platform,
    metrics,
    log,
    writer: createWriter((socket) => {
      if (socket.session) dropSession(made, socket.session, 'wait');
      closeSocket(made, socket, 'tooSlow', 'more than 1 MiB behind');
    }),
    id,
    replays: !platform.config.FAILPOINTS.split(',').includes('no-replay'),
    sockets: new Set(),
    sessions: new Map(),
    accounts: new Map(),
    places: new Map(),
    leftPlaces: new Map(),
    presence: createPresenceState((check) => checking('', check)),
    lanes: Array.from({ length: log.partitions }, (_, k) => createLane(k)),
    interrupt: (lane) => interrupt(made, lane),
    numbers: null,
    addresses: new Map(),
    pendingReleases: new Map(),
    needsRecheck: new Set(),
    inHandshakeSlot: (enter) => entering('', enter),
    nextOwner: 1,
    nextMark: 1,
    closing: false,
  };
  node = made;
  for (const lane of made.lanes) interrupt(made, lane);
  await Promise.all(made.lanes.map(whenLive));
  return made;
}

/** Runs each second: renews the node's lease, detects missed entries, removes expired state, and retries what failed because a store did not answer. */
async function beat(node: GatewayNode): Promise<void> {
  forgetAddresses(node);
  removeLeftPlaces(node);
  trimTails(node);
  for (const lane of node.lanes) if (!lane.barrier) void barrier(node, lane).catch(() => undefined);
  try {
    await node.platform.sessions.renewLease(node.id);
  } catch {
    return;
  }
  for (const departure of node.pendingReleases.values()) void releaseSession(node, departure);
  const unsure = [...node.needsRecheck];
  node.needsRecheck.clear();
  void forEachAtOnce(unsure, checkedAtOnce, (account) => checkTokens(node, account));
}

/** Sends op 7 to every client, closes all sockets and releases all sessions, so that they can be resumed on other nodes. */
async function disconnectAll(node: GatewayNode): Promise<void> {
  const departures: Promise<void>[] = [];
  for (const socket of node.sockets) {
    const { session } = socket;
    sendControl(node, socket, { op: op.reconnect, d: { retryAfterMs: Math.floor(Math.random() * spreadMs) } });
    closeSocket(node, socket, 'restart', 'the node restarts');
    if (!session) continue;
    const { id, owner, account } = session;
    dropSession(node, session, 'lost');
    departures.push(releaseSession(node, { id, accountId: account.id, owner, how: 'wait' }));
  }
  await Promise.all(departures);
  const until = performance.now() + disconnectMs;
  while (node.sockets.size > 0 && performance.now() < until) await new Promise((resolve) => setTimeout(resolve, 10));
  for (const socket of node.sockets) socket.terminate();
}

/**
 * Runs a gateway node on `config.GATEWAY_PORT` (0: any free port) until closed. `close` refuses new connections, sends op 7 to every client, closes all
 * sockets, keeps the sessions resumable, and drops the lease. The caller closes the platform.
 */
export async function startGateway(platform: GatewayPlatform, metrics: Metrics): Promise<Gateway> {
  const node = await createNode(platform, metrics);
  await platform.sessions.renewLease(node.id);
  const beats = setInterval(() => void beat(node), beatMs);
  const sweeps = setInterval(() => closeExpired(node.sockets), Math.min(beatMs, platform.config.HEARTBEAT_INTERVAL_MS / 10));
  const door = await listen(createUpgradeServer(node), platform.config.GATEWAY_PORT);
  return {
    port: door.port,
    node,
    async close() {
      node.closing = true;
      void door.close();
      clearInterval(beats);
      clearInterval(sweeps);
      await disconnectAll(node);
      await platform.sessions.dropLease(node.id).catch(() => undefined);
      await node.log.close();
    },
  };
}
