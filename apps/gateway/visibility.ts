import { computePermissions, hasPermission } from '../../lib/base/permissions.ts';
import { getEventDefinition } from '../../lib/contract/events.ts';
import { loadOverwrites, loadServerAccess, type ServerAccess } from '../../lib/domain/members/access.ts';
import { computeViewChange, type ViewChange } from '../../lib/domain/members/visibility.ts';
import type { Entry, EntryHead } from '../../lib/store/redis/log/entry.ts';
import { getLane } from './lane.ts';
import { canReceiveMemberEvent } from './member-audience.ts';
import { type AccessLoad, type AccessRules, type GatewayNode, monotonicMs, type Place, type Session } from './state.ts';

/** The version that is read for a server whose rules have not changed for an hour. Access data is not cached under it. */
const noVersion = '0';

/** The channel whose overwrites must be loaded for an entry; undefined when the entry contains the overwrites, or needs none. */
const getChannelToLoad = ({ channelId, overwrites }: EntryHead): string | undefined => (overwrites ? undefined : channelId);

/** How long rules are used, in milliseconds. They end long before a newer version expires, which would read as `noVersion` and make old rules look new. */
const rulesTtlMs = 10 * 60_000;

/** Whether rules are at least as new as `version` and may still be used. Rules are read after their version is, so they are never older than it. */
const isAtLeast = (rules: AccessRules | null, version: string): rules is AccessRules =>
  rules !== null && Number(rules.version) >= Number(version) && monotonicMs() < rules.validUntilMs;

/** Whether the rules for entries of these channels are loaded and at least as new as `version`. */
const hasRules = (rules: AccessRules | null, version: string, channelIds: Iterable<string>): rules is AccessRules => {
  if (!isAtLeast(rules, version)) return false;
  for (const id of channelIds) if (!rules.channels.has(id)) return false;
  return true;
};

/** Whether the rules that decide about an entry of a server are loaded. */
const hasRulesFor = ({ rules }: Place, head: EntryHead): boolean => {
  const channelId = getChannelToLoad(head);
  return hasRules(rules, head.rulesVersion, channelId === undefined ? [] : [channelId]);
};

/**
 * The live sessions of a place for which it cannot be decided now whether they receive an entry: all while the rules for it are not loaded, else those of
 * accounts whose membership is not loaded.
 */
export function* findUndecided(node: GatewayNode, place: Place, { head }: Entry): Iterable<Session> {
  if (place.serverId === null) return;
  if (!hasRulesFor(place, head)) for (const session of place.sessions) if (session.state === 'live') yield session;
  for (const id of place.unknownMembers)
    for (const session of node.accounts.get(id)?.sessions ?? []) if (session.state === 'live' && session.places.has(place)) yield session;
}

/** Whether the recipients of an entry can be computed now. */
export const canComputeRecipients = (node: GatewayNode, place: Place, entry: Entry): boolean =>
  findUndecided(node, place, entry)[Symbol.iterator]().next().done === true;

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
      recipients.undecided.add(session);
    }
}

/** Forgets a place's members after an interruption. If the epoch is over, also forgets its rules, because their versions may be assigned again. */
export function forgetAccessData(place: Place, isEpochOver: boolean): void {
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
  const members = await access?.members([...place.loadingMembers]);
  for (const id of place.loadingMembers) {
    place.members.set(id, members?.get(id) ?? null);
    place.unknownMembers.delete(id);
  }
  place.loadingMembers = new Set();
}

async function loadRules(node: GatewayNode, place: Place, serverId: string, { version, channelIds }: AccessLoad): Promise<void> {
  const { interruptions } = getLane(node, place);
  if (!isAtLeast(place.rules, version)) {
    const validUntilMs = monotonicMs() + rulesTtlMs;
    const access = await loadServerAccess(node.platform, serverId, version === noVersion ? null : version);
    if (getLane(node, place).interruptions !== interruptions) return;
    place.rules = { version, validUntilMs, access, channels: new Map() };
    place.recipients.clear();
  }
  const { access, channels } = place.rules;
  const newChannelIds = [...channelIds].filter((id) => !channels.has(id));
  await Promise.all([loadMembers(place, access), access?.preloadChannels(newChannelIds)]);
  for (const id of newChannelIds) {
    const channel = await access?.channel(id);
    channels.set(id, access && channel ? await loadOverwrites(access, channel) : null);
  }
}

/**
 * Loads what `canComputeRecipients` needs. A place runs one load at a time. Requests during a load are combined into the next one, under the newest of their
 * versions. Rejects when the database does not answer.
 */
