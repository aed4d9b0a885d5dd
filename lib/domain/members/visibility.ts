import { channelKinds } from '../../base/channel-kinds.ts';
import {
  computePermissions,
  hasPermission,
  type MemberRules,
  type Overwrite,
  permissionBits,
  type ServerRules,
  viewingBits,
} from '../../base/permissions.ts';
import type { OutboxEntry } from '../../store/mongo/models/outbox.ts';
import type { ChannelDoc, MemberDoc, ServerDoc } from '../../store/mongo/models/server.ts';
import type { PreviousRules } from '../../store/redis/log/entry.ts';
import { serverPlace } from '../../store/redis/log/keys.ts';
import { isAnnounced } from '../events/outbox-source.ts';
import { createPlacedEvent, type PlacedEvent } from '../events/placed-events.ts';
import { toChannel } from '../servers/server-view.ts';
import type { ServerAccess } from './access.ts';

/** How a change affected an account's view of a channel: `shown` and `hidden` are changes; `visible` and `invisible` mean that it stayed so. */
export type ViewChange = 'shown' | 'hidden' | 'visible' | 'invisible';

/** The permission rules of a server before a change. */
function getPreviousRules(server: ServerRules, { roles = [], owner }: PreviousRules): ServerRules {
  const previousRoles = new Map(roles.map((role) => [role.id, role]));
  const currentRoles = server.roles.map((role) => previousRoles.get(role.id) ?? role);
  const deletedRoles = roles.filter(({ id }) => !server.roles.some((role) => role.id === id));
  return { _id: server._id, ownerId: owner ?? server.ownerId, roles: [...currentRoles, ...deletedRoles] };
}

/**
 * How `member`'s view of a channel changed. `overwrites` are the channel's current ones, and `before` the old rules. `previousMember` is the old member, if it
 * changed too.
 */
export function computeViewChange(
  server: ServerRules,
  member: MemberRules,
  overwrites: readonly Overwrite[],
  before: PreviousRules,
  previousMember: MemberRules = member,
): ViewChange {
  const canViewNow = hasPermission(computePermissions(server, member, overwrites), 'View Channel');
  const couldViewBefore = hasPermission(
    computePermissions(getPreviousRules(server, before), previousMember, before.overwrites ?? overwrites),
    'View Channel',
  );
  if (canViewNow) return couldViewBefore ? 'visible' : 'shown';
  return couldViewBefore ? 'hidden' : 'invisible';
}

/**
 * The rules of a server before its pending changes: for each changed role and the owner, the oldest state. Null when the changes cannot affect who views a
 * channel.
 */
function findPreviousRules(server: ServerDoc): PreviousRules | null {
  const roles = new Map<string, { id: string; permissions: number }>();
  let owner: string | undefined;
  for (const { was } of server.outbox ?? []) {
    if (was?.role && !roles.has(was.role.id)) roles.set(was.role.id, was.role);
    owner ??= was?.owner;
  }
  const changedRoles = [...roles.values()].filter(({ id, permissions }) => {
    const now = server.roles.find((role) => role.id === id);
    return !now || ((now.permissions ^ permissions) & viewingBits) !== 0;
  });
  if (changedRoles.length === 0 && owner === undefined) return null;
  return { ...(changedRoles.length > 0 ? { roles: changedRoles } : {}), ...(owner === undefined ? {} : { owner }) };
}

/** The overwrites that a channel had before its pending changes; undefined when no change affects them, or the channel has not been announced yet. */
function findPreviousOverwrites({ outbox = [] }: Pick<ChannelDoc, 'outbox'>): readonly Overwrite[] | undefined {
  return !isAnnounced(outbox) ? undefined : outbox.find(({ was }) => was?.overwrites)?.was?.overwrites;
}

/** A member before the pending changes of its roles; null when there are none. */
function findPreviousMember(member: MemberDoc): MemberRules | null {
  const changes = (member.outbox ?? []).flatMap(({ was }) => was?.given ?? []);
  if (changes.length === 0) return null;
  const roles = new Set(member.roles);
  for (const { roleId, has } of changes.toReversed())
    if (has) roles.delete(roleId);
    else roles.add(roleId);
  return { userId: member.userId, roles: [...roles] };
}

/** The id of a document's last pending event, or ''. Events that are derived from all its pending events have ids made from this one. */
const lastEntryId = (outbox: readonly OutboxEntry[] = []): string => outbox.at(-1)?.id ?? '';

/**
 * Whether somebody may have gained the channel (`shown`), and whether somebody may have lost it (`hidden`). Compares the bits that roles and overwrites give
 * now with those that they gave before.
 */
