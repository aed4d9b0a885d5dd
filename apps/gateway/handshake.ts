import { randomBytes } from 'node:crypto';
import { botEvents, type EventName, optInEvents, ownMembershipIn } from '../../lib/contract/events.ts';
import { type Credential, credentialOf } from '../../lib/domain/accounts/credentials.ts';
import { faceOf, tagOf } from '../../lib/domain/accounts/public-profiles.ts';
import type { AccountDoc } from '../../lib/store/mongo/models/account.ts';
import { accountPlace, serverPlace } from '../../lib/store/redis/log/keys.ts';
import { type Position, readPosition } from '../../lib/store/redis/log/position.ts';
import type { Kept } from '../../lib/store/redis/log/sessions.ts';
import { removeSocket } from './address-usage.ts';
import { dropSession, loseSession, refuseResume, releaseSession } from './disconnect.ts';
import { eventBytes } from './frames.ts';
import { barrier, holds, laneOf, noteLate, nothingLate, positionOf, positionOfNode } from './lane.ts';
import { extendTails, joinPlaces } from './places.ts';
import { addPresenceBot } from './presence.ts';
import { catchUp, replay } from './replay.ts';
import { type GatewayNode, type GatewaySocket, type LocalAccount, monotonic, type Session } from './state.ts';
import { closeSocket, isOpen, sendEvent } from './writer.ts';

/** What a client sends as `d` of identify and resume, not yet checked. */
export type Login = Record<string, unknown>;

/** The token of an identify or resume, without `Bot ` or `Bearer `. Without a token, the one from the cookie of the upgrade request. */
function tokenOf(socket: GatewaySocket, login: Login): string | null {
  if (login.token === undefined || login.token === null) return socket.cookie;
  return typeof login.token === 'string' ? login.token.replace(/^(?:Bot|Bearer) /, '') : null;
}

/** The events that a bot receives: those that every bot receives, and those that it asked for by name. Unknown names are ignored. */
function eventsOf(asked: unknown): readonly EventName[] {
  if (!Array.isArray(asked)) return botEvents;
  return [...botEvents, ...optInEvents.filter((name) => asked.includes(name))];
}

/** Creates a session on this node. It receives no events until its client has been sent READY or RESUMED. */
function createSession(node: GatewayNode, socket: GatewaySocket, { account }: Credential, id: string, token: string): Session {
  const local = node.accounts.get(account._id) ?? { id: account._id, bot: account.kind === 'bot', sessions: new Set<Session>() };
  node.accounts.set(local.id, local);
  const session: Session = {
    socket,
    account: local,
    id,
    owner: `${node.id}-${node.nextOwner++}`,
    token,
    events: null,
    state: 'connecting',
    places: new Set(),
    numbers: [],
    late: nothingLate,
    s: '',
    watch: null,
  };
  local.sessions.add(session);
  socket.session = session;
  return session;
}

/** Subscribes to the account's own place, then checks the token again, because the node does not receive token resets before it is subscribed. */
async function subscribeOwnPlace(node: GatewayNode, session: Session): Promise<Credential | null> {
  await joinPlaces(node, session, [accountPlace(session.account.id)]);
  return credentialOf(node.platform, session.token);
}

function refuseToken(node: GatewayNode, socket: GatewaySocket): void {
  if (socket.session) dropSession(node, socket.session, 'lost');
  closeSocket(node, socket, 'badToken', 'the token is not valid');
}

/** Marks the session as authenticated, after its client has been sent READY or RESUMED. */
function markAuthenticated(node: GatewayNode, session: Session, state: 'replaying' | 'live'): void {
  const { socket } = session;
  session.state = state;
  socket.cookie = null;
  socket.deadline = monotonic() + node.platform.config.HEARTBEAT_INTERVAL_MS * 1.5;
  removeSocket(node, socket, false);
  node.metrics.sockets.inc({ kind: session.account.bot ? 'bot' : 'person' });
}

