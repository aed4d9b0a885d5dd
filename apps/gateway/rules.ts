import { computePermissions, hasPermission, type Overwrite, type ServerRules } from '../../lib/base/permissions.ts';
import type { Channel } from '../../lib/contract/channel.ts';
import { getEventDefinition, getMembershipChange } from '../../lib/contract/events.ts';
import { loadStoredRules, type StoredRules, type WantedRules, waitUntilRelayed } from '../../lib/domain/servers/rules.ts';
import type { MemberDoc } from '../../lib/store/mongo/models/server.ts';
import { changeFormat, type Entry, type EntryHead, type RulesChange } from '../../lib/store/redis/log/entry.ts';
import { getLane, waitForBarrier } from './lane.ts';
import type { ChannelRules, GatewayNode, Membership, Place, Rules } from './state.ts';

/** Whether a member may view a channel with these overwrites; nobody may view an unknown channel. */
export const canView = (
  server: ServerRules,
  member: Membership | null | undefined,
  overwrites: readonly Overwrite[] | undefined,
): boolean => !!member && !!overwrites && hasPermission(computePermissions(server, member, overwrites), 'View Channel');

/** Whether a member may view a channel under these rules. */
export const canViewChannel = ({ server, channels }: Rules, member: Membership | null | undefined, channelId: string): boolean =>
  canView(server, member, channels.get(channelId)?.overwrites);

/** The roles of a server after one of them was created, changed or deleted. */
function changeRole(roles: ServerRules['roles'], id: string, permissions: number | null): ServerRules['roles'] {
  const at = roles.findIndex((one) => one.id === id);
  const changed = permissions === null ? [] : [{ id, permissions }];
  return at < 0 ? [...roles, ...changed] : roles.toSpliced(at, 1, ...changed);
}

/** Whether an entry does not say what it changes in the rules, or which join it tells of, because the version before has written it. */
export const isOldChange = ({ serverId }: Place, { name, format, join }: EntryHead): boolean =>
  serverId === null
    ? !join && getMembershipChange(name) === 'start'
    : format !== changeFormat && getEventDefinition(name).place === 'server';

/** Moves rules past a change (`after`), or back to before it (`before`). */
export function applyChange(rules: Rules, { role, owner, channel, member }: RulesChange, to: 'before' | 'after'): void {
  if (owner) rules.server = { ...rules.server, ownerId: owner[to] ?? rules.server.ownerId };
  if (role) rules.server = { ...rules.server, roles: changeRole(rules.server.roles, role.id, role[to]) };
  if (channel) {
    const overwrites = channel[to];
    const known = rules.channels.get(channel.id) ?? { payload: Buffer.alloc(0), threads: new Map() };
    if (overwrites) rules.channels.set(channel.id, { ...known, overwrites });
    else rules.channels.delete(channel.id);
  }
  if (member && rules.members.has(member.id)) {
    const { id, [to]: is } = member;
    rules.members.set(id, is && { userId: id, ...is });
  }
}

/** A copy of the rules for one account, which can be moved back. The membership of the account must be loaded. */
export const copyRules = ({ server, members, channels }: Rules, accountId: string): Rules => ({
  server,
  channels: new Map(channels),
  members: new Map([[accountId, members.get(accountId) ?? null]]),
});

/** Moves the rules past an entry, and keeps the payload of the channel or thread that it tells of. */
export function applyEntry(rules: Rules, { head: { name, change, channelId }, payload: received }: Entry): void {
  if (change) applyChange(rules, change, 'after');
  const channel = name.startsWith('CHANNEL_') ? rules.channels.get(channelId ?? '') : undefined;
  if (!channel) return;
  const payload = Buffer.from(received); // what was received is a part of a larger buffer
  const { id, kind, archived } = JSON.parse(payload.toString('utf8')) as Partial<Channel>;
  if (id === channelId) channel.payload = payload;
  else if (id !== undefined && (kind === undefined || archived)) channel.threads.delete(id);
  else if (id !== undefined) channel.threads.set(id, payload);
}

/** Whether the rules of a place and the membership of the account are loaded. Always true for an account's place. */
export const isDecidable = ({ serverId, rules }: Place, accountId: string): boolean =>
  serverId === null || rules?.members.has(accountId) === true;

/** Forgets the rules of a place, after entries of it may have been missed. */
export function forgetRules(place: Place): void {
  if (place.serverId === null) return;
  place.rules = null;
  place.recipients.clear();
  for (const session of place.sessions.keys()) place.unknown.add(session);
}

