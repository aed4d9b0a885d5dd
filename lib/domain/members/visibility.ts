import { holds, type MemberRules, type Overwrite, permissionBits, permissionsOf, type ServerRules } from '../../base/permissions.ts';
import type { OutboxEntry } from '../../store/mongo/models/outbox.ts';
import type { ChannelDoc, MemberDoc, ServerDoc } from '../../store/mongo/models/server.ts';
import type { Before } from '../../store/redis/log/entry.ts';
import { serverPlace } from '../../store/redis/log/keys.ts';
import { isAnnounced } from '../events/outbox-source.ts';
import { type PlacedEvent, placedEvent } from '../events/placed-events.ts';
import { channelOf } from '../servers/server-view.ts';
import type { ServerAccess } from './access.ts';

/** What a change did to an account's view of a channel: it became visible (`shown`) or hidden, or it stayed visible (`seen`) or hidden (`unseen`). */
export type ViewChange = 'shown' | 'hidden' | 'seen' | 'unseen';

/** The permission rules of a server before a change. */
function rulesBefore(server: ServerRules, { roles = [], owner }: Before): ServerRules {
  const were = new Map(roles.map((role) => [role.id, role]));
  const standing = server.roles.map((role) => were.get(role.id) ?? role);
  const gone = roles.filter(({ id }) => !server.roles.some((role) => role.id === id));
  return { _id: server._id, ownerId: owner ?? server.ownerId, roles: [...standing, ...gone] };
}

/**
 * How `member`'s view of a channel changed. `overwrites` are the channel's current ones, and `before` the old rules. `was` is the old member, if it changed
 * too.
 */
export function viewChangeOf(
  server: ServerRules,
  member: MemberRules,
  overwrites: readonly Overwrite[],
  before: Before,
  was: MemberRules = member,
): ViewChange {
  const now = holds(permissionsOf(server, member, overwrites), 'View Channel');
  const then = holds(permissionsOf(rulesBefore(server, before), was, before.overwrites ?? overwrites), 'View Channel');
  if (now) return then ? 'seen' : 'shown';
  return then ? 'hidden' : 'unseen';
}

/**
 * The rules of a server before its pending changes: for each changed role and the owner, the oldest state. Null when the changes cannot affect who views a
 * channel.
 */
function rulesChanged(server: ServerDoc): Before | null {
  const roles = new Map<string, { id: string; permissions: number }>();
  let owner: string | undefined;
  for (const { was } of server.ob ?? []) {
    if (was?.role && !roles.has(was.role.id)) roles.set(was.role.id, was.role);
    owner ??= was?.owner;
  }
  const looks = permissionBits['View Channel'] | permissionBits.Administrator;
  const differing = [...roles.values()].filter(({ id, permissions }) => {
    const now = server.roles.find((role) => role.id === id);
    return !now || ((now.permissions ^ permissions) & looks) !== 0;
  });
  if (differing.length === 0 && owner === undefined) return null;
  return { ...(differing.length > 0 ? { roles: differing } : {}), ...(owner === undefined ? {} : { owner }) };
}

/** The overwrites that a channel had before its pending changes; undefined when no change affects them, or the channel has not been announced yet. */
function overwritesBefore({ ob = [] }: Pick<ChannelDoc, 'ob'>): readonly Overwrite[] | undefined {
  return !isAnnounced(ob) ? undefined : ob.find(({ was }) => was?.overwrites)?.was?.overwrites;
}

/** A member before the pending changes of its roles; null when there are none. */
function memberBefore(member: MemberDoc): MemberRules | null {
  const changes = (member.ob ?? []).flatMap(({ was }) => was?.given ?? []);
  if (changes.length === 0) return null;
  const roles = new Set(member.roles);
  for (const { roleId, has } of changes.toReversed())
    if (has) roles.delete(roleId);
    else roles.add(roleId);
  return { userId: member.userId, roles: [...roles] };
}

/** The id of a document's last pending event, or ''. Events that are derived from all its pending events have ids made from this one. */
const lastOf = (ob: readonly OutboxEntry[] = []): string => ob.at(-1)?.id ?? '';

/**
 * Whether somebody may have gained the channel (`shown`), and whether somebody may have lost it (`hidden`). Compares the bits that roles and overwrites give
 * now with those that they gave before.
 */
