import { limits } from '../../base/limits.ts';
import { type EventName, type LoggedData, ownMembershipIn, traitsOf } from '../../contract/events.ts';
import type { Member } from '../../contract/server.ts';
import { trusted } from '../../store/mongo/database.ts';
import type { OutboxEntry } from '../../store/mongo/models/outbox.ts';
import type { MemberDoc, RoleDoc, ServerDoc } from '../../store/mongo/models/server.ts';
import type { Platform } from '../../store/platform.ts';
import { accountPlace, serverPlace } from '../../store/redis/log/keys.ts';
import { entriesToSend } from '../events/outbox-source.ts';
import { type PlacedEvent, placedEvent } from '../events/placed-events.ts';
import { membersOf } from '../members/members.ts';
import { type Departing, isDeparture, type Joined } from '../members/membership.ts';
import { rolesOf, summaryOf } from './server-view.ts';

/** How long the removal of a member may take, in milliseconds. If the membership still exists after that, the removal never happened. */
const removalMs = 10_000;

/** Events to relay now, and the ids of the outbox entries that they complete. The other entries wait for a membership to end. */
export interface Rendered {
  events: PlacedEvent[];
  done: string[];
}

/** An event about a member. In a server with more than 1,000 members, only those whom it concerns receive it. */
const memberEvent = <N extends 'MEMBER_ADD' | 'MEMBER_UPDATE' | 'MEMBER_REMOVE'>(
  server: ServerDoc,
  id: string,
  name: N,
  member: string,
  data: LoggedData<N>,
): PlacedEvent =>
  placedEvent(serverPlace(server._id), id, name, data, {
    member,
    // The account that joined or left gets SERVER_CREATE or SERVER_DELETE.
    ...(traitsOf(name).life ? { exceptAccount: member } : {}),
    ...(server.memberCount > limits.smallServerMembers ? { concernedOnly: true } : {}),
  });

/** The event for an account that is no longer in a server. `id` must be the same for each call about one removal, so that the event is relayed once. */
export const goneFrom = (id: string, serverId: string, userId: string): PlacedEvent =>
  placedEvent(accountPlace(userId), id, 'SERVER_DELETE', { id: serverId });

/** The memberships among `departing` that still exist: when each began, in milliseconds, by account id. */
async function standingOf({ db }: Platform, serverId: string, departing: readonly Departing[]): Promise<Map<string, number>> {
  if (departing.length === 0) return new Map();
  const ids = departing.map(({ userId }) => `${serverId}:${userId}`);
  const found = await db.members.find({ _id: trusted({ $in: ids }) }, { userId: 1, joinedAt: 1 }).lean();
  return new Map(found.map(({ userId, joinedAt }) => [userId, joinedAt.getTime()]));
}

/** The role that an outbox entry is about, found by its id or its bot's. Undefined when the role is gone, or the entry is not about a role. */
function roleIn({ roles }: ServerDoc, { data }: OutboxEntry): RoleDoc | undefined {
  const { roleId, botId } = (data ?? {}) as { roleId?: string; botId?: string };
  return roles.find((role) => (roleId === undefined ? role.botId === botId : role.id === roleId));
}

/**
 * The events of roles whose position changed because others were created, moved or deleted: one for each role, with an id made from that of the last such
 * change. None for a role with a later event of its own, which has its position.
 */
function shiftedRoleEvents(server: ServerDoc): PlacedEvent[] {
  const { _id: serverId, ob = [] } = server;
  if (!ob.some(({ shifted }) => shifted)) return [];
  const pending = ob.map((entry) => ({ ...entry, roleId: roleIn(server, entry)?.id }));
  return rolesOf(server).flatMap((role) => {
    const isIn = ({ from, to = role.position }: { from: number; to?: number }): boolean => from <= role.position && role.position <= to;
    const last = pending.findLast(({ roleId, shifted }) => roleId === role.id || (shifted !== undefined && isIn(shifted)));
    return last && last.roleId !== role.id
      ? [placedEvent(serverPlace(serverId), `${last.id}-${role.id}`, 'ROLE_UPDATE', { serverId, role })]
      : [];
  });
}

/**
 * MEMBER_UPDATE for the previous owners of a transferred server and for its current one, because `isOwner` changed, which every member sees. The ids are made
 * from that of the last transfer.
 */
async function ownerEvents(platform: Platform, server: ServerDoc): Promise<PlacedEvent[]> {
  const { _id: serverId, ownerId, ob = [] } = server;
  const handed = ob.filter(({ was }) => was?.owner !== undefined);
  const last = handed.at(-1);
  if (!last) return [];
  const ids = [ownerId, ...handed.map(({ was }) => was?.owner ?? ownerId)].map((userId) => `${serverId}:${userId}`);
  const members = await platform.db.members.find({ _id: trusted({ $in: ids }) }).lean();
  return (await membersOf(platform, server, members)).map((member) =>
    placedEvent(serverPlace(serverId), `${last.id}-${member.user.id}`, 'MEMBER_UPDATE', { serverId, member }, { member: member.user.id }),
  );
}

