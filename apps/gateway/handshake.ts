import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { delayRefusal } from '../../lib/base/delay-refusal.ts';
import { Refusal } from '../../lib/base/errors.ts';
import { type EventName, type LoggedData, personEvents } from '../../lib/contract/events.ts';
import type { SessionData } from '../../lib/contract/gateway.ts';
import { type Credential, loadCredential } from '../../lib/domain/access/credentials.ts';
import { waitUntilRelayed } from '../../lib/domain/servers/rules.ts';
import { toPublicUser } from '../../lib/domain/views/accounts.ts';
import { findJoinedServers, type Joined } from '../../lib/domain/views/joined-servers.ts';
import type { AccountDoc } from '../../lib/store/mongo/models/account.ts';
import { accountPlace, serverPlace } from '../../lib/store/redis/log/keys.ts';
import { readPosition } from '../../lib/store/redis/log/position.ts';
import type { StoredSession } from '../../lib/store/redis/sessions.ts';
import { removeUnidentifiedSocket } from './address-usage.ts';
import { closeLostSession, dropSession, isActive, refuseResume, releaseSession } from './disconnect.ts';
import { encodeSessionDispatch } from './frames.ts';
import { chargeHandshake } from './handshake-budget.ts';
import { getLane, getNodePosition, getSessionPosition, isKnownNumber, noPlaceNumbers, setPlaceNumber, waitForBarrier } from './lane.ts';
import { type Login, selectBotEvents } from './login.ts';
import { extendTails, joinPlaces } from './places.ts';
import { addPresenceBot } from './presence.ts';
import { catchUp, replay, waitForPosition } from './replay.ts';
import { toMembership } from './rules.ts';
import { type GatewayNode, type GatewaySocket, type LocalAccount, monotonicMs, type Session } from './state.ts';
import { closeSocket, isOpen, sendEvent } from './writer.ts';

/** Creates a session on this node. It receives no events until its client has been sent READY or RESUMED. */
function createSession(node: GatewayNode, socket: GatewaySocket, { account }: Credential, id: string, token: string): Session {
  const localAccount = node.accounts.get(account._id) ?? { id: account._id, isBot: account.kind === 'bot', sessions: new Set<Session>() };
  node.accounts.set(localAccount.id, localAccount);
  const session: Session = {
    socket,
    account: localAccount,
    id,
    owner: `${node.id}-${node.nextOwnerNumber++}`,
    token,
    eventFilter: null,
    state: 'connecting',
    places: new Map(),
    partitionNumbers: [],
    placeNumbers: noPlaceNumbers,
    readMembers: null,
    lastPosition: '',
    watchList: null,
  };
  localAccount.sessions.add(session);
  socket.session = session;
  return session;
}

/** Subscribes to the account's own place, then checks the token again, because the node does not receive token resets before it is subscribed. */
async function subscribeOwnPlace(node: GatewayNode, session: Session): Promise<Credential | null> {
  await joinPlaces(node, session, new Map([[accountPlace(session.account.id), '']]));
  return loadCredential(node.platform, session.token);
}

function refuseToken(node: GatewayNode, socket: GatewaySocket): void {
  if (socket.session) dropSession(node, socket.session, 'lost');
  closeSocket(node, socket, 'badToken', 'The token is not valid.');
}

/** Marks the session as authenticated, after its client has been sent READY or RESUMED. */
function markAuthenticated(node: GatewayNode, session: Session, state: 'replaying' | 'live'): void {
  const { socket } = session;
  session.state = state;
  session.readMembers = null;
  socket.cookieToken = null;
  socket.deadlineMs = monotonicMs() + node.platform.config.HEARTBEAT_INTERVAL_MS * 1.5;
  removeUnidentifiedSocket(node, socket, false);
  node.metrics.sockets.inc({ kind: session.account.isBot ? 'bot' : 'person' });
}

function toReadyData({ platform }: GatewayNode, account: AccountDoc, session: Session, events: readonly EventName[]): SessionData['READY'] {
  return {
    v: 1,
    user: toPublicUser(account),
    sessionId: session.id,
    resumeUrl: platform.config.gatewayUrl,
    ...(account.applicationId ? { applicationId: account.applicationId } : {}),
    servers: [...session.places.keys()].flatMap(({ serverId }) => serverId ?? []),
    events: [...events].sort(),
  };
}

function getEventFilter({ eventFilters }: GatewayNode, { isBot }: LocalAccount, events: readonly string[]): Session['eventFilter'] {
  if (!isBot) return null;
  const key = [...events].sort().join(' ');
  const filter = eventFilters.get(key) ?? new Set(events as EventName[]);
  eventFilters.set(key, filter);
  return filter;
}

