import { holds, permissionsOf } from '../../lib/base/permissions.ts';
import { loadServer, overwritesOf, type ServerAccess } from '../../lib/domain/access.ts';
import { type ViewChange, viewChangeOf } from '../../lib/domain/visibility.ts';
import type { Entry, EntryHead } from '../../lib/store/log/entry.ts';
import { laneOf } from './lane.ts';
import { getsMemberEvent } from './member-audience.ts';
import type { GatewayNode, Load, Place, Rules, Session } from './state.ts';

/** What is read as the version of a server that has none: its rules are not cached. */
const unversioned = '0';

/** The channel whose overwrites decide about an entry; undefined when they stand in it, or none do. */
const channelOf = ({ channelId, overwrites }: EntryHead): string | undefined => (overwrites ? undefined : channelId);

/** Whether the rules are known that decide about entries of these channels under `version`. */
const knowsRules = (rules: Rules | null, version: string, channelIds: Iterable<string>): rules is Rules => {
  if (rules?.version !== version) return false;
  for (const id of channelIds) if (!rules.channels.has(id)) return false;
  return true;
};

/** Whether an entry can be given now: the rules of its version are known, and who of the accounts here is a member. */
export function canJudge(place: Place, { head }: Entry): boolean {
  if (place.serverId === null) return true;
  const channelId = channelOf(head);
  return place.unknownMembers.size === 0 && knowsRules(place.rules, head.rulesVersion, channelId === undefined ? [] : [channelId]);
}

/** An account's membership changed: what is known of it is loaded anew, and its sessions are judged anew. */
export function forgetMember(node: GatewayNode, place: Place, accountId: string): void {
  place.loadingMembers.delete(accountId);
  const sessions = [...(node.accounts.get(accountId)?.sessions ?? [])].filter((session) => place.sessions.has(session));
  if (sessions.length === 0) return;
  place.members.delete(accountId);
  place.unknownMembers.add(accountId);
  for (const recipients of place.recipients.values())
    for (const session of sessions) {
      recipients.sessions.delete(session);
      recipients.unjudged.add(session);
    }
}

/** Something was missed of the place: all access data is loaded anew. */
export function forgetAccess(place: Place): void {
  place.rules = null;
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
  if (place.rules?.version !== version || version === unversioned) {
    const access = await loadServer(node.platform, serverId, version === unversioned ? null : version);
    if (laneOf(node, place).generation !== generation) return;
    place.rules = { version, access, channels: new Map() };
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
 * Loads what `canJudge` asks for. Under a new version everything known before is forgotten. A place has one load at a time; what is asked for meanwhile is
 * loaded after it, in one go. Rejects when the database does not answer.
 */
export async function loadAccess(node: GatewayNode, place: Place, version: string, channelIds: Iterable<string>): Promise<void> {
  const { serverId } = place;
  if (serverId === null) return;
  let { nextLoad } = place;
  if (nextLoad?.version !== version) {
    const load: Load = { version, channelIds: new Set(), done: Promise.resolve() };
    load.done = place.loading.then(() => {
      if (place.nextLoad === load) place.nextLoad = null;
      return loadRules(node, place, serverId, load);
    });
    place.loading = load.done.catch(() => undefined);
    place.nextLoad = load;
    nextLoad = load;
  }
  for (const id of channelIds) nextLoad.channelIds.add(id);
  await nextLoad.done;
}

/** Loads what an entry's visibility needs. */
export const loadAccessFor = (node: GatewayNode, place: Place, { head }: Entry): Promise<void> => {
  const channelId = channelOf(head);
  return loadAccess(node, place, head.rulesVersion, channelId === undefined ? [] : [channelId]);
};

/** Whose event it is where a channel's viewers changed: who gained it, who lost it, or who sees it as before. */
const viewChangeFor = (head: EntryHead): ViewChange =>
  head.name === 'CHANNEL_CREATE' ? 'shown' : head.name === 'CHANNEL_DELETE' ? 'hidden' : 'seen';

/** Whether only the channel decides who hears it, so that one audience serves all such events. */
const isPlain = (head: EntryHead): boolean => !head.overwrites && !head.before && head.onlyAccount === undefined;

/**
 * Whether an account may see an event of a server on this state of its access data: who may view the event's channel; for a channel that is gone, who could
 * (its overwrites came with the event); where a channel became visible or hidden, whom that concerns; for an event of no channel, every member. Of an event that
 * is told late only what stands now counts (edge case 65): that a channel is hidden is told to every member who does not view it.
 */
function canReceive({ rules, members }: Place, head: EntryHead, accountId: string, isLate: boolean): boolean {
  if (!rules) return false;
  const { access, channels } = rules;
  const member = members.get(accountId);
  if (!access || !member) return false;
  if (head.name === 'CHANNEL_DELETE' && head.onlyAccount !== undefined) return true;
  if (head.channelId === undefined) return true;
  const isHidden = isLate && head.name === 'CHANNEL_DELETE' && head.before !== undefined;
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

/** Whether a session gets an entry that it reads from the log. What `prepare` loads must be there. */
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

/** The sessions that get a live entry. `canJudge` must hold. */
export function recipientsOf(place: Place, entry: Entry): Session[] {
  const { head } = entry;
  let all: Iterable<Session> = place.sessions;
  if (place.serverId !== null) {
    if (isPlain(head)) all = channelRecipientsOf(place, head);
    else all = [...place.sessions].filter((session) => canReceive(place, head, session.account.id, false));
  }
  return [...all].filter((session) => session.state === 'live' && isFor(entry, session) && getsMemberEvent(place, head, session));
}

/** Whether all is there that decides about entries of these channels for an account, under `version`. */
export const hasAccessData = (place: Place, version: string, channelIds: readonly string[], accountId: string): boolean =>
  place.members.has(accountId) && knowsRules(place.rules, version, channelIds);
