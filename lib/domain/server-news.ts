import { limits } from '../base/limits.ts';
import type { EventData, EventName } from '../contract/events.ts';
import { trusted } from '../store/database.ts';
import { accountPlace, serverPlace } from '../store/log/keys.ts';
import type { OutboxEntry } from '../store/models/outbox.ts';
import type { MemberDoc, RoleDoc, ServerDoc } from '../store/models/server.ts';
import type { Platform } from '../store/platform.ts';
import type { PlacedEvent } from './audience.ts';
import { membersOf } from './members.ts';
import type { Departing, Joined } from './membership.ts';
import { rolesOf, summaryOf } from './server-view.ts';

/** How long a removal may take, in milliseconds: an older one whose membership still stands never happened. */
const removalMs = 10_000;

/** What a document owes that is to be told now, and the ids of the entries that are done with then. What is held back waits for a membership to end. */
export interface News {
  events: PlacedEvent[];
  done: string[];
}

const event = <N extends EventName>(
  id: string,
  name: N,
  place: string,
  data: EventData<N>,
  about: Pick<PlacedEvent, 'exceptAccount' | 'member'> = {},
): PlacedEvent => ({ id, name, place, payload: JSON.stringify(data), ...about });

/** An event about a member. In a server of more than 1,000 members only those get it whom it concerns. */
const memberEvent = <N extends EventName>(
  id: string,
  name: N,
  server: ServerDoc,
  userId: string,
  data: EventData<N>,
  except: Pick<PlacedEvent, 'exceptAccount'> = {},
): PlacedEvent => ({
  ...event(id, name, serverPlace(server._id), data, { ...except, member: userId }),
  ...(server.memberCount > limits.smallServerMembers ? { concernedOnly: true } : {}),
});

/** Tells an account that it is in a server no more: always the same event for one end, so it is told once. */
export const goneFrom = (id: string, serverId: string, userId: string): PlacedEvent =>
  event(id, 'SERVER_DELETE', accountPlace(userId), { id: serverId });

/** Tells an account that it is in a server now. The gateway node shows the server as it stands then, as this member sees it. */
const cameTo = (id: string, serverId: string, userId: string, { from }: Joined): PlacedEvent => ({
  id,
  name: 'SERVER_CREATE',
  place: accountPlace(userId),
  payload: JSON.stringify({ id: serverId }),
  ...(from === null ? {} : { serverNumber: from }),
});

/** Which of the memberships that are to end still stand, by id, and when each began. */
async function standingOf({ db }: Platform, serverId: string, departing: readonly Departing[]): Promise<Map<string, number>> {
  if (departing.length === 0) return new Map();
  const ids = departing.map(({ userId }) => `${serverId}:${userId}`);
  const found = await db.members.find({ _id: trusted({ $in: ids }) }, { userId: 1, joinedAt: 1 }).lean();
  return new Map(found.map(({ userId, joinedAt }) => [userId, joinedAt.getTime()]));
}

/** The entries that tell something: of those that show a thing as it is now, the last of a kind and thing tells all. */
function untold(ob: readonly OutboxEntry[]): Set<OutboxEntry> {
  const shows = ({ name, data }: OutboxEntry): string => `${name} ${JSON.stringify(data ?? null)}`;
  const asItIs = (entry: OutboxEntry): boolean => entry.name.endsWith('_UPDATE');
  const last = new Map(ob.map((entry) => [shows(entry), entry]));
  return new Set(ob.filter((entry) => !asItIs(entry) || last.get(shows(entry)) === entry));
}

/** The role that an event is about, named by its id or by its bot's; undefined when it is gone, and for what is about no role. */
function roleIn({ roles }: ServerDoc, { name, data }: OutboxEntry): RoleDoc | undefined {
  if (name !== 'ROLE_CREATE' && name !== 'ROLE_UPDATE') return undefined;
  const { roleId, botId } = data as { roleId?: string; botId?: string };
  return roles.find((role) => (roleId === undefined ? role.botId === botId : role.id === roleId));
}

/** The event of a role; none when it is gone. A bot knows its own new role from the server that it has just come to. */
function roleNews(server: ServerDoc, entry: OutboxEntry): PlacedEvent[] {
  const { id, name } = entry;
  const found = roleIn(server, entry);
  const role = found && rolesOf(server).find((one) => one.id === found.id);
  if (!role) return [];
  const own = name === 'ROLE_CREATE' && found.botId !== null ? found.botId : undefined;
  return [
    event(
      id,
      name as 'ROLE_CREATE' | 'ROLE_UPDATE',
      serverPlace(server._id),
      { serverId: server._id, role },
      own === undefined ? {} : { exceptAccount: own },
    ),
  ];
}

/**
 * The events of roles that stand elsewhere because others were made, moved or deleted, each once however many did that, and named by the last of them. None
 * for a role whose own event comes from a later change: that shows where it is.
 */
