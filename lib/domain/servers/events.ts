import { limits } from '../../base/limits.ts';
import { getEventDefinition, type LoggedData } from '../../contract/events.ts';
import type { Member } from '../../contract/member.ts';
import type { Role } from '../../contract/server.ts';
import {
  type ChannelEvent,
  entryTime,
  type MemberEvent,
  type OutboxEntry,
  type ServerEvent,
  toServerCreateId,
} from '../../store/mongo/models/outbox.ts';
import { type ChannelDoc, type MemberDoc, type RoleDoc, type ServerDoc, toMemberKeys } from '../../store/mongo/models/server.ts';
import type { Platform } from '../../store/platform.ts';
import { changeFormat, type RulesChange } from '../../store/redis/log/entry.ts';
import { accountPlace, serverPlace } from '../../store/redis/log/keys.ts';
import { selectEntriesToSend } from '../events/outboxes.ts';
import { createPlacedEvent, type PlacedEvent } from '../events/placed.ts';
import { toMembers } from '../members/members.ts';
import { findShownRole, toChannel, toRoles, toServerSummary } from '../views/servers.ts';

/**
 * A server, members and channels with pending events, as they were read after the horizon: the server last, so that it has the roles that members have. Channels
 * that are deleted are as they were stored before that.
 */
export interface PendingDocuments {
  server: ServerDoc;
  members: readonly MemberDoc[];
  channels: readonly ChannelDoc[];
}

/** A pending event of a server, one of its members or one of its channels. */
export type PendingEntry =
  | { kind: 'server'; entry: OutboxEntry<ServerEvent>; order: string }
  | { kind: 'member'; entry: OutboxEntry<MemberEvent>; order: string; member: MemberDoc }
  | { kind: 'channel'; entry: OutboxEntry<ChannelEvent>; order: string; channel: ChannelDoc };

/** Whether an entry has its place in the order of changes. Some of the version before have other ids; they come first. */
const isOrdered = (id: string): boolean => /^\d{19}/.test(id);

/** The time of an id in the order of changes, in milliseconds. */
export const timeOfId = (id: string): number => (isOrdered(id) ? entryTime(id).getTime() : 0);

/**
 * The pending events with times from `fromMs` to `limitMs` (exclusive), in the order of the changes. In one document that is the order of its outbox, whatever the ids: a write
 * may have taken its id before another one that the document got first.
 */
export function listPending({ server, members, channels }: PendingDocuments, fromMs: number, limitMs: number): PendingEntry[] {
  const found: PendingEntry[] = [];
  const addAll = <E extends OutboxEntry>(outbox: readonly E[] = [], add: (entry: E, order: string) => void): void => {
    let order = '';
    for (const entry of outbox) {
      if (isOrdered(entry.id) && entry.id > order) order = entry.id;
      add(entry, order);
    }
  };
  addAll(server.outbox, (entry, order) => found.push({ kind: 'server', entry, order }));
  for (const member of members) addAll(member.outbox, (entry, order) => found.push({ kind: 'member', entry, order, member }));
  for (const channel of channels) addAll(channel.outbox, (entry, order) => found.push({ kind: 'channel', entry, order, channel }));
  return found
    .filter(({ order }) => fromMs <= timeOfId(order) && timeOfId(order) < limitMs)
    .sort((one, other) => (one.order < other.order ? -1 : one.order > other.order ? 1 : 0));
}

/** What an entry changes in the permissions of a role and in the owner. Later entries of the server have the values that these had after it. */
function findServerChange(
  { roles, ownerId, outbox = [] }: ServerDoc,
  { name, data, was }: OutboxEntry<ServerEvent>,
  at: number,
): RulesChange {
  const later = outbox.slice(at + 1);
  const roleId = data && 'roleId' in data ? data.roleId : undefined;
  const change: RulesChange = {};
  if (roleId !== undefined && (was?.role || name === 'ROLE_CREATE')) {
    const next = later.find((entry) => entry.was?.role?.id === roleId)?.was?.role ?? roles.find(({ id }) => id === roleId);
    change.role = {
      id: roleId,
      before: was?.role?.permissions ?? null,
      after: name === 'ROLE_DELETE' ? null : (next?.permissions ?? null),
    };
  }
  if (was?.owner !== undefined)
    change.owner = { before: was.owner, after: later.find((entry) => entry.was?.owner !== undefined)?.was?.owner ?? ownerId };
  return change;
}