function possibleViewChanges(
  server: ServerRules,
  overwrites: readonly Overwrite[],
  { overwrites: ow, roles = [], owner }: Before,
): { shown: boolean; hidden: boolean } {
  const looks = permissionBits['View Channel'] | permissionBits.Administrator;
  const view = permissionBits['View Channel'];
  const leaning = (list: readonly Overwrite[], id: string): number => {
    const one = list.find((each) => each.id === id);
    return one ? (one.allow & view ? 1 : 0) - (one.deny & view ? 1 : 0) : 0;
  };
  const turns = (ow ?? []).concat(overwrites).map(({ id }) => (ow ? leaning(overwrites, id) - leaning(ow, id) : 0));
  const bits = roles.map((was) => [server.roles.find(({ id }) => id === was.id)?.permissions ?? 0, was.permissions] as const);
  // When a role is deleted, what its overwrite denied goes too. The channel's own event shows that.
  const shown = owner !== undefined || turns.some((turn) => turn > 0) || bits.some(([now, then]) => (now & ~then & looks) !== 0);
  const hidden = owner !== undefined || turns.some((turn) => turn < 0) || bits.some(([now, then]) => (then & ~now & looks) !== 0);
  return { shown, hidden };
}

/**
 * The events of a channel whose viewers may have changed since `before`: CHANNEL_CREATE for those who gained it, CHANNEL_DELETE for those who lost it, and, if
 * it has pending events of its own, CHANNEL_UPDATE for all others who see it. They apply to its threads too. If the channel has no pending events, the event
 * ids are made from `cause`.
 */
function viewChangeEventsOf(
  server: ServerRules,
  channel: ChannelDoc,
  pending: readonly OutboxEntry[],
  before: Before,
  cause: string,
): PlacedEvent[] {
  const { _id: id, serverId, overwrites } = channel;
  const place = serverPlace(serverId);
  const shown = channelOf(channel);
  const may = possibleViewChanges(server, overwrites, before);
  const about = lastOf(pending) || `${cause}-${id}`;
  const visibility = { channelId: id, before };
  const events: PlacedEvent[] = [];
  if (may.hidden) events.push(placedEvent(place, `hidden-${about}`, 'CHANNEL_DELETE', { id, serverId }, visibility));
  if (may.shown) events.push(placedEvent(place, `shown-${about}`, 'CHANNEL_CREATE', shown, visibility));
  if (pending.length > 0) events.push(placedEvent(place, about, 'CHANNEL_UPDATE', shown, visibility));
  return events;
}

/** The events for an account whose own roles changed: the channels that it gained and lost. */
function ownViewChangeEvents(
  { server }: ServerAccess,
  member: MemberDoc,
  channels: readonly ChannelDoc[],
  rules: Before | null,
): PlacedEvent[] {
  const was = memberBefore(member);
  if (!was) return [];
  return channels.flatMap((channel): PlacedEvent[] => {
    const { _id: id, serverId, overwrites } = channel;
    const ow = overwritesBefore(channel);
    const change = viewChangeOf(server, member, overwrites, { ...rules, ...(ow ? { overwrites: ow } : {}) }, was);
    const about = [serverPlace(serverId), `${change}-${lastOf(member.ob)}-${id}`] as const;
    const visibility = { channelId: id, onlyAccount: member.userId };
    if (change === 'hidden') return [placedEvent(...about, 'CHANNEL_DELETE', { id, serverId }, visibility)];
    return change === 'shown' ? [placedEvent(...about, 'CHANNEL_CREATE', channelOf(channel), visibility)] : [];
  });
}

/** A server, members and channels with their pending events, as read from the database and not from cached access data. */
interface Owing {
  server: ServerDoc;
  members: readonly MemberDoc[];
  channels: readonly ChannelDoc[];
}

/** All events that are sent because channels became visible or hidden, in order. The channels in `covered` get no other events. */
export interface ViewChanges {
  events: PlacedEvent[];
  covered: ReadonlySet<string>;
}

/**
 * Makes the events for those who gained or lost channels by the pending events of a server. Events of threads, and of channels that are not announced yet, are
 * sent as usual.
 */
export async function viewChangesIn(access: ServerAccess, { server, members, channels }: Owing): Promise<ViewChanges> {
  const rules = rulesChanged(server);
  const events: PlacedEvent[] = [];
  const owes = new Map(channels.map((channel) => [channel._id, channel]));
  const turned = members.filter((member) => memberBefore(member));
  const standing = rules || turned.length > 0 ? (await access.channels()).map((one) => owes.get(one._id) ?? { ...one, ob: [] }) : [];
  for (const member of turned) events.push(...ownViewChangeEvents(access, member, standing, rules));
  const covered = new Set<string>();
  for (const channel of rules ? standing : channels) {
    const { _id, kind, ob = [] } = channel;
    const ow = overwritesBefore(channel);
    if (kind === 'thread' || !isAnnounced(ob) || !(rules || ow)) continue;
    events.push(...viewChangeEventsOf(access.server, channel, ob, { ...rules, ...(ow ? { overwrites: ow } : {}) }, lastOf(server.ob)));
    covered.add(_id);
  }
  return { events, covered };
}
