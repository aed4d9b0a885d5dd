import { setTimeout as sleep } from 'node:timers/promises';
import { Refusal } from '../../lib/base/errors.ts';
import { groupBy } from '../../lib/base/group-by.ts';
import { limits } from '../../lib/base/limits.ts';
import { ownMembershipIn } from '../../lib/contract/events.ts';
import { serverNow } from '../../lib/domain/servers/servers.ts';
import type { Entry } from '../../lib/store/redis/log/entry.ts';
import { accountPlace, serverPlace } from '../../lib/store/redis/log/keys.ts';
import { dropSession, invalidate, isHeld } from './disconnect.ts';
import { eventBytes, payloadOf } from './frames.ts';
import { barrier, holds, laneOf, noteLate, nothingLate, positionOf, whenLive } from './lane.ts';
import { extendTails, joinPlaces, leavePlace, serverPlaceOf } from './places.ts';
import { type GatewayNode, type Lane, monotonic, type Place, type Session } from './state.ts';
import { canReceiveReplayed, hasAccessData, loadAccess } from './visibility.ts';
import { recheckMember, recheckWatches } from './watch.ts';
import { closeSocket, sendEvent, waitForReader } from './writer.ts';

/** The most entries that a session may have missed in all its places, counted before visibility is checked. */
const missedMost = 5 * limits.replayEvents;
/** A replay waits for its client to read after each batch of this many entries. */
const sentAtOnce = 256;
/** How long to wait before a replay is retried because a store did not answer, in milliseconds. */
const againMs = 500;

/** An entry that a session has missed. It is sent if the session may see it. */
interface Missed {
  place: Place;
  entry: Entry;
}

/** The number up to which the session has received a place. */
const lacksFrom = ({ late, numbers }: Session, place: Place): number => late.get(place) ?? (numbers[place.k] as number);

/** The lanes of the session's places. */
const lanesOf = (node: GatewayNode, { places }: Session): Lane[] => [...new Set([...places].map((place) => laneOf(node, place)))];

/** Whether the session's position belongs to the known history of the logs. */
const isInHistory = (node: GatewayNode, session: Session): boolean =>
  lanesOf(node, session).every((lane) => holds(lane, session.numbers[lane.k] as number)) &&
  [...session.late].every(([place, n]) => holds(laneOf(node, place), n));

/** Whether the session has been sent everything that the lanes have passed on. */
const isCaughtUp = (node: GatewayNode, session: Session): boolean =>
  session.late.size === 0 && lanesOf(node, session).every(({ k, state, seen }) => state === 'live' && seen === session.numbers[k]);

/** The entries that the lanes have passed on and the session has missed, in the order of sending: first the partition of the account's own place. */
function missedBy(node: GatewayNode, session: Session): Missed[] {
  const missed: Missed[] = [];
  for (const place of session.places) {
    const after = lacksFrom(session, place);
    const { seen } = laneOf(node, place);
    const first = place.tail.findLastIndex(({ head }) => head.number <= after) + 1;
    for (const entry of place.tail.slice(first)) if (entry.head.number <= seen) missed.push({ place, entry });
  }
  const own = node.log.partitionOf(accountPlace(session.account.id));
  const rank = (k: number): number => (k === own ? -1 : k);
  return missed.sort((a, b) => rank(a.place.k) - rank(b.place.k) || a.entry.head.number - b.entry.head.number);
}

/** Renders a SERVER_CREATE with the server's current state. False when the account is not in the server any more. */
async function renderServer(node: GatewayNode, accountId: string, entry: Entry): Promise<boolean> {
  const { id } = JSON.parse(entry.payload.toString('utf8')) as { id: string };
  try {
    entry.payload = Buffer.from(JSON.stringify(await serverNow(node.platform, id, accountId)));
    return true;
  } catch (error) {
    if (error instanceof Refusal && error.code === 'not_found') return false;
    throw error;
  }
}

/** Returns the entries of `missed` that the session may see by the current rules and members, or null if those changed while they were loaded. */
async function filterVisible(node: GatewayNode, session: Session, missed: readonly Missed[]): Promise<ReadonlySet<Entry> | null> {
  const byPlace = groupBy(missed, ({ place }) => place);
  const servers = [...byPlace.keys()].filter(({ serverId }) => serverId !== null);
  const versions = servers.length > 0 ? await node.platform.versions.read(servers.map(({ serverId }) => serverId as string)) : [];
  if (!versions) throw new Error('redis is away');
  const channelsIn = (place: Place): string[] =>
    (byPlace.get(place) ?? []).flatMap(({ entry: { head } }) => (head.channelId && !head.overwrites ? [head.channelId] : []));
  await Promise.all(servers.map((place, at) => loadAccess(node, place, versions[at] as string, channelsIn(place))));
  if (servers.some((place, at) => !hasAccessData(place, versions[at] as string, channelsIn(place), session.account.id))) return null;
  return new Set(missed.filter(({ place, entry }) => canReceiveReplayed(place, entry, session)).map(({ entry }) => entry));
}

/** Applies an event of the account's own place that adds a server to the session's places or removes one. True when a place was added. */
function applyMembershipEvent(node: GatewayNode, session: Session, { head, payload }: Entry): boolean {
  const membership = ownMembershipIn(head.name);
  if (!membership) return false;
  const { id } = JSON.parse(payload.toString('utf8')) as { id: string };
  const known = serverPlaceOf(node, session, id);
  if (membership === 'ends' && known) {
    leavePlace(node, session, known);
    recheckWatches(node, session);
  }
  if (membership === 'ends' || known) return false;
  joinPlaces(node, session, [serverPlace(id)]).catch(() => undefined); // `replayRound` awaits the subscription
  const place = serverPlaceOf(node, session, id) as Place;
  noteLate(session, place, head.serverNumber ?? laneOf(node, place).seen);
  recheckWatches(node, session);
  return true;
}

