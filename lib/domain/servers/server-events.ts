import { limits } from '../../base/limits.ts';
import { getEventDefinition, getMembershipChange, type LoggedData } from '../../contract/events.ts';
import type { Member } from '../../contract/member.ts';
import type { MemberEvent, OutboxEntry, ServerEvent } from '../../store/mongo/models/outbox.ts';
import { type MemberDoc, type RoleDoc, type ServerDoc, toMemberKeys } from '../../store/mongo/models/server.ts';
import type { Platform } from '../../store/platform.ts';
import { accountPlace, serverPlace } from '../../store/redis/log/keys.ts';
import { selectEntriesToSend } from '../events/outbox-source.ts';
import { createPlacedEvent, type PlacedEvent } from '../events/placed-events.ts';
import { toMembers } from '../members/members.ts';
import { toRoles, toServerSummary } from './server-view.ts';

/** How long the removal of a member may take, in milliseconds. If the membership still exists after that, the removal never happened. */
const removalMs = 10_000;

/** Events to relay now, and the ids of the outbox entries that they complete. The other entries wait for a membership to end. */
export interface RenderedEvents {
  events: PlacedEvent[];
  completedIds: string[];
}

/** An event about a member. In a server with more than `limits.memberEventsToAllMembers` members, only those whom it concerns receive it. */
const newMemberEvent = <N extends 'MEMBER_ADD' | 'MEMBER_UPDATE' | 'MEMBER_REMOVE'>(
  server: ServerDoc,
  id: string,
  name: N,
  member: string,
  data: LoggedData<N>,
): PlacedEvent =>
  createPlacedEvent(serverPlace(server._id), id, name, data, {
    member,
    // The account that joined or left gets SERVER_CREATE or SERVER_DELETE.
    ...(getEventDefinition(name).lifecycle ? { exceptAccount: member } : {}),
    ...(server.memberCount > limits.memberEventsToAllMembers ? { concernedOnly: true } : {}),
  });

/** The event for an account that is no longer in a server. `id` must be the same for each call about one removal, so that the event is relayed once. */
export const newServerDelete = (id: string, serverId: string, userId: string): PlacedEvent =>
  createPlacedEvent(accountPlace(userId), id, 'SERVER_DELETE', { id: serverId });

/** The memberships among `departures` that still exist: when each began, in milliseconds, by account id. */
async function findExistingMemberships(
  { db }: Platform,
  serverId: string,
  departures: readonly { userId: string }[],
): Promise<Map<string, number>> {
  if (departures.length === 0) return new Map();
  const keys = toMemberKeys(
    [serverId],
    departures.map(({ userId }) => userId),
  );
  const found = await db.members.find(keys, { projection: { userId: 1, joinedAt: 1 } }).toArray();
  return new Map(found.map(({ userId, joinedAt }) => [userId, joinedAt.getTime()]));
}

/** The role that an outbox entry is about, found by its id or its bot's. Undefined when the role is gone, or the entry is not about a role. */
function findRole({ roles }: ServerDoc, entry: ServerEvent): RoleDoc | undefined {
  if (entry.name === 'MEMBER_REMOVE' || entry.name === 'SERVER_UPDATE') return undefined;
  const { data } = entry;
  return roles.find((role) => ('roleId' in data ? role.id === data.roleId : role.botId === data.botId));
}

/**
 * The events of roles whose position changed because others were created, moved or deleted: one for each role, with an id made from that of the last such
 * change. None for a role with a later event of its own, which has its position.
 */
function renderShiftedRoles(server: ServerDoc): PlacedEvent[] {
  const { _id: serverId, outbox = [] } = server;
  if (!outbox.some(({ shifted }) => shifted)) return [];
  const pending = outbox.map((entry) => ({ ...entry, roleId: findRole(server, entry)?.id }));
  return toRoles(server).flatMap((role) => {
    const isIn = ({ from, to = role.position }: { from: number; to?: number }): boolean => from <= role.position && role.position <= to;
    const lastChange = pending.findLast(({ roleId, shifted }) => roleId === role.id || (shifted !== undefined && isIn(shifted)));
    return lastChange && lastChange.roleId !== role.id
      ? [createPlacedEvent(serverPlace(serverId), `${lastChange.id}-${role.id}`, 'ROLE_UPDATE', { serverId, role })]
      : [];
  });
}

/**
 * MEMBER_UPDATE for the previous owners of a transferred server and for its current one, because `isOwner` changed, which every member sees. The ids are made
 * from that of the last transfer.
 */
async function renderOwnerChange(platform: Platform, server: ServerDoc): Promise<PlacedEvent[]> {
  const { _id: serverId, ownerId, outbox = [] } = server;
  const transfers = outbox.filter(({ was }) => was?.owner !== undefined);
  const lastTransfer = transfers.at(-1);
  if (!lastTransfer) return [];
  const userIds = [ownerId, ...transfers.map(({ was }) => was?.owner ?? ownerId)];
  const members = await platform.db.members.find(toMemberKeys([serverId], userIds)).toArray();
  return (await toMembers(platform, server, members)).map((member) =>
    createPlacedEvent(
      serverPlace(serverId),
      `${lastTransfer.id}-${member.user.id}`,
      'MEMBER_UPDATE',
      { serverId, member },
      { member: member.user.id },
    ),
  );
}

