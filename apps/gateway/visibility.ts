import { computePermissions, permissionBits, viewingBits } from '../../lib/base/permissions.ts';
import type { EventName, LoggedData } from '../../lib/contract/events.ts';
import type { Entry, EntryHead, RulesChange } from '../../lib/store/redis/log/entry.ts';
import { applyChange, applyEntry, canView, canViewChannel } from './rules.ts';
import type { GatewayNode, Membership, Place, Rules, Session } from './state.ts';

/** An event for a session. `viewedAs` is the channel that the account must be able to view when it is sent; null if there is none. */
export interface SessionEvent {
  readonly name: EventName;
  readonly payload: Buffer;
  readonly viewedAs: string | null;
  /** Whether it is the CHANNEL_CREATE by which the account learns of `viewedAs`. */
  readonly isShown?: boolean;
}

/** A member with one of these permissions is a manager, who receives all events about members. */
const managerBits =
  permissionBits['Manage Server'] | permissionBits['Manage Roles'] | permissionBits['Kick Members'] | permissionBits['Ban Members'];

/**
 * Whether a session receives an event about a member of a server. In a server of more than 1,000 members (`concernedOnly`), such an event goes only to sessions
 * of the member, of managers (Manage Server, Manage Roles, Kick Members or Ban Members) and of bots that asked for it, and to sessions that watch the account.
 * True for any other event.
 */
function canReceiveMemberEvent({ server }: Rules, member: Membership, head: EntryHead, { account, watchList }: Session): boolean {
  if (!head.concernedOnly || head.member === undefined || account.isBot || account.id === head.member) return true;
  return watchList?.accounts.has(head.member) || (computePermissions(server, member) & managerBits) !== 0;
}

/** Whether an entry is meant for a session, whatever its account may view. */
export const isAddressedTo = ({ head }: Entry, { eventFilter, id, account }: Session): boolean =>
  (eventFilter === null || eventFilter.has(head.name)) &&
  head.exceptAccount !== account.id &&
  (head.onlyAccount === undefined || head.onlyAccount === account.id) &&
  (head.onlySession === undefined || head.onlySession === id);

/** Whether a change of a role or of the owner can change who views channels. */
const changesViewers = ({ role, owner }: RulesChange): boolean =>
  owner !== undefined || (role !== undefined && (((role.before ?? 0) ^ (role.after ?? 0)) & viewingBits) !== 0) || role?.after === null;

/** The channels whose viewers a change can change. */
const getAffected = (change: RulesChange, channelIds: Iterable<string>): Iterable<string> =>
  change.member || changesViewers(change) ? channelIds : change.channel ? [change.channel.id] : [];

/** Whether the change is a join or the end of a membership. The account gets SERVER_CREATE or SERVER_DELETE then, and no events of channels. */
const isJoinOrLeave = ({ member }: RulesChange): boolean => !!member && (member.before === null || member.after === null);

/** Whether the entry shows or hides a channel by itself: its CHANNEL_CREATE, its CHANNEL_DELETE, or a change of its overwrites. */
const changesChannel = ({ change }: EntryHead): boolean => change?.channel !== undefined;

/** The events of a channel that an account gained, with its active threads, or lost. Each is made once for all sessions. */
function createChannelEvents(serverId: string, rules: Rules): (channelId: string, isShown: boolean) => SessionEvent[] {
  const created = new Map<string, SessionEvent[]>();
  return (channelId, isShown) => {
    const key = `${channelId} ${isShown}`;
    const known = created.get(key);
    if (known) return known;
    const channel = rules.channels.get(channelId);
    const deleted: LoggedData<'CHANNEL_DELETE'> = { id: channelId, serverId };
    const payloads = channel ? [channel.payload, ...channel.threads.values()] : [];
    const events = isShown
      ? payloads.map((payload, at) => ({ name: 'CHANNEL_CREATE' as const, payload, viewedAs: channelId, isShown: at === 0 }))
      : [{ name: 'CHANNEL_DELETE' as const, payload: Buffer.from(JSON.stringify(deleted)), viewedAs: null }];
    created.set(key, events);
    return events;
  };
}

