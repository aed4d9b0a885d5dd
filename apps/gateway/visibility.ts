import { holds, permissionsOf } from '../../lib/base/permissions.ts';
import { traitsOf } from '../../lib/contract/events.ts';
import { loadServer, overwritesOf, type ServerAccess } from '../../lib/domain/members/access.ts';
import { type ViewChange, viewChangeOf } from '../../lib/domain/members/visibility.ts';
import type { Entry, EntryHead } from '../../lib/store/redis/log/entry.ts';
import { laneOf } from './lane.ts';
import { getsMemberEvent } from './member-audience.ts';
import { type GatewayNode, type Load, monotonic, type Place, type Rules, type Session } from './state.ts';

/** The version that is read for a server whose rules have not changed for an hour. Access data is not cached under it. */
const unversioned = '0';

/** The channel whose overwrites must be loaded for an entry; undefined when the entry contains the overwrites, or needs none. */
const channelOf = ({ channelId, overwrites }: EntryHead): string | undefined => (overwrites ? undefined : channelId);

/** How long rules are used, in milliseconds. They end long before a newer version expires, which would read as `unversioned` and make old rules look new. */
const rulesMs = 10 * 60_000;

/** Whether rules are at least as new as `version` and may still be used. Rules are read after their version is, so they are never older than it. */
const isAsNew = (rules: Rules | null, version: string): rules is Rules =>
  rules !== null && Number(rules.version) >= Number(version) && monotonic() < rules.until;

/** Whether the rules for entries of these channels are loaded and at least as new as `version`. */
const knowsRules = (rules: Rules | null, version: string, channelIds: Iterable<string>): rules is Rules => {
  if (!isAsNew(rules, version)) return false;
  for (const id of channelIds) if (!rules.channels.has(id)) return false;
  return true;
};

/** Whether the recipients of an entry can be computed now: its rules and the membership of all accounts here are loaded, or the place needs none of that. */
export function canJudge(place: Place, { head }: Entry): boolean {
  if (place.serverId === null || place.sessions.size === 0) return true;
  const channelId = channelOf(head);
  return place.unknownMembers.size === 0 && knowsRules(place.rules, head.rulesVersion, channelId === undefined ? [] : [channelId]);
}

/** Forgets an account's membership after it changed, so that it is loaded again and the recipients are computed again for its sessions. */
export function forgetMember(node: GatewayNode, place: Place, accountId: string): void {
  place.loadingMembers.delete(accountId);
  place.members.delete(accountId);
  const sessions = [...(node.accounts.get(accountId)?.sessions ?? [])].filter((session) => place.sessions.has(session));
  if (sessions.length === 0) return;
  place.unknownMembers.add(accountId);
  for (const recipients of place.recipients.values())
    for (const session of sessions) {
      recipients.sessions.delete(session);
      recipients.unjudged.add(session);
    }
}

/** Forgets a place's members after an interruption. If the epoch is over, also forgets its rules, because their versions may be assigned again. */
export function forgetAccess(place: Place, isEpochOver: boolean): void {
  if (place.serverId === null) return;
  if (isEpochOver) place.rules = null;
  place.members.clear();
  place.loadingMembers.clear();
  for (const { account } of place.sessions) place.unknownMembers.add(account.id);
  place.recipients.clear();
}

async function loadMembers(place: Place, access: ServerAccess | null): Promise<void> {
  if (place.unknownMembers.size === 0) return;
  place.loadingMembers = new Set(place.unknownMembers);
  const found = await access?.members([...place.loadingMembers]);
  for (const id of place.loadingMembers) {
    place.members.set(id, found?.get(id) ?? null);
    place.unknownMembers.delete(id);
  }
  place.loadingMembers = new Set();
}

async function loadRules(node: GatewayNode, place: Place, serverId: string, { version, channelIds }: Load): Promise<void> {
  const { generation } = laneOf(node, place);
  if (!isAsNew(place.rules, version)) {
    const until = monotonic() + rulesMs;
    const access = await loadServer(node.platform, serverId, version === unversioned ? null : version);
    if (laneOf(node, place).generation !== generation) return;
    place.rules = { version, until, access, channels: new Map() };
    place.recipients.clear();
  }
  const { access, channels } = place.rules;
  const unread = [...channelIds].filter((id) => !channels.has(id));
  await Promise.all([loadMembers(place, access), access?.preloadChannels(unread)]);
  for (const id of unread) {
    const channel = await access?.channel(id);
    channels.set(id, access && channel ? await overwritesOf(access, channel) : null);
  }
}

/**
 * Loads what `canJudge` needs. A place runs one load at a time. Requests during a load are combined into the next one, under the newest of their versions.
 * Rejects when the database does not answer.
 */