function findPossibleViewChanges(
  server: ServerRules,
  overwrites: readonly Overwrite[],
  { overwrites: previousOverwrites, roles = [], owner }: PreviousRules,
): { shown: boolean; hidden: boolean } {
  const viewBit = permissionBits['View Channel'];
  const viewEffectOf = (list: readonly Overwrite[], id: string): number => {
    const one = list.find((each) => each.id === id);
    return one ? (one.allow & viewBit ? 1 : 0) - (one.deny & viewBit ? 1 : 0) : 0;
  };
  const effectChanges = (previousOverwrites ?? [])
    .concat(overwrites)
    .map(({ id }) => (previousOverwrites ? viewEffectOf(overwrites, id) - viewEffectOf(previousOverwrites, id) : 0));
  const roleBits = roles.map((was) => [server.roles.find(({ id }) => id === was.id)?.permissions ?? 0, was.permissions] as const);
  // When a role is deleted, what its overwrite denied goes too. The channel's own event shows that.
  const shown =
    owner !== undefined || effectChanges.some((change) => change > 0) || roleBits.some(([now, then]) => (now & ~then & viewingBits) !== 0);
  const hidden =
    owner !== undefined || effectChanges.some((change) => change < 0) || roleBits.some(([now, then]) => (then & ~now & viewingBits) !== 0);
  return { shown, hidden };
}

/**
 * The events of a channel whose viewers may have changed since `before`: CHANNEL_CREATE for those who gained it, CHANNEL_DELETE for those who lost it, and, if
 * it has pending events of its own, CHANNEL_UPDATE for all others who see it. They apply to its threads too. If the channel has no pending events, the event
 * ids are made from `cause`.
 */
function createViewChangeEvents(
  server: ServerRules,
  channel: ChannelDoc,
  pending: readonly OutboxEntry[],
  before: PreviousRules,
  cause: string,
): PlacedEvent[] {
  const { _id: id, serverId, overwrites } = channel;
  const place = serverPlace(serverId);
  const channelData = toChannel(channel);
  const possible = findPossibleViewChanges(server, overwrites, before);
  const eventId = lastEntryId(pending) || `${cause}-${id}`;
  const visibility = { channelId: id, before };
  const events: PlacedEvent[] = [];
  if (possible.hidden) events.push(createPlacedEvent(place, `hidden-${eventId}`, 'CHANNEL_DELETE', { id, serverId }, visibility));
  if (possible.shown) events.push(createPlacedEvent(place, `shown-${eventId}`, 'CHANNEL_CREATE', channelData, visibility));
  if (pending.length > 0) events.push(createPlacedEvent(place, eventId, 'CHANNEL_UPDATE', channelData, visibility));
  return events;
}

/** The events for an account whose own roles changed: the channels that it gained and lost. */
function createOwnViewChangeEvents(
  { server }: ServerAccess,
  member: MemberDoc,
  channels: readonly ChannelDoc[],
  rules: PreviousRules | null,
): PlacedEvent[] {
  const previousMember = findPreviousMember(member);
  if (!previousMember) return [];
  return channels.flatMap((channel): PlacedEvent[] => {
    const { _id: id, serverId, overwrites } = channel;
    const previousOverwrites = findPreviousOverwrites(channel);
    const change = computeViewChange(
      server,
      member,
      overwrites,
      { ...rules, ...(previousOverwrites ? { overwrites: previousOverwrites } : {}) },
      previousMember,
    );
    const eventKey = [serverPlace(serverId), `${change}-${lastEntryId(member.outbox)}-${id}`] as const;
    const visibility = { channelId: id, onlyAccount: member.userId };
    if (change === 'hidden') return [createPlacedEvent(...eventKey, 'CHANNEL_DELETE', { id, serverId }, visibility)];
    return change === 'shown' ? [createPlacedEvent(...eventKey, 'CHANNEL_CREATE', toChannel(channel), visibility)] : [];
  });
}

/** A server, members and channels with their pending events, as read from the database and not from cached access data. */
interface ServerChanges {
  server: ServerDoc;
  members: readonly MemberDoc[];
  channels: readonly ChannelDoc[];
}

/** All events that are sent because channels became visible or hidden, in order. The channels in `coveredChannelIds` get no other events. */
export interface ViewChanges {
  events: PlacedEvent[];
  coveredChannelIds: ReadonlySet<string>;
}

/**
 * Makes the events for those who gained or lost channels by the pending events of a server. Events of threads, and of channels that are not announced yet, are
 * sent as usual.
 */
export async function createViewChanges(access: ServerAccess, { server, members, channels }: ServerChanges): Promise<ViewChanges> {
  const rules = findPreviousRules(server);
  const events: PlacedEvent[] = [];
  const pendingById = new Map(channels.map((channel) => [channel._id, channel]));
  const changedMembers = members.filter((member) => findPreviousMember(member));
  const allChannels =
    rules || changedMembers.length > 0 ? (await access.channels()).map((one) => pendingById.get(one._id) ?? { ...one, outbox: [] }) : [];
  for (const member of changedMembers) events.push(...createOwnViewChangeEvents(access, member, allChannels, rules));
  const coveredChannelIds = new Set<string>();
  for (const channel of rules ? allChannels : channels) {
    const { _id, kind, outbox = [] } = channel;
    const previousOverwrites = findPreviousOverwrites(channel);
    if (!channelKinds[kind].hasOverwrites || !isAnnounced(outbox) || !(rules || previousOverwrites)) continue;
    events.push(
      ...createViewChangeEvents(
        access.server,
        channel,
        outbox,
        { ...rules, ...(previousOverwrites ? { overwrites: previousOverwrites } : {}) },
        lastEntryId(server.outbox),
      ),
    );
    coveredChannelIds.add(_id);
  }
  return { events, coveredChannelIds };
}
