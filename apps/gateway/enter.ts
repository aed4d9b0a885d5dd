import { randomBytes } from 'node:crypto';
import { limits } from '../../lib/base/limits.ts';
import { botEvents, type EventName, optInEvents } from '../../lib/contract/events.ts';
import { type Credential, credentialOf } from '../../lib/domain/credentials.ts';
import { faceOf, tagOf } from '../../lib/domain/faces.ts';
import type { AccountDoc } from '../../lib/store/models/account.ts';
import { removeSocket } from './address-usage.ts';
import { joinAccount } from './audience.ts';
import { op } from './frames.ts';
import { refreshAccount } from './hear.ts';
import { depart, drop } from './leave.ts';
import { closeSocket, isOpen, say } from './outlet.ts';
import { checkPosition, follow, lose, reach } from './replay.ts';
import { type GatewayNode, type GatewaySocket, monotonic, type Session } from './state.ts';

/** What a client sends as `d` of identify and resume, not yet checked. */
export type Login = Record<string, unknown>;

/** The token of an identify or resume, without `Bot ` or `Bearer `; an identify without one may use the cookie. */
function tokenOf(socket: GatewaySocket, login: Login): string | null {
  if (login.token === undefined || login.token === null) return socket.cookie;
  return typeof login.token === 'string' ? login.token.replace(/^(?:Bot|Bearer) /, '') : null;
}

/** The events that reach a bot: those for every bot, and those it asked for by name. Names we do not know are passed over. */
function eventsOf(asked: unknown): readonly EventName[] {
  if (!Array.isArray(asked)) return botEvents;
  return [...botEvents, ...optInEvents.filter((name) => asked.includes(name))];
}

/** A session that begins: it counts here from now on, and hears nothing until it is ready. */
function begin(node: GatewayNode, socket: GatewaySocket, { account }: Credential, id: string, token: string): Session {
  const local = joinAccount(node, account._id, account.kind === 'bot');
  const owner = `${node.id}-${node.nextOwner++}`;
  const session: Session = {
    socket,
    account: local,
    id,
    owner,
    token,
    last: 0,
    target: 0,
    busy: true,
    ready: false,
    open: true,
  };
  local.sessions.add(session);
  socket.session = session;
  return session;
}

/** Hears all that concerns the session, then checks its token again: a reset before we listened was said to nobody here. */
async function listen(node: GatewayNode, session: Session): Promise<Credential | null> {
  await session.account.heard;
  await refreshAccount(node, session.account);
  return credentialOf(node.platform, session.token);
}

function refuseToken(node: GatewayNode, socket: GatewaySocket): void {
  if (socket.session) drop(node, socket.session, 'lost');
  closeSocket(node, socket, 'badToken', 'the token is not valid');
}

/** The session is ready: what is live goes out from now on. */
function start(node: GatewayNode, session: Session): void {
  const { socket } = session;
  session.busy = false;
  session.ready = true;
  socket.stage = 'live';
  socket.cookie = null;
  socket.deadline = monotonic() + node.platform.config.HEARTBEAT_INTERVAL_MS * 1.5;
  removeSocket(node, socket, false);
  node.metrics.sockets.inc({ kind: session.account.bot ? 'bot' : 'person' });
  if (session.account.bot) reach(node, session, session.target);
}

function readyData({ platform }: GatewayNode, account: AccountDoc, session: Session): object {
  return {
    v: 1,
    user: { ...faceOf(account), tag: tagOf(account) },
    sessionId: session.id,
    resumeUrl: platform.config.gatewayUrl,
    ...(account.applicationId ? { applicationId: account.applicationId } : {}),
    servers: [...session.account.servers],
  };
}