export async function loadAccess(node: GatewayNode, place: Place, version: string, channelIds: Iterable<string>): Promise<void> {
  const { serverId } = place;
  if (serverId === null) return;
  let { nextLoad } = place;
  if (!nextLoad) {
    const load: AccessLoad = { version, channelIds: new Set(), promise: Promise.resolve() };
    load.promise = place.lastLoad.then(() => {
      place.nextLoad = null;
      return loadRules(node, place, serverId, load);
    });
    place.lastLoad = load.promise.catch(() => undefined);
    place.nextLoad = load;
    nextLoad = load;
  }
  if (Number(version) > Number(nextLoad.version)) nextLoad.version = version;
  for (const id of channelIds) nextLoad.channelIds.add(id);
  await nextLoad.promise;
}

/** Loads the access data that decides who may see an entry. */
export const loadAccessFor = (node: GatewayNode, place: Place, { head }: Entry): Promise<void> => {
  const channelId = getChannelToLoad(head);
  return loadAccess(node, place, head.rulesVersion, channelId === undefined ? [] : [channelId]);
};

/** Which members receive an event that changes who can view a channel: those who gained access, those who lost it, or those who had and keep it. */
const getViewChange = ({ name }: EntryHead): ViewChange => {
  const { lifecycle } = getEventDefinition(name);
  return lifecycle === undefined ? 'visible' : lifecycle === 'start' ? 'shown' : 'hidden';
};

/** Whether the recipients depend only on the channel, so that they can be cached by channel. */
const dependsOnlyOnChannel = (head: EntryHead): boolean => !head.overwrites && !head.before && head.onlyAccount === undefined;

/**
 * Whether an account may see an event of a server, by the access data of the place. An event without a channel is for every member. An event of a channel is
 * for its viewers. If the channel is deleted, its last overwrites are in the entry. If the channel became visible or hidden, the event is for members whose
 * view changed. `isReplayed`: the event is replayed, so only the current state counts: each member who cannot view the channel receives the event that hides
 * it. No member receives an event from before the join, whatever position the client sent.
 */
function canReceive({ rules, members }: Place, head: EntryHead, accountId: string, isReplayed: boolean): boolean {
  if (!rules) return false;
  const { access, channels } = rules;
  const member = members.get(accountId);
  if (!access || !member) return false;
  if (isReplayed && head.number <= (member.joinNumber ?? 0)) return false;
  const isRemoval = getEventDefinition(head.name).lifecycle === 'end';
  if (isRemoval && head.onlyAccount !== undefined) return true;
  if (head.channelId === undefined) return true;
  const isHidden = isReplayed && isRemoval && head.before !== undefined;
  const overwrites = head.overwrites ?? channels.get(head.channelId);
  if (!overwrites) return isHidden;
  if (head.before && !isReplayed) return computeViewChange(access.server, member, overwrites, head.before) === getViewChange(head);
  return hasPermission(computePermissions(access.server, member, overwrites), 'View Channel') !== isHidden;
}

const isAddressedTo = ({ head }: Entry, { eventFilter, id, account }: Session): boolean =>
  (eventFilter === null || eventFilter.has(head.name)) &&
  head.exceptAccount !== account.id &&
  (head.onlyAccount === undefined || head.onlyAccount === account.id) &&
  (head.onlySession === undefined || head.onlySession === id);

/** Whether a session receives an entry of its replay. The data that `hasAccessData` checks must be loaded. */
export const canReceiveReplayed = (place: Place, entry: Entry, session: Session): boolean =>
  isAddressedTo(entry, session) &&
  (place.serverId === null ||
    (canReceive(place, entry.head, session.account.id, true) && canReceiveMemberEvent(place, entry.head, session)));

function computeChannelRecipients(place: Place, head: EntryHead): ReadonlySet<Session> {
  const recipients = place.recipients.get(head.channelId ?? '') ?? { sessions: new Set(), undecided: new Set(place.sessions) };
  place.recipients.set(head.channelId ?? '', recipients);
  for (const session of recipients.undecided) {
    if (place.unknownMembers.has(session.account.id)) continue; // it replays, and is decided about later
    recipients.undecided.delete(session);
    if (canReceive(place, head, session.account.id, false)) recipients.sessions.add(session);
  }
  return recipients.sessions;
}

/** The live sessions that receive an entry. None of `findUndecided` may be live any more. */
export function computeRecipients(place: Place, entry: Entry): Session[] {
  const { head } = entry;
  let sessions: Iterable<Session> = place.sessions;
  if (place.serverId !== null) {
    if (!hasRulesFor(place, head)) return [];
    if (dependsOnlyOnChannel(head)) sessions = computeChannelRecipients(place, head);
    else sessions = [...place.sessions].filter((session) => canReceive(place, head, session.account.id, false));
  }
  return [...sessions].filter(
    (session) => session.state === 'live' && isAddressedTo(entry, session) && canReceiveMemberEvent(place, head, session),
  );
}

/** Whether the access data is loaded that decides, under `version`, whether an account may see entries of these channels. */
export const hasAccessData = (place: Place, version: string, channelIds: readonly string[], accountId: string): boolean =>
  place.members.has(accountId) && hasRules(place.rules, version, channelIds);