async function identify(
  node: GatewayNode,
  socket: GatewaySocket,
  login: Extract<Login, { kind: 'identify' }>,
  firstCredential: Credential,
): Promise<void> {
  const { token } = login;
  const events = firstCredential.account.kind === 'bot' ? selectBotEvents(login.events) : personEvents;
  if ('reason' in events) return closeSocket(node, socket, events.code, events.reason);
  const session = createSession(node, socket, firstCredential, randomBytes(12).toString('base64url'), token);
  const credential = await subscribeOwnPlace(node, session);
  if (!isActive(session)) return;
  if (!credential) return refuseToken(node, socket);
  // From here on the session receives the ends and beginnings of memberships in its own place.
  session.partitionNumbers = node.lanes.map(({ sentNumber }) => sentNumber);
  const { id, owner, account } = session;
  session.eventFilter = getEventFilter(node, account, events);
  await addPresenceBot(node, session);
  await joinCurrentServers(node, session);
  if (!isActive(session)) return;
  // In the other partitions the session starts at the current position: the numbers from above may be old, as a lane without places advances once a second.
  const ownPartition = node.eventLog.partitionOf(accountPlace(account.id));
  session.partitionNumbers = node.lanes.map(({ sentNumber, partition }) =>
    partition === ownPartition ? (session.partitionNumbers[partition] as number) : sentNumber,
  );
  node.sessions.set(id, session);
  try {
    await node.platform.sessions.open({ id, accountId: account.id, events: account.isBot ? events : [], node: node.id, owner });
  } finally {
    // The socket may have closed meanwhile, and Redis may have opened the session without answering. No session may stay open without a socket.
    if (!isActive(session)) void releaseSession(node, { id, accountId: account.id, owner, mode: 'end' });
  }
  if (!isActive(session)) return;
  const position = getSessionPosition(session);
  sendEvent(node, session, position, encodeSessionDispatch('READY', position, toReadyData(node, credential.account, session, events)));
  markAuthenticated(node, session, 'replaying');
  await replay(node, session);
}

/** Takes the session over in Redis and returns what Redis keeps of it; null when there is no such session. Until then its old socket stays in use. */
async function takeOver(node: GatewayNode, session: Session): Promise<StoredSession | null> {
  const { id, owner, account } = session;
  let stored: StoredSession | null;
  try {
    stored = await node.platform.sessions.takeOver({ id, accountId: account.id, node: node.id, owner });
  } finally {
    if (!isActive(session)) void releaseSession(node, { id, accountId: account.id, owner, mode: 'suspend' });
  }
  if (!stored || !isActive(session)) return stored;
  const oldSession = node.sessions.get(id);
  if (oldSession) closeLostSession(node, oldSession);
  node.sessions.set(id, session);
  session.eventFilter = getEventFilter(node, account, stored.events);
  return stored;
}

/** How long a new session waits at most for joins that are not relayed yet, in milliseconds. Those that are not then come as SERVER_CREATE. */
const joinsTimeoutMs = 1_000;

/**
 * The servers of the session at its position: those that the account's own log says it is in there, each by the join that is relayed; and the servers of joins
 * that are not relayed at all. Null when the own log does not reach back so far.
 */
async function findServersAtPosition(node: GatewayNode, session: Session): Promise<{ joined: Joined[]; notRelayed: Joined[] } | null> {
  const [ownPlace] = session.places.keys();
  if (!ownPlace) return null;
  const after = session.partitionNumbers[ownPlace.partition] as number;
  const lanes = node.lanes.map(({ sentNumber, interruptions }) => ({ sentNumber, interruptions }));
  const memberships = await findJoinedServers(node.platform, session.account.id);
  const relayed = memberships.flatMap(({ serverId, member }) => (member.outboxAt ? [] : [[serverId, toMembership(member)] as const]));
  session.readMembers = { members: new Map(relayed), lanes };
  const pending = memberships.flatMap((membership) => membership.pending ?? []);
  const found = await node.eventLog.readAppendedNumbers(pending.map((id) => ({ place: ownPlace.name, id })));
  const numbers = new Map(pending.map((id, index) => [id, found[index] ?? Number.POSITIVE_INFINITY]));
  const lane = getLane(node, ownPlace);
  // So that the tail has every join that was read as relayed. Without Redis, what follows fails.
  if (lane.state === 'live') await Promise.race([waitForBarrier(node, lane), sleep(joinsTimeoutMs, null, { ref: false })]);
  if (!(await extendTails(node, lane, new Map([[ownPlace, after]])))) return null;
  const toKey = (serverId: string, joinId: string): string => `${serverId} ${joinId}`;
  const laterJoins = new Set(
    ownPlace.tail.flatMap(({ head: { join, number }, payload }) => {
      if (!join || number <= after) return [];
      return toKey((JSON.parse(payload.toString('utf8')) as LoggedData<'SERVER_CREATE'>).id, join.id);
    }),
  );
  const numberOf = ({ pending: eventId }: Joined): number => (eventId === undefined ? 0 : (numbers.get(eventId) ?? 0));
  return {
    joined: memberships.filter((one) => numberOf(one) <= after && !laterJoins.has(toKey(one.serverId, one.joinId))),
    notRelayed: memberships.filter((one) => numberOf(one) === Number.POSITIVE_INFINITY),
  };
}