/** What an entry of a member changes: the join, or its roles. Later entries say which roles the member was given or lost after it. */
function findMemberChange(
  { userId, roles, joinId = '', outbox = [] }: MemberDoc,
  { name, was }: OutboxEntry<MemberEvent>,
  at: number,
): RulesChange {
  if (name !== 'MEMBER_ADD' && !was) return {};
  const after = new Set(roles);
  const undo = (given: { roleId: string; has: boolean } | undefined, from: Set<string>): void => {
    if (given?.has) from.delete(given.roleId);
    else if (given) from.add(given.roleId);
  };
  for (const entry of outbox.slice(at + 1).toReversed()) undo(entry.was?.given, after);
  const before = new Set(after);
  undo(was?.given, before);
  const toRules = (some: Set<string>) => ({ roles: [...some], joinId });
  return { member: { id: userId, before: name === 'MEMBER_ADD' ? null : toRules(before), after: toRules(after) } };
}

/** What an entry of a channel changes in its overwrites. Later entries have the overwrites that it had before them. */
function findChannelChange(
  { _id, kind, overwrites, outbox = [] }: ChannelDoc,
  { name, was }: OutboxEntry<ChannelEvent>,
  at: number,
): RulesChange {
  if (kind === 'thread' || (name !== 'CHANNEL_CREATE' && !was)) return {};
  const after = outbox.slice(at + 1).find((entry) => entry.was)?.was?.overwrites ?? overwrites;
  return { channel: { id: _id, before: name === 'CHANNEL_CREATE' ? null : (was?.overwrites ?? after), after } };
}

/** `{ change }` unless it is empty. */
const toVisibility = (change: RulesChange): { change?: RulesChange } => (Object.keys(change).length > 0 ? { change } : {});

/** An event about a member. In a server with more than `limits.memberEventsToAllMembers` members, only those whom it concerns receive it. */
const newMemberEvent = <N extends 'MEMBER_ADD' | 'MEMBER_UPDATE' | 'MEMBER_REMOVE'>(
  server: ServerDoc,
  id: string,
  name: N,
  member: string,
  data: LoggedData<N>,
  change: RulesChange,
): PlacedEvent =>
  createPlacedEvent(serverPlace(server._id), id, name, data, {
    member,
    ...toVisibility(change),
    // The account that joined or left gets SERVER_CREATE or SERVER_DELETE.
    ...(getEventDefinition(name).lifecycle ? { exceptAccount: member } : {}),
    ...(server.memberCount > limits.memberEventsToAllMembers ? { concernedOnly: true } : {}),
  });

/** The event for an account that is no longer in a server. `id` must be the same for each call about one removal, so that the event is relayed once. */
export const newServerDelete = (id: string, serverId: string, userId: string): PlacedEvent =>
  createPlacedEvent(accountPlace(userId), id, 'SERVER_DELETE', { id: serverId });

/** The event of a deleted channel or thread. `viewedAs`: the channel whose viewers receive it; `overwrites`, if that one is deleted, too. */
export const newChannelDelete = (
  serverId: string,
  id: string,
  visibility: { channelId: string; overwrites?: ChannelDoc['overwrites']; change?: RulesChange },
): PlacedEvent => ({
  ...createPlacedEvent(serverPlace(serverId), `gone-${id}`, 'CHANNEL_DELETE', { id, serverId }, visibility),
  format: changeFormat,
});

/** The role that an outbox entry is about, found by its id or its bot's. Undefined when the role is gone, or the entry is not about a role. */
function findRole({ roles }: ServerDoc, { data }: ServerEvent): RoleDoc | undefined {
  if (!data) return undefined;
  return roles.find((role) => ('roleId' in data ? role.id === data.roleId : 'botId' in data && role.botId === data.botId));
}

/**
 * By the id of an outbox entry, the events of roles whose position changed because others were created, moved or deleted: one for each role, with the last such
 * change. None for a role with a later event of its own, which has its position.
 */