/** The members among those with sessions here whose views a change can change: who has the role, the owners, the member, or for a channel everyone. */
function findAffectedMembers({ members, server }: Rules, { role, owner, member, channel }: RulesChange): string[] {
  if (channel || role?.id === server._id) return [...members.keys()];
  const holders = role ? [...members].flatMap(([id, one]) => (one?.roles.includes(role.id) ? id : [])) : [];
  return [...holders, ...[owner?.before, owner?.after, member?.id].flatMap((id) => (id && members.has(id) ? id : []))];
}

/** Which of some channels each account may view. It is computed once for all that have the same roles, unless the owner or an overwrite of their own differs. */
function findVisible(rules: Rules, accountIds: readonly string[], channelIds: readonly string[]): Map<string, Set<string>> {
  const { server, members, channels } = rules;
  const special = new Set([server.ownerId, ...channelIds.flatMap((id) => channels.get(id)?.overwrites.map((one) => one.id) ?? [])]);
  const byRoles = new Map<string, Set<string>>();
  const visible = new Map<string, Set<string>>();
  for (const accountId of accountIds) {
    const member = members.get(accountId);
    const key = !member || special.has(accountId) ? accountId : member.roles.toSorted().join(' ');
    const found = byRoles.get(key) ?? new Set(channelIds.filter((id) => canViewChannel(rules, member, id)));
    byRoles.set(key, found);
    visible.set(accountId, found);
  }
  return visible;
}

/**
 * Moves the rules of a place past an entry. Returns the events of the channels that accounts gain or lose by it, by account. The sessions of accounts that are
 * not loaded must replay.
 */
export function moveRules({ accounts }: GatewayNode, place: Place, entry: Entry): Map<string, SessionEvent[]> {
  const events = new Map<string, SessionEvent[]>();
  const { rules, serverId, recipients } = place;
  const { change } = entry.head;
  if (!rules || serverId === null) return events;
  if (!change) {
    applyEntry(rules, entry);
    return events;
  }
  const affected = isJoinOrLeave(change) ? [] : [...getAffected(change, rules.channels.keys())];
  const changed = affected.length > 0 ? findAffectedMembers(rules, change) : [];
  const before = findVisible(rules, changed, affected);
  applyEntry(rules, entry);
  const after = findVisible(rules, changed, affected);
  const createEvents = createChannelEvents(serverId, rules);
  for (const [accountId, visibleBefore] of before) {
    const visibleAfter = after.get(accountId) as ReadonlySet<string>;
    if (visibleAfter === visibleBefore) continue;
    const shown = affected.filter((id) => visibleAfter.has(id) && !visibleBefore.has(id));
    const hidden = affected.filter((id) => visibleBefore.has(id) && !visibleAfter.has(id));
    if (shown.length + hidden.length === 0) continue;
    events.set(accountId, [...hidden.flatMap((id) => createEvents(id, false)), ...shown.flatMap((id) => createEvents(id, true))]);
  }
  if (changesViewers(change)) recipients.clear();
  else if (change.channel) recipients.delete(change.channel.id);
  for (const session of (change.member && accounts.get(change.member.id)?.sessions) ?? [])
    if (session.places.has(place)) reconsider(recipients, session);
  return events;
}

/** Makes the recipients of all channels be computed again for a session. */
export function reconsider(recipients: Place['recipients'], session: Session): void {
  for (const { sessions, undecided } of recipients.values()) {
    sessions.delete(session);
    undecided.add(session);
  }
}

/** The membership by which a session is in a place, under its rules or a copy of them; null if that has ended. */
function getMember(place: Place, { account, places }: Session, rules: Rules | null = place.rules): Membership | null {
  const member = rules?.members.get(account.id) ?? null;
  return member?.joinId === places.get(place) ? member : null;
}

/** The channel whose viewers receive an event. Entries of the version before name a thread instead of its parent. */
const findViewedAs = ({ channels }: Rules, channelId: string): string =>
  channels.has(channelId) ? channelId : ([...channels].find(([, { threads }]) => threads.has(channelId))?.[0] ?? channelId);