/** The rules as they are stored. */
function toRules(serverId: string, { server, channels, threads }: StoredRules): Rules {
  const channelRules = new Map<string, ChannelRules>();
  for (const { id, overwrites, payload } of channels) channelRules.set(id, { overwrites, payload, threads: new Map() });
  for (const { id, parentId, payload } of threads) channelRules.get(parentId)?.threads.set(id, payload);
  return { server: server ?? { _id: serverId, ownerId: '', roles: [] }, channels: channelRules, members: new Map() };
}

/** What a member document decides with. */
export const toMembership = ({ userId, roles, joinId = '' }: Pick<MemberDoc, 'userId' | 'roles' | 'joinId'>): Membership => ({
  userId,
  roles,
  joinId,
});

/** A place to load, and the members that handshakes have read. All that is read has the changes up to the entry with the number `from`, and may have later ones. */
interface Load extends WantedRules {
  place: Place;
  knownMembers: readonly Membership[];
  from: number;
}

/** What a load of the place has to read. A member that a handshake has read serves for one load, and only if no entry can have been missed since. */
function createLoad(node: GatewayNode, place: Place): Load {
  const serverId = place.serverId as string;
  const lane = getLane(node, place);
  const accountIds = new Set([...place.unknown].map(({ account }) => account.id));
  const knownMembers: Membership[] = [];
  let from = lane.sentNumber;
  for (const { account, readMembers } of place.unknown) {
    const member = readMembers?.members.get(serverId);
    const before = readMembers?.lanes[lane.partition];
    if (!member || !before || before.interruptions !== lane.interruptions || before.sentNumber < place.tailFrom) continue;
    readMembers.members.delete(serverId);
    knownMembers.push(member);
    accountIds.delete(account.id);
    from = Math.min(from, before.sentNumber);
  }
  return { place, serverId, accountIds: [...accountIds], needsChannels: !place.rules, knownMembers, from };
}

/**
 * Loads the rules of a place, and the memberships of accounts. The documents may already have what entries change that the node has not received yet. So it
 * waits until all changes are relayed that the documents can have, and until the lane has passed these entries on. It then moves what it has read past the
 * entries that came meanwhile: each says what is true after it. What handshakes have read is relayed already. Loads nothing while changes are not relayed, or if
 * the lane was interrupted.
 */
async function loadPlace(
  node: GatewayNode,
  { place, serverId, accountIds, needsChannels, knownMembers, from }: Load,
  reading: Promise<ReadonlyMap<string, StoredRules>>,
): Promise<void> {
  const lane = getLane(node, place);
  const { interruptions } = lane;
  const found = (await reading).get(serverId) as StoredRules;
  const isReading = needsChannels || accountIds.length > 0;
  if (isReading && !(await waitUntilRelayed(node.platform, serverId))) return;
  await waitForBarrier(node, lane);
  if (lane.interruptions !== interruptions || lane.state !== 'live' || place.tailFrom > from) return;
  const later = place.tail.filter(({ head }) => head.number > from);
  if (later.some(({ head }) => isOldChange(place, head)) || (!place.rules && !needsChannels)) return;
  const isNew = !place.rules;
  place.rules ??= toRules(serverId, found);
  if (isNew) place.recipients.clear();
  const rules = { ...place.rules, members: new Map<string, Membership | null>(accountIds.map((id) => [id, null])) };
  // Of a server that is gone, nobody receives anything more.
  for (const member of [...knownMembers, ...found.members]) rules.members.set(member.userId, isNew && !found.server ? null : member);
  for (const entry of later) applyEntry(isNew ? rules : { ...rules, channels: new Map() }, entry);
  place.rules.server = rules.server;
  for (const [id, member] of rules.members) place.rules.members.set(id, member);
  for (const session of place.unknown) if (rules.members.has(session.account.id)) place.unknown.delete(session);
}

/** Begins to load places. They are read together, and finished each by itself. */
function startLoads(node: GatewayNode, places: readonly Place[]): void {
  const loads = places.map((place) => createLoad(node, place));
  const reading = loadStoredRules(node.platform, loads);
  for (const load of loads) {
    const loading = loadPlace(node, load, reading).finally(() => {
      load.place.load = null;
    });
    loading.catch(() => undefined); // handled where it is awaited
    load.place.load = loading;
  }
}

/**
 * Loads what decides which entries of these places an account receives. False if it is not known afterwards, because a server's changes are not relayed yet, or a
 * lane was interrupted. Callers share loads. Rejects when a store does not answer.
 */
export async function ensureDecidable(node: GatewayNode, places: readonly Place[], accountId: string): Promise<boolean> {
  const missing = places.filter((place) => !isDecidable(place, accountId));
  const idle = missing.filter(({ load }) => !load);
  if (idle.length > 0) startLoads(node, idle);
  await Promise.all(missing.flatMap(({ load }) => load ?? []));
  return missing.every((place) => isDecidable(place, accountId));
}