/** What the events of a server are rendered from. */
interface ServerContext {
  platform: Platform;
  server: ServerDoc;
  standing: ReadonlyMap<string, number>;
}

/** Returns the events of an outbox entry; null if it has to wait. */
type RenderServer = (context: ServerContext, entry: OutboxEntry) => PlacedEvent[] | null;

/** The event of a role; none when the role is gone. A bot does not receive the ROLE_CREATE of its own role: it gets the role with the server that it joins. */
const roleEvent =
  (name: 'ROLE_CREATE' | 'ROLE_UPDATE'): RenderServer =>
  ({ server }, entry) => {
    const found = roleIn(server, entry);
    const role = found && rolesOf(server).find((one) => one.id === found.id);
    if (!role) return [];
    const own = name === 'ROLE_CREATE' && found.botId !== null ? { exceptAccount: found.botId } : {};
    return [placedEvent(serverPlace(server._id), entry.id, name, { serverId: server._id, role }, own)];
  };

const renderServer: Partial<Record<EventName, RenderServer>> = {
  /** Waits as long as the membership may still end. If it does not end, nothing is sent. */
  MEMBER_REMOVE({ platform, server, standing }, { id, data }) {
    const { userId, joinedAt, at } = data as Departing;
    const serverId = server._id;
    if (standing.get(userId) === joinedAt.getTime()) return platform.now() - at.getTime() < removalMs ? null : [];
    return [memberEvent(server, id, 'MEMBER_REMOVE', userId, { serverId, userId }), goneFrom(`${id}-self`, serverId, userId)];
  },
  ROLE_CREATE: roleEvent('ROLE_CREATE'),
  ROLE_UPDATE: roleEvent('ROLE_UPDATE'),
  ROLE_DELETE({ server: { _id: serverId } }, { id, data }) {
    return [placedEvent(serverPlace(serverId), id, 'ROLE_DELETE', { serverId, roleId: (data as { roleId: string }).roleId })];
  },
  SERVER_UPDATE: ({ server }, { id }) => [placedEvent(serverPlace(server._id), id, 'SERVER_UPDATE', summaryOf(server))],
};

/** The pending events of a server's own document, in order. Read `server` before its members: these events come before theirs. */
export async function renderServerEvents(platform: Platform, server: ServerDoc): Promise<Rendered> {
  const { _id: serverId, ob = [] } = server;
  const departing = ob.filter(isDeparture).map(({ data }) => data as Departing);
  const context = { platform, server, standing: await standingOf(platform, serverId, departing) };
  const rendered: Rendered = { events: [], done: [] };
  const sent = entriesToSend(ob);
  for (const entry of ob) {
    const events = sent.has(entry) ? renderServer[entry.name]?.(context, entry) : [];
    if (events === null) continue;
    rendered.events.push(...(events ?? []));
    rendered.done.push(entry.id);
  }
  rendered.events.push(...shiftedRoleEvents(server), ...(await ownerEvents(platform, server)));
  return rendered;
}

type RenderMember = (server: ServerDoc, member: Member, entry: OutboxEntry) => PlacedEvent;

const renderMember: Partial<Record<EventName, RenderMember>> = {
  /** When the event is sent, the gateway node adds the server as this member sees it. */
  SERVER_CREATE({ _id: id }, { user }, entry) {
    const { from } = entry.data as Joined;
    return placedEvent(accountPlace(user.id), entry.id, 'SERVER_CREATE', { id }, from === null ? {} : { serverNumber: from });
  },
  MEMBER_ADD: (server, member, { id }) => memberEvent(server, id, 'MEMBER_ADD', member.user.id, { serverId: server._id, member }),
  MEMBER_UPDATE: (server, member, { id }) => memberEvent(server, id, 'MEMBER_UPDATE', member.user.id, { serverId: server._id, member }),
};

/** The pending events of these members, each with the member's current state. None for an account that is gone. */
export async function renderMemberEvents(platform: Platform, server: ServerDoc, members: readonly MemberDoc[]): Promise<Rendered> {
  const shown = new Map((await membersOf(platform, server, members)).map((one) => [one.user.id, one]));
  const events = members.flatMap(({ userId, ob = [] }) => {
    const member = shown.get(userId);
    if (!member) return [];
    return [...entriesToSend(ob)].flatMap((entry) => renderMember[entry.name]?.(server, member, entry) ?? []);
  });
  return { events, done: members.flatMap(({ ob = [] }) => ob.map(({ id }) => id)) };
}

/**
 * The order of the events of one batch: ends of memberships, then SERVER_CREATE, then all others. So an account knows a server before it gets other events of
 * it.
 */
const rank = ({ name }: PlacedEvent): number => (traitsOf(name).life === 'ends' ? 0 : ownMembershipIn(name) ? 1 : 2);

/** Events of a server and of its members in the order in which they are relayed. */
export const inOrder = (...rendered: readonly Rendered[]): PlacedEvent[] =>
  rendered.flatMap(({ events }) => events).toSorted((one, other) => rank(one) - rank(other));