function readyData({ platform }: GatewayNode, account: AccountDoc, session: Session): object {
  return {
    v: 1,
    user: { ...faceOf(account), tag: tagOf(account) },
    sessionId: session.id,
    resumeUrl: platform.config.gatewayUrl,
    ...(account.applicationId ? { applicationId: account.applicationId } : {}),
    servers: [...session.places].flatMap(({ serverId }) => serverId ?? []),
  };
}

/** The account's memberships, each with the id of its pending SERVER_CREATE, if any. */
async function membershipsOf(
  { platform }: GatewayNode,
  { account }: Session,
): Promise<{ serverId: string; pending: string | undefined }[]> {
  const found = await platform.db.members.find({ userId: account.id }, { _id: 0, serverId: 1, ob: 1 }).lean();
  return found.map(({ serverId, ob }) => ({ serverId, pending: ob?.find(({ name }) => ownMembershipIn(name))?.id }));
}

/** The event filters of bots, by their sorted event names. Sessions with the same events share one filter. */
const eventFilters = new Map<string, ReadonlySet<EventName>>();

function eventFilterOf({ bot }: LocalAccount, events: readonly string[]): Session['events'] {
  if (!bot) return null;
  const key = [...events].sort().join(' ');
  const filter = eventFilters.get(key) ?? new Set(events as EventName[]);
  eventFilters.set(key, filter);
  return filter;
}

async function identify(node: GatewayNode, socket: GatewaySocket, login: Login): Promise<void> {
  const token = tokenOf(socket, login);
  const known = token === null ? null : await credentialOf(node.platform, token);
  if (!known || token === null) return refuseToken(node, socket);
  if (!isOpen(socket)) return;
  const session = createSession(node, socket, known, randomBytes(12).toString('base64url'), token);
  const credential = await subscribeOwnPlace(node, session);
  if (!isOpen(socket)) return;
  if (!credential) return refuseToken(node, socket);
  // From here on the session receives membership changes in its own place. Memberships are read after that, so that no change is missed.
  session.numbers = node.lanes.map(({ seen }) => seen);
  const { id, owner, account } = session;
  const events = account.bot ? eventsOf(login.events) : [];
  session.events = eventFilterOf(account, events);
  await addPresenceBot(node, session);
  const memberships = await membershipsOf(node, session);
  if (!isOpen(socket)) return;
  await joinPlaces(
    node,
    session,
    memberships.map(({ serverId }) => serverPlace(serverId)),
  );
  if (!isOpen(socket)) return;
  // In the other partitions the session starts at the current position: the numbers from above may be old, as a lane without places advances once a second.
  const own = node.log.partitionOf(accountPlace(account.id));
  session.numbers = node.lanes.map(({ seen, k }) => (k === own ? (session.numbers[k] as number) : seen));
  node.sessions.set(id, session);
  try {
    await node.platform.sessions.open({ id, accountId: account.id, events, node: node.id, owner });
  } finally {
    // The socket may have closed meanwhile, and Redis may have opened the session without answering. No session may stay open without a socket.
    if (!isOpen(socket)) void releaseSession(node, { id, accountId: account.id, owner, how: 'end' });
  }
  if (!isOpen(socket)) return;
  const s = positionOf(session);
  sendEvent(node, session, s, eventBytes('READY', s, Buffer.from(JSON.stringify(readyData(node, credential.account, session)))));
  markAuthenticated(node, session, 'replaying');
  await replay(node, session);
}

/** Takes the session over in Redis and returns what Redis keeps of it; null when there is no such session. Until then its old socket stays in use. */
async function takeOver(node: GatewayNode, session: Session): Promise<Kept | null> {
  const { id, owner, account } = session;
  let kept: Kept | null;
  try {
    kept = await node.platform.sessions.take({ id, accountId: account.id, node: node.id, owner });
  } finally {
    if (!isOpen(session.socket)) void releaseSession(node, { id, accountId: account.id, owner, how: 'wait' });
  }
  if (!kept || !isOpen(session.socket)) return kept;
  const old = node.sessions.get(id);
  if (old) loseSession(node, old);
  node.sessions.set(id, session);
  session.events = eventFilterOf(account, kept.events);
  return kept;
}