/** The live sessions that receive an entry itself, after the rules were moved past it. `viewEvents`: what `moveRules` returned. */
export function computeRecipients(place: Place, entry: Entry, viewEvents: ReadonlyMap<string, unknown>): Session[] {
  const { head } = entry;
  const { rules, serverId, sessions } = place;
  const isLive = (session: Session): boolean => session.state === 'live' && isAddressedTo(entry, session);
  if (serverId === null) return [...sessions].filter(isLive);
  if (!rules) return [];
  const { channelId, overwrites } = head;
  if (channelId !== undefined && !overwrites) {
    // Who gained or lost the channel by this entry has other events; its creation and deletion are told by these alone.
    if (changesChannel(head) && head.name !== 'CHANNEL_UPDATE') return [];
    const viewers = [...computeViewers(place, rules, findViewedAs(rules, channelId))].filter(isLive);
    return changesChannel(head) ? viewers.filter(({ account }) => !viewEvents.has(account.id)) : viewers;
  }
  return [...sessions].filter((session) => {
    const member = isLive(session) ? getMember(place, session) : null;
    if (!member || (overwrites && !canView(rules.server, member, overwrites))) return false;
    return canReceiveMemberEvent(rules, member, head, session);
  });
}

/** The sessions that may view a channel. Those whose accounts are not loaded are left out. */
function computeViewers(place: Place, rules: Rules, channelId: string): ReadonlySet<Session> {
  if (!rules.channels.has(channelId)) return new Set();
  const recipients = place.recipients.get(channelId) ?? { sessions: new Set(), undecided: new Set(place.sessions) };
  place.recipients.set(channelId, recipients);
  for (const session of recipients.undecided) {
    if (place.unknown.has(session)) continue;
    recipients.undecided.delete(session);
    if (canViewChannel(rules, getMember(place, session), channelId)) recipients.sessions.add(session);
  }
  return recipients.sessions;
}

/** Whether a session may be sent an event of a place now. */
export function isVisibleNow(place: Place, session: Session, { viewedAs }: SessionEvent): boolean {
  if (place.serverId === null) return true;
  const member = getMember(place, session);
  if (!place.rules || !member) return false;
  return viewedAs === null || canViewChannel(place.rules, member, viewedAs);
}

/**
 * The events that an entry of a replay brings, by the rules at the moment of the entry: moves `then`, a copy of the rules, past it. What is not visible any more
 * is left out when it is sent (`isVisibleNow`).
 */
export function replayEntry(place: Place, then: Rules, entry: Entry, session: Session): SessionEvent[] {
  const { head, payload } = entry;
  const { rules, serverId } = place;
  if (!rules || serverId === null) return [];
  const { change, overwrites } = head;
  const channelId =
    head.channelId === undefined || then.channels.has(head.channelId) ? head.channelId : findViewedAs(rules, head.channelId);
  const canViewNow = (id: string): boolean => canViewChannel(then, then.members.get(session.account.id), id);
  const affected = change && !isJoinOrLeave(change) ? [...getAffected(change, then.channels.keys())] : [];
  const before = new Map(affected.map((id) => [id, canViewNow(id)]));
  if (change) applyChange(then, change, 'after');
  const member = getMember(place, session, then);
  if (!member) return [];
  const createEvents = createChannelEvents(serverId, rules);
  const changedIds = affected.filter((id) => before.get(id) !== canViewNow(id));
  const viewEvents = changedIds.flatMap((id) => createEvents(id, canViewNow(id)));
  const own = { name: head.name, payload, viewedAs: overwrites ? null : (channelId ?? null) };
  const isOwnShown = changesChannel(head) && (head.name !== 'CHANNEL_UPDATE' || changedIds.length > 0);
  const isViewer = channelId === undefined || (overwrites ? canView(then.server, member, overwrites) : canViewNow(channelId));
  const isOwnSent = !isOwnShown && isViewer && isAddressedTo(entry, session) && canReceiveMemberEvent(then, member, head, session);
  const isAsked = ({ name }: SessionEvent): boolean => session.eventFilter === null || session.eventFilter.has(name);
  return [...(isOwnSent ? [own] : []), ...viewEvents.filter(isAsked)];
}