function renderShiftedRoles(server: ServerDoc): Map<string, PlacedEvent[]> {
  const { _id: serverId, outbox = [] } = server;
  const events = new Map<string, PlacedEvent[]>();
  if (!outbox.some(({ shifted }) => shifted)) return events;
  const pending = outbox.map((entry) => ({ ...entry, roleId: findRole(server, entry)?.id }));
  for (const role of toRoles(server)) {
    const isIn = ({ from, to = role.position }: { from: number; to?: number }): boolean => from <= role.position && role.position <= to;
    const lastChange = pending.findLast(({ roleId, shifted }) => roleId === role.id || (shifted !== undefined && isIn(shifted)));
    if (!lastChange || lastChange.roleId === role.id) continue;
    const event = createPlacedEvent(serverPlace(serverId), `${lastChange.id}-${role.id}`, 'ROLE_UPDATE', { serverId, role });
    events.set(lastChange.id, [...(events.get(lastChange.id) ?? []), event]);
  }
  return events;
}

/**
 * MEMBER_UPDATE for the previous owners of a transferred server and for its current one, because `isOwner` changed, which every member sees; by the id of the
 * entry of the last transfer, from which their ids are made.
 */
async function renderOwnerChange(
  platform: Platform,
  server: ServerDoc,
  isPending: (entry: OutboxEntry) => boolean,
): Promise<Map<string, PlacedEvent[]>> {
  const { _id: serverId, ownerId } = server;
  const outbox = server.outbox?.filter(isPending) ?? [];
  const transfers = outbox.filter(({ was }) => was?.owner !== undefined);
  const lastTransfer = transfers.at(-1);
  if (!lastTransfer) return new Map();
  const userIds = [ownerId, ...transfers.map(({ was }) => was?.owner ?? ownerId)];
  const members = await platform.db.members.find(toMemberKeys([serverId], userIds)).toArray();
  const events = (await toMembers(platform, server, members)).map((member) =>
    createPlacedEvent(
      serverPlace(serverId),
      `${lastTransfer.id}-${member.user.id}`,
      'MEMBER_UPDATE',
      { serverId, member },
      { member: member.user.id },
    ),
  );
  return new Map([[lastTransfer.id, events]]);
}

/** A role as it was shown when it was deleted, from its pending deletion. */
const findDeletedRole = ({ outbox = [] }: ServerDoc, { data }: ServerEvent): Role | undefined =>
  outbox.flatMap((one) =>
    one.name === 'ROLE_DELETE' && data && 'roleId' in data && one.data.roleId === data.roleId ? (one.data.role ?? []) : [],
  )[0];

/** The event of a role. A bot does not receive the ROLE_CREATE of its own role: it gets the role with the server that it joins. */
function renderRole(
  server: ServerDoc,
  entry: OutboxEntry<ServerEvent>,
  name: 'ROLE_CREATE' | 'ROLE_UPDATE',
  change: RulesChange,
): PlacedEvent[] {
  const roleDoc = findRole(server, entry);
  const role = roleDoc ? findShownRole(server, roleDoc.id) : findDeletedRole(server, entry);
  if (!role) return [];
  const exclusion = name === 'ROLE_CREATE' && roleDoc?.botId ? { exceptAccount: roleDoc.botId } : {};
  return [
    createPlacedEvent(serverPlace(server._id), entry.id, name, { serverId: server._id, role }, { ...exclusion, ...toVisibility(change) }),
  ];
}

/** The events of an entry of the server's own outbox. */
function renderServerEntry(server: ServerDoc, entry: OutboxEntry<ServerEvent>): PlacedEvent[] {
  const { _id: serverId, outbox = [] } = server;
  const { id, name } = entry;
  const change = findServerChange(server, entry, outbox.indexOf(entry));
  switch (name) {
    case 'MEMBER_REMOVE': {
      const { userId, joinedAt } = entry.data;
      const eventId = `left-${serverId}-${userId}-${joinedAt.getTime()}`;
      const left = { member: { id: userId, before: { roles: [], joinId: '' }, after: null } };
      return [
        newMemberEvent(server, eventId, name, userId, { serverId, userId }, left),
        newServerDelete(`${eventId}-self`, serverId, userId),
      ];
    }
    case 'CHANNEL_DELETE': {
      const { channelId, viewedAs, overwrites } = entry.data;
      const isThread = viewedAs !== channelId;
      const deleted = isThread ? {} : { change: { channel: { id: channelId, before: overwrites, after: null } } };
      return [newChannelDelete(serverId, channelId, { channelId: viewedAs ?? channelId, ...deleted })];
    }
    case 'ROLE_CREATE':
    case 'ROLE_UPDATE':
      return renderRole(server, entry, name, change);
    case 'ROLE_DELETE':
      return [createPlacedEvent(serverPlace(serverId), id, name, { serverId, roleId: entry.data.roleId }, toVisibility(change))];
    case 'SERVER_UPDATE':
      return [createPlacedEvent(serverPlace(serverId), id, name, toServerSummary(server), toVisibility(change))];
  }
}