/** Moves the session's position past an entry and, if `isShown`, sends the event. True when a place was added. */
function deliver(node: GatewayNode, session: Session, place: Place, entry: Entry, isShown: boolean): boolean {
  const { number: n, name: t } = entry.head;
  if (session.late.has(place)) noteLate(session, place, n);
  if (n > (session.numbers[place.k] as number)) session.numbers[place.k] = n;
  const joined = applyMembershipEvent(node, session, entry);
  recheckMember(node, [session], entry);
  if (!isShown) return joined;
  const s = positionOf(session);
  sendEvent(node, session, s, eventBytes(t, s, payloadOf(entry, node.platform.config.APP_KEY)));
  node.metrics.deliveries.inc({ event: t });
  return joined;
}

/** Sends missed entries in order. Stops after one that adds a place, which the next round reads. Returns how many were sent, and whether all were handled. */
async function deliverAll(
  node: GatewayNode,
  session: Session,
  missed: readonly Missed[],
  seen: ReadonlySet<Entry>,
): Promise<{ sent: number; all: boolean }> {
  let sent = 0;
  for (const [at, { place, entry }] of missed.entries()) {
    if (!session.places.has(place)) continue; // an earlier entry removed the place
    const isShown =
      seen.has(entry) && (ownMembershipIn(entry.head.name) !== 'begins' || (await renderServer(node, session.account.id, entry)));
    if (!isHeld(session)) return { sent, all: false };
    if (isShown) sent++;
    if (deliver(node, session, place, entry, isShown)) return { sent, all: false };
    if (at % sentAtOnce !== sentAtOnce - 1 || (await waitForReader(session.socket))) continue;
    dropSession(node, session, 'wait');
    closeSocket(node, session.socket, 'tooSlow', 'the reader does not keep up with its replay');
  }
  return { sent, all: isHeld(session) };
}

/** Runs one round of a replay: reads and sends what the lanes have passed on until now. Returns how many events were sent. */
async function replayRound(node: GatewayNode, session: Session): Promise<number> {
  const lanes = lanesOf(node, session);
  await Promise.all(lanes.map(whenLive));
  await Promise.all([...session.places].map(({ subscribed }) => subscribed));
  // The session may have joined a place at a number that this node has not received yet.
  const ahead = lanes.filter(({ k, known }) => [...session.late].some(([place, n]) => place.k === k && n > known));
  await Promise.all(ahead.map((lane) => barrier(node, lane)));
  if (!isHeld(session) || lanes.some(({ state }) => state === 'held')) return 0;
  if (!isInHistory(node, session)) {
    invalidate(node, session, 'the events of before are gone');
    return 0;
  }
  const generations = lanes.map(({ generation }) => generation);
  const wantedIn = ({ k }: Lane): Map<Place, number> =>
    new Map([...session.places].filter((place) => place.k === k).map((place) => [place, lacksFrom(session, place)]));
  const covered = await Promise.all(lanes.map((lane) => extendTails(node, lane, wantedIn(lane))));
  if (!isHeld(session) || lanes.some(({ generation }, at) => generation !== generations[at])) return 0;
  const missed = missedBy(node, session);
  if (covered.includes(false) || missed.length > missedMost) {
    invalidate(node, session, 'more was missed than is kept');
    return 0;
  }
  const upTo = node.lanes.map(({ seen }) => seen);
  const seen = missed.length > 0 ? await filterVisible(node, session, missed) : new Set<Entry>();
  if (!seen) return 0;
  const { sent, all } = await deliverAll(node, session, missed, seen);
  if (all) {
    session.numbers = upTo.map((n, k) => Math.max(n, session.numbers[k] as number));
    session.late = nothingLate;
  }
  return sent;
}

/**
 * Sends a session what it has missed until it has caught up with the lanes. Then calls `done` with the number of sent events, without yielding to the event
 * loop, so that no entry comes in between. A session becomes live in no other way. Rejects when a store does not answer.
 */
export async function catchUp(node: GatewayNode, session: Session, done: (sent: number) => void): Promise<void> {
  for (let sent = 0; isHeld(session); ) {
    if (node.replays) sent += await replayRound(node, session);
    // A resume with a long replay must not be closed as not identified in time.
    if (session.state === 'connecting') session.socket.deadline = monotonic() + limits.gatewayIdentifyMs;
    if (isHeld(session) && (!node.replays || isCaughtUp(node, session))) return done(sent);
  }
}

/** Replays what a session has missed until it is live. Retries while a store does not answer. Never rejects. */
export async function replay(node: GatewayNode, session: Session): Promise<void> {
  // If the session leaves the live state again at once, that starts another replay. `hasEnded` keeps this one from continuing beside it.
  let hasEnded = false;
  while (!hasEnded && session.state === 'replaying')
    try {
      await catchUp(node, session, () => {
        session.state = 'live';
        hasEnded = true;
      });
    } catch (error) {
      node.platform.log.debug({ err: error, session: session.id }, 'reading missed events failed; retrying');
      await sleep(againMs);
    }
}