/** The servers of the session at its position; the replay adds servers that the account joined later. Null when its own log does not reach back so far. */
async function serversAtPosition(node: GatewayNode, session: Session): Promise<string[] | null> {
  const [own] = session.places;
  if (!own) return null;
  const after = session.numbers[own.k] as number;
  if (!(await extendTails(node, laneOf(node, own), new Map([[own, after]])))) return null;
  const joinedSince = new Set(
    own.tail
      .filter(({ head }) => ownMembershipIn(head.name) === 'begins' && head.number > after)
      .map(({ payload }) => (JSON.parse(payload.toString('utf8')) as { id: string }).id),
  );
  const memberships = await membershipsOf(node, session);
  const pending = memberships.flatMap((one) => one.pending ?? []);
  const numbers = pending.length > 0 ? await node.log.appended(own.name, pending) : [];
  const notSent = new Set(pending.filter((_, at) => (numbers[at] ?? Number.POSITIVE_INFINITY) > after));
  return memberships
    .filter((one) => !joinedSince.has(one.serverId) && !(one.pending && notSent.has(one.pending)))
    .map(({ serverId }) => serverId);
}

async function resume(node: GatewayNode, socket: GatewaySocket, login: Login, position: Position): Promise<void> {
  const token = tokenOf(socket, login);
  const known = token === null ? null : await credentialOf(node.platform, token);
  if (!known || token === null) return refuseToken(node, socket);
  if (!isOpen(socket)) return;
  if (typeof login.sessionId !== 'string') return refuseResume(node, socket, 'sessionId is missing');
  const session = createSession(node, socket, known, login.sessionId, token);
  const credential = await subscribeOwnPlace(node, session);
  if (!isOpen(socket)) return;
  if (!credential) return refuseToken(node, socket);
  const kept = await takeOver(node, session);
  if (!isOpen(socket)) return;
  if (!kept) return refuseResume(node, socket, 'there is no such session');
  await addPresenceBot(node, session);
  // If the client has received nothing since its last heartbeat, its position is the one that its node had at that time.
  const { numbers, late } = (login.seq === kept.s ? readPosition(kept.at, node.log.partitions) : null) ?? position;
  session.numbers = [...numbers];
  // Another node may have sent the client entries that this node has not received yet.
  await Promise.all(node.lanes.filter((lane) => (numbers[lane.k] as number) > lane.known).map((lane) => barrier(node, lane)));
  if (!isOpen(socket)) return;
  if (node.lanes.some((lane) => !holds(lane, numbers[lane.k] as number))) return refuseResume(node, socket, 'the position is not known');
  const servers = await serversAtPosition(node, session);
  if (!isOpen(socket)) return;
  if (!servers) return refuseResume(node, socket, 'more was missed than is kept');
  await joinPlaces(node, session, servers.map(serverPlace));
  if (!isOpen(socket)) return;
  for (const [name, n] of late) {
    const place = node.places.get(name);
    if (place && session.places.has(place)) noteLate(session, place, n);
  }
  await catchUp(node, session, (replayed) => {
    const s = positionOfNode(node);
    sendEvent(node, session, s, eventBytes('RESUMED', s, Buffer.from(JSON.stringify({ replayed }))));
    markAuthenticated(node, session, 'live');
  });
}

/**
 * Handles an identify, or a resume from a position. A limited number runs at once; the others wait. If a store does not answer, the socket is closed with 1013
 * and the client tries again.
 */
export async function handshake(node: GatewayNode, socket: GatewaySocket, login: Login, position: Position | null): Promise<void> {
  socket.stage = 'entered';
  try {
    await node.inHandshakeSlot(async () => {
      if (isOpen(socket)) await (position ? resume(node, socket, login, position) : identify(node, socket, login));
    });
  } catch (error) {
    node.platform.log.warn({ err: error, how: position ? 'resume' : 'identify' }, 'a client could not identify');
    // It is not known whether Redis executed the command. Releasing a session that was not opened or taken over does no harm.
    if (socket.session) dropSession(node, socket.session, position ? 'wait' : 'end');
    removeSocket(node, socket, false);
    closeSocket(node, socket, 'unavailable', 'try again');
  }
}