function shiftNews(server: ServerDoc): PlacedEvent[] {
  const { _id: serverId, ob = [] } = server;
  if (!ob.some(({ shifted }) => shifted)) return [];
  const owed = ob.map((entry) => ({ ...entry, roleId: roleIn(server, entry)?.id }));
  return rolesOf(server).flatMap((role) => {
    const isIn = ({ from, to = role.position }: { from: number; to?: number }): boolean => from <= role.position && role.position <= to;
    const last = owed.findLast(({ roleId, shifted }) => roleId === role.id || (shifted !== undefined && isIn(shifted)));
    return last && last.roleId !== role.id
      ? [event(`${last.id}-${role.id}`, 'ROLE_UPDATE', serverPlace(serverId), { serverId, role })]
      : [];
  });
}

/** Who handed the server over and who has it now, as members: that they own it, or do not, is shown of them to everybody. Named by the last such change. */
async function ownerNews(platform: Platform, server: ServerDoc): Promise<PlacedEvent[]> {
  const { _id: serverId, ownerId, ob = [] } = server;
  const handed = ob.filter(({ was }) => was?.owner !== undefined);
  const last = handed.at(-1);
  if (!last) return [];
  const ids = [ownerId, ...handed.map(({ was }) => was?.owner ?? ownerId)].map((userId) => `${serverId}:${userId}`);
  const members = await platform.db.members.find({ _id: trusted({ $in: ids }) }).lean();
  return (await membersOf(platform, server, members)).map((member) =>
    event(`${last.id}-${member.user.id}`, 'MEMBER_UPDATE', serverPlace(serverId), { serverId, member }, { member: member.user.id }),
  );
}

/**
 * What a server's document owes, in the order in which it came to owe it. A member that is to go is told to have gone when the membership has ended, is waited
 * for while it may yet, and never told when it did not. Read `server` under `versions`, before the members: what is told here comes before their news.
 */
export async function newsOfServer(platform: Platform, server: ServerDoc): Promise<News> {
  const { _id: serverId, ob = [] } = server;
  const departing = ob.filter(({ name }) => name === 'MEMBER_REMOVE').map(({ data }) => data as Departing);
  const standing = await standingOf(platform, serverId, departing);
  const news: News = { events: [], done: [] };
  const place = serverPlace(serverId);
  const telling = untold(ob);
  for (const entry of ob) {
    const { id, name, data } = entry;
    if (name === 'MEMBER_REMOVE') {
      const { userId, joinedAt, at } = data as Departing;
      const stands = standing.get(userId) === joinedAt.getTime();
      if (stands && platform.now() - at.getTime() < removalMs) continue;
      if (!stands)
        news.events.push(
          memberEvent(id, name, server, userId, { serverId, userId }, { exceptAccount: userId }),
          goneFrom(`${id}-self`, serverId, userId),
        );
    } else if (name === 'ROLE_DELETE') news.events.push(event(id, name, place, { serverId, roleId: (data as { roleId: string }).roleId }));
    else if (name === 'SERVER_UPDATE' && telling.has(entry)) news.events.push(event(id, name, place, summaryOf(server)));
    else if ((name === 'ROLE_CREATE' || name === 'ROLE_UPDATE') && telling.has(entry)) news.events.push(...roleNews(server, entry));
    news.done.push(id);
  }
  news.events.push(...shiftNews(server), ...(await ownerNews(platform, server)));
  return news;
}

/** What these members owe, each as it is now: to who joined the server, to the others the member. An account that is gone has no news. */
export async function newsOfMembers(platform: Platform, server: ServerDoc, members: readonly MemberDoc[]): Promise<News> {
  const serverId = server._id;
  const shown = new Map((await membersOf(platform, server, members)).map((one) => [one.user.id, one]));
  const news: News = { events: [], done: [] };
  for (const member of members) {
    const { userId, ob = [] } = member;
    const face = shown.get(userId);
    const telling = untold(ob);
    for (const entry of ob) {
      const { id, name } = entry;
      news.done.push(id);
      if (!face || !telling.has(entry)) continue;
      if (name === 'SERVER_CREATE') news.events.push(cameTo(id, serverId, userId, entry.data as Joined));
      else if (name === 'MEMBER_ADD')
        news.events.push(memberEvent(id, name, server, userId, { serverId, member: face }, { exceptAccount: userId }));
      else if (name === 'MEMBER_UPDATE') news.events.push(memberEvent(id, name, server, userId, { serverId, member: face }));
    }
  }
  return news;
}

/** The order in which the news of one batch is told: who left, then who came, so that a server is known before anything else is told of it. */
const rank = ({ name }: PlacedEvent): number =>
  name === 'MEMBER_REMOVE' || name === 'SERVER_DELETE' ? 0 : name === 'SERVER_CREATE' ? 1 : 2;

/** News of a server and of its members in the order in which it is told. */
export const inOrder = (...news: readonly News[]): PlacedEvent[] =>
  news.flatMap(({ events }) => events).toSorted((one, other) => rank(one) - rank(other));