/** The events of an entry of a member. When a SERVER_CREATE is sent, the gateway node adds the server as this member sees it. */
function renderMemberEntry(server: ServerDoc, memberDoc: MemberDoc, member: Member, entry: OutboxEntry<MemberEvent>): PlacedEvent[] {
  const { _id: serverId } = server;
  const { userId, outbox = [] } = memberDoc;
  if (entry.name !== 'MEMBER_ADD' && entry.name !== 'MEMBER_UPDATE') return []; // a SERVER_CREATE of the version before
  const change = findMemberChange(memberDoc, entry, outbox.indexOf(entry));
  const event = newMemberEvent(server, entry.id, entry.name, userId, { serverId, member }, change);
  if (entry.name !== 'MEMBER_ADD') return [event];
  const visibility = { join: { id: memberDoc.joinId ?? '' } };
  const forAccount = createPlacedEvent(accountPlace(userId), toServerCreateId(entry.id), 'SERVER_CREATE', { id: serverId }, visibility);
  return [event, { ...forAccount, joinEventId: entry.id }];
}

/** The event of an entry of a channel or thread. */
function renderChannelEntry(channel: ChannelDoc, entry: OutboxEntry<ChannelEvent>): PlacedEvent {
  const { _id, serverId, kind, parentId, outbox = [] } = channel;
  const change = findChannelChange(channel, entry, outbox.indexOf(entry));
  const viewedAs = kind === 'thread' ? (parentId ?? _id) : _id;
  return createPlacedEvent(serverPlace(serverId), entry.id, entry.name, toChannel(channel), {
    channelId: viewedAs,
    ...toVisibility(change),
  });
}

/**
 * Renders `pending` in its order, with the current state of each document. Of several events that show the same thing as it is, only the last is sent, unless
 * one changes the rules. Events of accounts that are gone are left out.
 */
export async function renderPending(
  platform: Platform,
  documents: PendingDocuments,
  pending: readonly PendingEntry[],
): Promise<PlacedEvent[]> {
  const { server, members, channels } = documents;
  const changed = new Set(pending.flatMap((one) => (one.kind === 'member' ? one.member : [])));
  const membersById = new Map((await toMembers(platform, server, [...changed])).map((one) => [one.user.id, one]));
  const pendingEntries = new Set<OutboxEntry>(pending.map(({ entry }) => entry));
  const isPending = (entry: OutboxEntry): boolean => pendingEntries.has(entry);
  const following = [renderShiftedRoles(server), await renderOwnerChange(platform, server, isPending)];
  // An event that is not relayed yet replaces none: what happened before it comes first.
  const toSend = new Set(
    [server, ...members, ...channels].flatMap(({ outbox = [] }) => [
      ...selectEntriesToSend<ServerEvent | MemberEvent | ChannelEvent>(outbox.filter(isPending)),
    ]),
  );
  const render = (one: PendingEntry): PlacedEvent[] => {
    if (!toSend.has(one.entry) && !one.entry.was) return [];
    if (one.kind === 'server') return renderServerEntry(server, one.entry);
    if (one.kind === 'channel') return [renderChannelEntry(one.channel, one.entry)];
    const member = membersById.get(one.member.userId);
    return member ? renderMemberEntry(server, one.member, member, one.entry) : [];
  };
  return pending.flatMap((one) =>
    [...render(one), ...following.flatMap((events) => events.get(one.entry.id) ?? [])].map((event) => ({
      ...event,
      changeMs: timeOfId(one.order),
      ...(event.place.startsWith('server:') ? { format: changeFormat } : {}),
    })),
  );
}
