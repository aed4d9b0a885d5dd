import { randomBytes } from 'node:crypto';
import { type Listening, listen } from '../../lib/base/http-server.ts';
import type { Metrics } from '../../lib/base/metrics.ts';
import { createTurns } from '../../lib/base/turns.ts';
import { presenceTopic } from '../../lib/store/bus/topics.ts';
import type { GatewayPlatform } from '../../lib/store/platform.ts';
import { forgetAddresses } from './address-usage.ts';
import { createDoor } from './door.ts';
import { op } from './frames.ts';
import { checkAccount, checkAllPositions, hearAgain, hearControl, hearEvent } from './hear.ts';
import { sweep } from './inbox.ts';
import { depart, drop } from './leave.ts';
import { closeSocket, createOutlet, say } from './outlet.ts';
import { createPeople, type People } from './people.ts';
import { checkPosition } from './replay.ts';
import type { GatewayNode } from './state.ts';

/** A listening gateway node. */
export interface Gateway extends Listening {
  /** What it holds: for tests and measurements. */
  node: GatewayNode;
}

/** How often the node says that it lives and tries again what failed, in milliseconds (quality 2, Liveness). */
const beatMs = 1_000;
/** How many page reads run at once. */
const readsAtOnce = 32;
/** How long clients may take to answer the close when the node stops, in milliseconds. */
const partingMs = 2_000;

async function openNode(platform: GatewayPlatform, metrics: Metrics, restored: () => void): Promise<GatewayNode> {
  let heard: { node: GatewayNode; people: People } | null = null;
  // Nobody is here before the node is made: nothing that is said until then concerns it.
  const topics = await platform.listen({
    onEvent: (topic, event) => heard && hearEvent(heard.node, heard.people, topic, event),
    onControl: (message) => heard && hearControl(heard.node, message),
    onRestored: restored,
  });
  await topics.join(presenceTopic);
  const reads = createTurns(readsAtOnce);
  const node: GatewayNode = {
    platform,
    metrics,
    topics,
    outlet: createOutlet((socket) => {
      if (socket.session) drop(node, socket.session, 'wait');
      closeSocket(node, socket, 'tooSlow', 'more than 1 MiB behind');
    }),
    id: randomBytes(9).toString('base64url'),
    replays: !platform.config.FAILPOINTS.split(',').includes('no-replay'),
    sockets: new Set(),
    sessions: new Map(),
    accounts: new Map(),
    people: new Map(),
    addresses: new Map(),
    owed: new Map(),
    behind: new Set(),
    unsure: new Set(),
    reading: (read) => reads('', read),
    nextOwner: 1,
    closing: false,
  };
  heard = { node, people: createPeople(node) };
  return node;
}

/** Tries again what a store did not answer. */
function retry(node: GatewayNode): void {
  for (const departure of node.owed.values()) void depart(node, departure);
  const behind = [...node.behind];
  node.behind.clear();
  for (const session of behind) void checkPosition(node, session);
  const unsure = [...node.unsure];
  node.unsure.clear();
  for (const account of unsure) void checkAccount(node, account, true);
}

/** The node's pulse: renews its lease, and after an interruption makes good what was missed. `restored` asks for that. */
function createBeat(node: GatewayNode): { beat: () => Promise<void>; restored: () => void } {
  let missed = false;
  let leased = true;
  const makeGood = async (): Promise<void> => {
    missed = false;
    try {
      await hearAgain(node);
    } catch (error) {
      missed = true;
      node.platform.log.warn({ err: error }, 'reading missed events failed; retrying');
    }
  };
  return {
    restored: () => {
      node.platform.log.info('the Redis subscription was restored');
      void makeGood();
    },
    async beat() {
      forgetAddresses(node);
      try {
        await node.platform.sessions.renewLease(node.id);
      } catch {
        leased = false;
        return;
      }
      if (missed) void makeGood();
      else if (!leased) void checkAllPositions(node);
      leased = true;
      retry(node);
    },
  };
}

/** Says goodbye to every client and gives all sessions up: bots' wait to be resumed on another node. */
async function part(node: GatewayNode): Promise<void> {
  const departures: Promise<void>[] = [];
  for (const socket of node.sockets) {
    const { session } = socket;
    say(node, socket, { op: op.reconnect, d: null });
    closeSocket(node, socket, 'restart', 'the node restarts');
    if (!session) continue;
    const { id, owner, account } = session;
    drop(node, session, 'lost');
    departures.push(depart(node, { id, accountId: account.id, owner, how: account.bot ? 'wait' : 'end' }));
  }
  await Promise.all(departures);
  const until = performance.now() + partingMs;
  while (node.sockets.size > 0 && performance.now() < until) await new Promise((resolve) => setTimeout(resolve, 10));
  for (const socket of node.sockets) socket.terminate();
}

/**
 * Runs a gateway node on `config.GATEWAY_PORT` (0: any free port) until closed. `close` stops taking connections, sends every client away with op 7,
 * leaves the bots' sessions to be resumed, and drops the lease. The platform is the caller's to close.
 */
export async function startGateway(platform: GatewayPlatform, metrics: Metrics): Promise<Gateway> {
  let restored = (): void => undefined;
  const node = await openNode(platform, metrics, () => restored());
  const pulse = createBeat(node);
  restored = pulse.restored;
  await platform.sessions.renewLease(node.id);
  const beats = setInterval(() => void pulse.beat(), beatMs);
  const sweeps = setInterval(() => sweep(node.sockets), Math.min(beatMs, platform.config.HEARTBEAT_INTERVAL_MS / 10));
  const door = await listen(createDoor(node), platform.config.GATEWAY_PORT);
  return {
    port: door.port,
    node,
    async close() {
      node.closing = true;
      void door.close();
      clearInterval(beats);
      clearInterval(sweeps);
      await part(node);
      await platform.sessions.dropLease(node.id).catch(() => undefined);
      await node.topics.close();
    },
  };
}