export async function loadAccess(node: GatewayNode, place: Place, version: string, channelIds: Iterable<string>): Promise<void> {
  const { serverId } = place;
  if (serverId === null) return;
  let { nextLoad } = place;
  if (!nextLoad) {
    const load: Load = { version, channelIds: new Set(), done: Promise.resolve() };
    load.done = place.loading.then(() => {
      place.nextLoad = null;
      return loadRules(node, place, serverId, load);
    });
    place.loading = load.done.catch(() => undefined);
    place.nextLoad = load;
    nextLoad = load;
  }
  if (Number(version) > Number(nextLoad.version)) nextLoad.version = version;
  for (const id of channelIds) nextLoad.channelIds.add(id);
  await nextLoad.done;
}

/** Loads the access data that decides who may see an entry. */
export const loadAccessFor = (node: GatewayNode, place: Place, { head }: Entry): Promise<void> => {
  const channelId = channelOf(head);
  return loadAccess(node, place, head.rulesVersion, channelId === undefined ? [] : [channelId]);
};

/** Which members receive an event that changes who can view a channel: those who gained access, those who lost it, or those who had and keep it. */
const viewChangeFor = ({ name }: EntryHead): ViewChange => {
  const { life } = traitsOf(name);
  return life === undefined ? 'seen' : life === 'begins' ? 'shown' : 'hidden';
};

/** Whether the recipients depend only on the channel, so that they can be cached by channel. */
const isPlain = (head: EntryHead): boolean => !head.overwrites && !head.before && head.onlyAccount === undefined;

/**
 * Whether an account may see an event of a server, by the access data of the place. An event without a channel is for every member. An event of a channel is
 * for its viewers. If the channel is deleted, its last overwrites are in the entry. If the channel became visible or hidden, the event is for members whose
 * view changed. `isLate`: the event is replayed, so only the current state counts: each member who cannot view the channel receives the event that hides it.
 */
function canReceive({ rules, members }: Place, head: EntryHead, accountId: string, isLate: boolean): boolean {
  if (!rules) return false;
  const { access, channels } = rules;
  const member = members.get(accountId);
  if (!access || !member) return false;
  const isEnd = traitsOf(head.name).life === 'ends';
  if (isEnd && head.onlyAccount !== undefined) return true;
  if (head.channelId === undefined) return true;
  const isHidden = isLate && isEnd && head.before !== undefined;
  const overwrites = head.overwrites ?? channels.get(head.channelId);
  if (!overwrites) return isHidden;
  if (head.before && !isLate) return viewChangeOf(access.server, member, overwrites, head.before) === viewChangeFor(head);
  return holds(permissionsOf(access.server, member, overwrites), 'View Channel') !== isHidden;
}

const isFor = ({ head }: Entry, { events, id, account }: Session): boolean =>
  (events === null || events.has(head.name)) &&
  head.exceptAccount !== account.id &&
  (head.onlyAccount === undefined || head.onlyAccount === account.id) &&
  (head.onlySession === undefined || head.onlySession === id);

/** Whether a session receives an entry of its replay. The data that `hasAccessData` checks must be loaded. */
export const canReceiveReplayed = (place: Place, entry: Entry, session: Session): boolean =>
  isFor(entry, session) &&
  (place.serverId === null || (canReceive(place, entry.head, session.account.id, true) && getsMemberEvent(place, entry.head, session)));

function channelRecipientsOf(place: Place, head: EntryHead): ReadonlySet<Session> {
  const known = place.recipients.get(head.channelId ?? '') ?? { sessions: new Set(), unjudged: new Set(place.sessions) };
  place.recipients.set(head.channelId ?? '', known);
  for (const session of known.unjudged) if (canReceive(place, head, session.account.id, false)) known.sessions.add(session);
  known.unjudged.clear();
  return known.sessions;
}

/** The sessions that receive a live entry. `canJudge` must be true for it. */
export function recipientsOf(place: Place, entry: Entry): Session[] {
  const { head } = entry;
  let all: Iterable<Session> = place.sessions;
  if (place.serverId !== null) {
    if (isPlain(head)) all = channelRecipientsOf(place, head);
    else all = [...place.sessions].filter((session) => canReceive(place, head, session.account.id, false));
  }
  return [...all].filter((session) => session.state === 'live' && isFor(entry, session) && getsMemberEvent(place, head, session));
}

/** Whether the access data is loaded that decides, under `version`, whether an account may see entries of these channels. */
export const hasAccessData = (place: Place, version: string, channelIds: readonly string[], accountId: string): boolean =>
  place.members.has(accountId) && knowsRules(place.rules, version, channelIds);