/** What the events of a server are rendered from. */
interface RenderContext {
  platform: Platform;
  server: ServerDoc;
  joinedAtByUser: ReadonlyMap<string, number>;
}

/** The event of a role; none when the role is gone. A bot does not receive the ROLE_CREATE of its own role: it gets the role with the server that it joins. */
function renderRole(server: ServerDoc, entry: OutboxEntry<ServerEvent>, name: 'ROLE_CREATE' | 'ROLE_UPDATE'): PlacedEvent[] {
  const roleDoc = findRole(server, entry);
  const role = roleDoc && toRoles(server).find((one) => one.id === roleDoc.id);
  if (!role) return [];
  const exclusion = name === 'ROLE_CREATE' && roleDoc.botId !== null ? { exceptAccount: roleDoc.botId } : {};
  return [createPlacedEvent(serverPlace(server._id), entry.id, name, { serverId: server._id, role }, exclusion)];
}

/** The events of an outbox entry; null if it has to wait: a MEMBER_REMOVE, as long as the membership may still end. If it does not end, nothing is sent. */
function renderServerEntry({ platform, server, joinedAtByUser }: RenderContext, entry: OutboxEntry<ServerEvent>): PlacedEvent[] | null {
  const { _id: serverId } = server;
  const { id, name } = entry;
  switch (name) {
    case 'MEMBER_REMOVE': {
      const { userId, joinedAt, at } = entry.data;
      if (joinedAtByUser.get(userId) === joinedAt.getTime()) return platform.now() - at.getTime() < removalMs ? null : [];
      return [newMemberEvent(server, id, name, userId, { serverId, userId }), newServerDelete(`${id}-self`, serverId, userId)];
    }
    case 'ROLE_CREATE':
    case 'ROLE_UPDATE':
      return renderRole(server, entry, name);
    case 'ROLE_DELETE':
      return [createPlacedEvent(serverPlace(serverId), id, name, { serverId, roleId: entry.data.roleId })];
    case 'SERVER_UPDATE':
      return [createPlacedEvent(serverPlace(serverId), id, name, toServerSummary(server))];
  }
}

/** The pending events of a server's own document, in order. Read `server` before its members: these events come before theirs. */
export async function renderServerEvents(platform: Platform, server: ServerDoc): Promise<RenderedEvents> {
  const { _id: serverId, outbox = [] } = server;
  const departures = outbox.flatMap(({ name, data }) => (name === 'MEMBER_REMOVE' ? data : []));
  const context = { platform, server, joinedAtByUser: await findExistingMemberships(platform, serverId, departures) };
  const rendered: RenderedEvents = { events: [], completedIds: [] };
  const toSend = selectEntriesToSend(outbox);
  for (const entry of outbox) {
    const events = toSend.has(entry) ? renderServerEntry(context, entry) : [];
    if (events === null) continue;
    rendered.events.push(...events);
    rendered.completedIds.push(entry.id);
  }
  rendered.events.push(...renderShiftedRoles(server), ...(await renderOwnerChange(platform, server)));
  return rendered;
}

/** The event of an outbox entry of a member. When a SERVER_CREATE is sent, the gateway node adds the server as this member sees it. */
function renderMemberEntry(server: ServerDoc, member: Member, entry: OutboxEntry<MemberEvent>): PlacedEvent {
  const { _id: serverId } = server;
  const userId = member.user.id;
  if (entry.name !== 'SERVER_CREATE') return newMemberEvent(server, entry.id, entry.name, userId, { serverId, member });
  const { from } = entry.data;
  return createPlacedEvent(accountPlace(userId), entry.id, entry.name, { id: serverId }, from === null ? {} : { serverNumber: from });
}

/** The pending events of these members, each with the member's current state. None for an account that is gone. */
export async function renderMemberEvents(platform: Platform, server: ServerDoc, members: readonly MemberDoc[]): Promise<RenderedEvents> {
  const membersById = new Map((await toMembers(platform, server, members)).map((one) => [one.user.id, one]));
  const events = members.flatMap(({ userId, outbox = [] }) => {
    const member = membersById.get(userId);
    if (!member) return [];
    return [...selectEntriesToSend(outbox)].flatMap((entry) => renderMemberEntry(server, member, entry));
  });
  return { events, completedIds: members.flatMap(({ outbox = [] }) => outbox.map(({ id }) => id)) };
}

/**
 * The order of the events of one batch: ends of memberships, then SERVER_CREATE, then all others. So an account knows a server before it gets other events of
 * it.
 */
const relayOrder = ({ name }: PlacedEvent): number =>
  getEventDefinition(name).lifecycle === 'end' ? 0 : getMembershipChange(name) ? 1 : 2;

/** Events of a server and of its members in the order in which they are relayed. */
export const sortEvents = (...rendered: readonly RenderedEvents[]): PlacedEvent[] =>
  rendered.flatMap(({ events }) => events).toSorted((one, other) => relayOrder(one) - relayOrder(other));
