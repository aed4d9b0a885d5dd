import { setTimeout as sleep } from 'node:timers/promises';
import { idTimeMs } from '../../lib/base/ids.ts';
import { credentialOf } from '../../lib/domain/credentials.ts';
import type { Entry } from '../../lib/store/log/entry.ts';
import { epochOf } from '../../lib/store/log/epochs.ts';
import { accountPlace, serverPlace } from '../../lib/store/log/keys.ts';
import type { Control } from '../../lib/store/log/reader.ts';
import { dropSession, refreshSession } from './disconnect.ts';
import { eventBytes, payloadOf } from './frames.ts';
import { advance, laneOf, positionOfNode } from './lane.ts';
import { startTailAt } from './places.ts';
import { receivePresence, receivePresences } from './presence.ts';
import { replay } from './replay.ts';
import type { GatewayNode, Lane, LaneItem, LocalAccount, Place, Session } from './state.ts';
import { sendUnlogged } from './unlogged.ts';
import { canJudge, loadAccessFor, recipientsOf } from './visibility.ts';
import { recheckMember } from './watch.ts';
import { closeSocket, sendEvent } from './writer.ts';

/** How many entries a lane holds back, or lets wait, before they are read from the log instead. */
const waitingMost = 10_000;
/** How long an entry's access data may take before its place is read from the log instead, in milliseconds, times STORE_PATIENCE: no lane waits longer. */
const patienceMs = 250;
/** How soon a log that could not be heard is heard anew, in milliseconds. */
const againMs = 50;

/** Takes a live session off the lanes: it reads its places' logs from where it stands until it has caught up. */
function takeOffLane(node: GatewayNode, session: Session): void {
  if (session.state !== 'live') return;
  session.state = 'replaying';
  session.numbers = node.lanes.map(({ seen }) => seen);
  void replay(node, session);
}

function send(node: GatewayNode, entry: Entry, hearers: readonly Session[]): void {
  const { name: t, id: e } = entry.head;
  if (hearers.length === 0) return;
  const s = positionOfNode(node);
  const bytes = eventBytes(t, s, payloadOf(entry, node.platform.config.APP_KEY));
  for (const session of hearers) sendEvent(node, session, s, bytes);
  node.metrics.deliveries.inc({ event: t }, hearers.length);
  if (t === 'MESSAGE_CREATE') node.metrics.deliveryLatency.observe(Math.max(0, node.platform.now() - idTimeMs(e)) / 1000);
}

/** What changes which places its account's sessions hear is given by their replay, which knows how to go on there. */
const isMove = ({ head: { name: t } }: Entry): boolean => t === 'SERVER_CREATE' || t === 'SERVER_DELETE';

/** An entry in its turn. Where its access data did not come in time, its place's sessions read it from the log. */
function deliver(node: GatewayNode, lane: Lane, place: Place, entry: Entry): void {
  const isKnown = canJudge(place, entry);
  if (!isKnown || isMove(entry)) for (const session of place.sessions) takeOffLane(node, session);
  advance(node, lane, entry.head.number);
  place.tail.push(entry);
  recheckMember(node, place.sessions, entry);
  if (isKnown) send(node, entry, recipientsOf(place, entry));
}

/** Lets through what is ready, up to the first entry that waits. */
function runLane(node: GatewayNode, lane: Lane): void {
  for (let item = lane.items[0]; item && !item.ready; item = lane.items[0]) {
    lane.items.shift();
    if (item.entry) deliver(node, lane, item.place, item.entry);
    else {
      advance(node, lane, item.n);
      lane.marks.get(item.id)?.resolve(item.n);
    }
  }
}

/** Loads what an entry needs, and lets it through then, or when that takes too long. */
function loadThenRun(node: GatewayNode, lane: Lane, item: Extract<LaneItem, { entry: Entry }>): void {
  const goOn = (): void => {
    clearTimeout(late);
    if (item.ready === null) return;
    item.ready = null;
    runLane(node, lane);
  };
  const late = setTimeout(goOn, patienceMs * node.platform.config.STORE_PATIENCE);
  const load = async (): Promise<void> => {
    // Another version may have been loaded meanwhile, or a session have come.
    do await loadAccessFor(node, item.place, item.entry);
    while (item.ready && !canJudge(item.place, item.entry));
  };
  item.ready = load().then(goOn, goOn);
}

/** Takes a live entry; false when it shows that something was missed. */
function accept(node: GatewayNode, lane: Lane, place: Place, entry: Entry): boolean {
  const { number: n, previous: p } = entry.head;
  if (n <= lane.known) return true;
  if (p > place.lastNumber) lane.gaps.set(place, place.lastNumber);
  if (epochOf(n) !== lane.epoch || p > place.lastNumber || lane.items.length >= waitingMost) return false;
  lane.known = n;
  place.lastNumber = n;
  const item = { entry, place, ready: null };
  lane.items.push(item);
  if (!canJudge(place, entry)) loadThenRun(node, lane, item);
  runLane(node, lane);
  return true;
}

/** An entry that was heard. */
export function receiveEntry(node: GatewayNode, name: string, entry: Entry): void {
  const place = node.places.get(name);
  if (!place) return;
  const lane = laneOf(node, place);
  if (lane.state === 'live') {
    if (!accept(node, lane, place, entry)) interrupt(node, lane);
  } else if (lane.held.push({ name, entry }) > waitingMost) interrupt(node, lane);
}