async function identify(node: GatewayNode, socket: GatewaySocket, login: Login): Promise<void> {
  const token = tokenOf(socket, login);
  const known = token === null ? null : await credentialOf(node.platform, token);
  if (!known || token === null) return refuseToken(node, socket);
  if (!isOpen(socket)) return;
  const session = begin(node, socket, known, randomBytes(12).toString('base64url'), token);
  const credential = await listen(node, session);
  if (!session.open) return;
  if (!credential) return refuseToken(node, socket);
  const { id, owner, account } = session;
  node.sessions.set(id, session);
  try {
    const events = account.bot ? eventsOf(login.events) : [];
    await node.platform.sessions.open({ id, accountId: account.id, events, kind: account.bot ? 'bot' : 'person', node: node.id, owner });
  } finally {
    // The socket may have closed meanwhile, or Redis may have done it without answering: no session stays without a socket.
    if (!session.open) void depart(node, { id, accountId: account.id, owner, how: 'end' });
  }
  if (!session.open) return;
  say(node, socket, { op: op.dispatch, t: 'READY', s: 0, d: readyData(node, credential.account, session) });
  start(node, session);
}

/** The resume failed for good: the client is told, and may identify on the same socket. */
function refuseResume(node: GatewayNode, socket: GatewaySocket, how: 'end' | 'lost'): void {
  if (socket.session) drop(node, socket.session, how);
  if (!isOpen(socket)) return;
  socket.stage = 'new';
  socket.deadline = monotonic() + limits.gatewayIdentifyMs;
  say(node, socket, { op: op.invalid, d: false });
}

/** Takes the session over in Redis; false when it cannot be resumed. Until here its old socket, also one on this node, goes on. */
async function take(node: GatewayNode, session: Session, seq: number): Promise<boolean> {
  const { id, owner, account } = session;
  let taken: { s: number } | null;
  try {
    taken = await node.platform.sessions.take({ id, accountId: account.id, seq, node: node.id, owner });
  } finally {
    if (!session.open) void depart(node, { id, accountId: account.id, owner, how: 'wait' });
  }
  if (!taken) return false;
  if (!session.open) return true;
  const old = node.sessions.get(id);
  if (old) lose(node, old);
  node.sessions.set(id, session);
  session.last = node.replays ? seq : taken.s;
  session.target = taken.s;
  return true;
}

async function resume(node: GatewayNode, socket: GatewaySocket, login: Login): Promise<void> {
  const token = tokenOf(socket, login);
  const known = token === null ? null : await credentialOf(node.platform, token);
  if (!known || token === null) return refuseToken(node, socket);
  if (!isOpen(socket)) return;
  if (known.account.kind !== 'bot' || typeof login.sessionId !== 'string') return refuseResume(node, socket, 'lost');
  const session = begin(node, socket, known, login.sessionId, token);
  const credential = await listen(node, session);
  if (!session.open) return;
  if (!credential) return refuseToken(node, socket);
  if (!(await take(node, session, login.seq as number))) return refuseResume(node, socket, 'lost');
  const replayed = session.open ? await follow(node, session) : 0;
  if (!session.open) return;
  if (replayed < 0) return refuseResume(node, socket, 'end');
  say(node, socket, { op: op.dispatch, t: 'RESUMED', s: session.last, d: { replayed } });
  start(node, session);
  // Between the take and its answer the subscription had nobody here to give events to.
  await checkPosition(node, session);
}

/** Lets a client in, by identify or resume. A store that does not answer closes the socket with 1013: the client tries again. */
export async function enter(node: GatewayNode, socket: GatewaySocket, how: 'identify' | 'resume', login: Login): Promise<void> {
  socket.stage = 'entering';
  try {
    await (how === 'identify' ? identify : resume)(node, socket, login);
  } catch (error) {
    node.platform.log.warn({ err: error, how }, 'a client could not identify');
    // Whether Redis did what it was asked is not known: giving it up does no harm when it did not.
    if (socket.session) drop(node, socket.session, how === 'identify' ? 'end' : 'wait');
    removeSocket(node, socket, false);
    closeSocket(node, socket, 'unavailable', 'try again');
  }
}