const joinServers = (node: GatewayNode, session: Session, joined: readonly Joined[]): Promise<void> =>
  joinPlaces(node, session, new Map(joined.map(({ serverId, joinId }) => [serverPlace(serverId), joinId])));

/** Adds the servers of a new session. If the account has just joined some, it first waits until that is relayed, so that READY has them. */
async function joinCurrentServers(node: GatewayNode, session: Session): Promise<void> {
  const [ownPlace] = session.places.keys();
  if (!ownPlace) return;
  const lane = getLane(node, ownPlace);
  let found = await findServersAtPosition(node, session);
  if (found && found.notRelayed.length > 0) {
    const areRelayed = Promise.all(found.notRelayed.map(({ serverId }) => waitUntilRelayed(node.platform, serverId)));
    await Promise.race([areRelayed, sleep(joinsTimeoutMs)]);
    session.partitionNumbers[lane.partition] = await waitForBarrier(node, lane);
    found = await findServersAtPosition(node, session);
  }
  if (!found) throw new Error('the log of the account does not reach back to the beginning of the handshake');
  if (isActive(session)) await joinServers(node, session, found.joined);
}

async function resume(
  node: GatewayNode,
  socket: GatewaySocket,
  login: Extract<Login, { kind: 'resume' }>,
  firstCredential: Credential,
): Promise<void> {
  const { token } = login;
  if (login.sessionId === null) return refuseResume(node, socket, 'id_missing');
  const session = createSession(node, socket, firstCredential, login.sessionId, token);
  const credential = await subscribeOwnPlace(node, session);
  if (!isActive(session)) return;
  if (!credential) return refuseToken(node, socket);
  const stored = await takeOver(node, session);
  if (!isActive(session)) return;
  if (!stored) return refuseResume(node, socket, 'session_unknown');
  await addPresenceBot(node, session);
  // If the client has received nothing since its last heartbeat, its position is the one that its node had at that time.
  const { numbers, placeNumbers } =
    (login.seq === stored.lastPosition ? readPosition(stored.nodePosition, node.eventLog.partitions) : null) ?? login.position;
  session.partitionNumbers = [...numbers];
  await waitForPosition(node, session);
  if (!isActive(session)) return;
  if (node.lanes.some((lane) => !isKnownNumber(lane, numbers[lane.partition] as number)))
    return refuseResume(node, socket, 'position_unknown');
  const found = await findServersAtPosition(node, session);
  if (!isActive(session)) return;
  if (!found) return refuseResume(node, socket, 'too_many_missed');
  await joinServers(node, session, found.joined);
  if (!isActive(session)) return;
  for (const [name, number] of placeNumbers) {
    const place = node.places.get(name);
    if (place && session.places.has(place)) setPlaceNumber(session, place, number);
  }
  await catchUp(node, session, (replayed) => {
    const livePosition = getNodePosition(node);
    sendEvent(node, session, livePosition, encodeSessionDispatch('RESUMED', livePosition, { replayed }));
    markAuthenticated(node, session, 'live');
  });
}

/** Checks the token of an identify or a resume, then runs it, each when its queue has a slot. */
async function runHandshake(node: GatewayNode, socket: GatewaySocket, login: Login): Promise<void> {
  const { address } = socket;
  chargeHandshake(node, { address });
  const credential = await node.runTokenCheck(address ?? '', async () =>
    isOpen(socket) ? loadCredential(node.platform, login.token) : null,
  );
  if (!credential) return refuseToken(node, socket);
  const { _id: accountId } = credential.account;
  chargeHandshake(node, { address: null, accountId });
  await node.runHandshake([accountId, `address:${address ?? ''}`], async () => {
    if (!isOpen(socket)) return;
    await (login.kind === 'resume' ? resume(node, socket, login, credential) : identify(node, socket, login, credential));
  });
}

/**
 * Handles an identify or a resume. Closes the socket with 4008 if its account or address has made too many, and with 1013 if a store does not answer, so that
 * the client tries again.
 */
export async function handshake(node: GatewayNode, socket: GatewaySocket, login: Login): Promise<void> {
  socket.stage = 'identifyReceived';
  try {
    await runHandshake(node, socket, login);
  } catch (error) {
    const isLimited = error instanceof Refusal && error.code === 'rate_limited';
    if (!isLimited) node.platform.log.warn({ err: error, handshake: login.kind }, 'the handshake of a client failed');
    // It is not known whether Redis executed the command. Releasing a session that was not opened or taken over does no harm.
    if (socket.session) dropSession(node, socket.session, login.kind === 'resume' ? 'suspend' : 'end');
    // A client that connects again at once would cost more than what it is refused.
    if (isLimited) await delayRefusal();
    if (!isOpen(socket)) return;
    removeUnidentifiedSocket(node, socket, isLimited);
    if (isLimited) closeSocket(node, socket, 'tooFast', 'The account or address has identified or resumed too often. Try again later.');
    else closeSocket(node, socket, 'unavailable', 'The service is unavailable. Try again.');
  }
}