/**
 * Something of a partition was missed, or may have been: its places are heard anew, and every session reads its places' logs from where it stands. Nobody is
 * told of it, unless the log does not reach back so far, or a part of it is gone.
 */
export function interrupt(node: GatewayNode, lane: Lane): void {
  lane.generation++;
  lane.held = [];
  lane.state = 'held';
  for (const { reject } of lane.marks.values()) reject(new Error('interrupted'));
  if (lane.isRecovering || node.closing) return;
  lane.isRecovering = true;
  void recover(node, lane);
}

async function recover(node: GatewayNode, lane: Lane): Promise<void> {
  while (lane.state === 'held' && !node.closing)
    try {
      if (node.log.isUp()) await recoverOnce(node, lane);
      else await sleep(againMs);
    } catch (error) {
      node.platform.log.debug({ err: error, partition: lane.k }, 'hearing the log anew failed; retrying');
      await sleep(againMs);
    }
  lane.isRecovering = false;
}

async function recoverOnce(node: GatewayNode, lane: Lane): Promise<void> {
  const { generation } = lane;
  const places = [...node.places.values()].filter(({ k }) => k === lane.k);
  await node.log.subscribe(places.map(({ name }) => name));
  const { n, epoch, floor, ends } = await node.log.boot(lane.k, lane.seen);
  const active = await node.log.active(lane.k, lane.checked);
  if (lane.generation !== generation) return;
  for (const place of places) if ((active.get(place.name) ?? 0) > place.lastNumber) lane.gaps.set(place, place.lastNumber);
  const isHere = (session: Session): boolean => [...session.places].some(({ k }) => k === lane.k);
  for (const session of node.sessions.values()) if (isHere(session)) takeOffLane(node, session);
  for (const [place, last] of lane.gaps)
    for (const session of place.sessions)
      if (last < (session.numbers[lane.k] ?? 0)) session.late.set(place, Math.min(last, session.late.get(place) ?? last));
  lane.gaps.clear();
  // What was said of tokens meanwhile was missed too.
  for (const account of node.accounts.values())
    if (node.log.partitionOf(accountPlace(account.id)) === lane.k) node.needsRecheck.add(account);
  const { held, waiting } = lane;
  Object.assign(lane, { epoch, floor, ends, seen: n, known: n, checked: n, items: [], held: [], waiting: [], state: 'live' });
  node.numbers = null;
  for (const place of places) startTailAt(place, n);
  for (const go of waiting) go();
  for (const { name, entry } of held) receiveEntry(node, name, entry);
}

/** A mark behind all entries up to `n`: whatever came before it was heard, or something was missed. */
function receiveMark(node: GatewayNode, { k, n, id, active }: Extract<Control, { kind: 'mark' }>): void {
  const lane = laneOf(node, { k });
  if (lane.state === 'held') return;
  if (epochOf(n) !== lane.epoch) return interrupt(node, lane);
  const names = Array.isArray(active) ? (active as string[]) : [];
  for (const [at, name] of names.entries()) {
    const place = at % 2 === 0 ? node.places.get(name) : undefined;
    if (place && Number(names[at + 1]) > place.lastNumber) lane.gaps.set(place, place.lastNumber);
  }
  if (lane.gaps.size > 0) return interrupt(node, lane);
  lane.checked = n;
  lane.known = Math.max(lane.known, n);
  lane.items.push({ entry: null, n, id, ready: null });
  runLane(node, lane);
}

/** What stands in no log: to the sessions in these servers and of these accounts. */
function receiveBroadcast(node: GatewayNode, { name, data, servers, accounts }: Extract<Control, { kind: 'broadcast' }>): void {
  const receivers = new Set<Session>();
  for (const id of servers) for (const session of node.places.get(serverPlace(id))?.sessions ?? []) receivers.add(session);
  for (const id of accounts) for (const session of node.accounts.get(id)?.sessions ?? []) receivers.add(session);
  if (receivers.size > 0) sendUnlogged(node, receivers, name, data);
}

/** Checks every session's token again: one with a token that was reset is closed with 4004 (quality 5, Tokens). Tried again each second while the database does not answer. */
export async function checkTokens(node: GatewayNode, account: LocalAccount): Promise<void> {
  try {
    for (const session of account.sessions) {
      const credential = await credentialOf(node.platform, session.token);
      if (credential?.account._id === account.id) continue;
      dropSession(node, session, 'wait');
      closeSocket(node, session.socket, 'badToken', 'the token is no longer valid');
    }
  } catch (error) {
    if (node.accounts.get(account.id) === account) node.needsRecheck.add(account);
    node.platform.log.debug({ err: error, accountId: account.id }, 'checking tokens failed; retrying');
  }
}

/** A control message. */
export function receiveControl(node: GatewayNode, message: Control): void {
  if (message.kind === 'mark') return receiveMark(node, message);
  if (message.kind === 'broadcast') return receiveBroadcast(node, message);
  if (message.kind === 'presence') return receivePresence(node, message);
  if (message.kind === 'presences') return receivePresences(node, message);
  const account = node.accounts.get(message.accountId);
  if (!account) return;
  if (message.kind === 'access') void checkTokens(node, account);
  else {
    // The subscription may lag behind a later take-over by a socket of ours: Redis knows who holds it now.
    const session = node.sessions.get(message.session);
    if (session && session.owner !== message.owner) void refreshSession(node, session, null);
  }
}
