import { holds, type MemberRules, type Overwrite, permissionBits, permissionsOf, type ServerRules } from '../base/permissions.ts';
import type { Before } from '../store/log/entry.ts';
import { serverPlace } from '../store/log/keys.ts';
import type { OutboxEntry } from '../store/models/outbox.ts';
import type { ChannelDoc, MemberDoc, ServerDoc } from '../store/models/server.ts';
import type { ServerAccess } from './access.ts';
import type { PlacedEvent } from './audience.ts';
import { channelOf } from './server-view.ts';

/** What a change did to who views a channel: it became visible, or hidden, or they saw it before and still, or neither. */
export type ViewChange = 'shown' | 'hidden' | 'seen' | 'unseen';

/** The rules of a server as they were before. */
function rulesBefore(server: ServerRules, { roles = [], owner }: Before): ServerRules {
  const were = new Map(roles.map((role) => [role.id, role]));
  const standing = server.roles.map((role) => were.get(role.id) ?? role);
  const gone = roles.filter(({ id }) => !server.roles.some((role) => role.id === id));
  return { _id: server._id, ownerId: owner ?? server.ownerId, roles: [...standing, ...gone] };
}

/** What became of `member`'s view of a channel that has `overwrites` now, since `before`; `was` is the member as it was, when that changed too. */
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

/** What the changes that a server owes the news of did to its rules: the oldest state of each; null when nobody's view can depend on it. */
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

/** The overwrites that a channel had before the changes that it owes the news of; undefined when none changed them, or nobody knows the channel yet. */
function overwritesBefore({ ob = [] }: Pick<ChannelDoc, 'ob'>): readonly Overwrite[] | undefined {
  return ob.some(({ name }) => name === 'CHANNEL_CREATE') ? undefined : ob.find(({ was }) => was?.overwrites)?.was?.overwrites;
}

/** A member as it was before the changes of its roles that it owes the news of; null when there are none. */
function memberBefore(member: MemberDoc): MemberRules | null {
  const changes = (member.ob ?? []).flatMap(({ was }) => was?.given ?? []);
  if (changes.length === 0) return null;
  const roles = new Set(member.roles);
  for (const { roleId, has } of changes.toReversed())
    if (has) roles.delete(roleId);
    else roles.add(roleId);
  return { userId: member.userId, roles: [...roles] };
}

/** The last thing that a document owes, which names what is told about all of it. */
const lastOf = (ob: readonly OutboxEntry[] = []): string => ob.at(-1)?.id ?? '';

/** The directions in which somebody's view may have turned: by bits that a role or an overwrite gives now and did not give then, and the other way round. */
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
  // A role that is gone takes along what its overwrite denied, which the channel's own change tells of.
  const shown = owner !== undefined || turns.some((turn) => turn > 0) || bits.some(([now, then]) => (now & ~then & looks) !== 0);
  const hidden = owner !== undefined || turns.some((turn) => turn < 0) || bits.some(([now, then]) => (then & ~now & looks) !== 0);
  return { shown, hidden };
}

/**
 * What is told of a channel whose viewers may have changed since `before`: who gained it CHANNEL_CREATE, who lost it CHANNEL_DELETE, and, when it owes news of
 * its own, all others who see it CHANNEL_UPDATE. Its threads come and go with it. `cause` names the change where the channel owes nothing.
 */
function viewChangeEventsOf(
  server: ServerRules,
  channel: ChannelDoc,
  owes: readonly OutboxEntry[],
  before: Before,
  cause: string,
): PlacedEvent[] {
  const { _id: id, serverId, overwrites } = channel;
  const shown = JSON.stringify(channelOf(channel));
  const may = possibleViewChanges(server, overwrites, before);
  const about = lastOf(owes) || `${cause}-${id}`;
  const turn = { place: serverPlace(serverId), channelId: id, before };
  const events: PlacedEvent[] = [];
  if (may.hidden) events.push({ ...turn, id: `hidden-${about}`, name: 'CHANNEL_DELETE', payload: JSON.stringify({ id, serverId }) });
  if (may.shown) events.push({ ...turn, id: `shown-${about}`, name: 'CHANNEL_CREATE', payload: shown });
  if (owes.length > 0) events.push({ ...turn, id: about, name: 'CHANNEL_UPDATE', payload: shown });
  return events;
}

/** What an account is told whose own roles changed: the channels that it gained and lost by that. */
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
    const turn = viewChangeOf(server, member, overwrites, { ...rules, ...(ow ? { overwrites: ow } : {}) }, was);
    const about = { place: serverPlace(serverId), id: `${turn}-${lastOf(member.ob)}-${id}`, channelId: id, onlyAccount: member.userId };
    if (turn === 'hidden') return [{ ...about, name: 'CHANNEL_DELETE', payload: JSON.stringify({ id, serverId }) }];
    return turn === 'shown' ? [{ ...about, name: 'CHANNEL_CREATE', payload: JSON.stringify(channelOf(channel)) }] : [];
  });
}

/** What a server, members and channels owe, as read from the database and not from cached access data. */
interface Owing {
  server: ServerDoc;
  members: readonly MemberDoc[];
  channels: readonly ChannelDoc[];
}

/** All that is told because channels became visible or hidden, in order. Nothing else is told of the channels `told`. */
export interface ViewChanges {
  events: PlacedEvent[];
  told: ReadonlySet<string>;
}

/** Looks what the news of a server changes about who views its channels. What a channel owes that nobody knows yet is told as ever, and so are threads. */
export async function viewChangesIn(access: ServerAccess, { server, members, channels }: Owing): Promise<ViewChanges> {
  const rules = rulesChanged(server);
  const events: PlacedEvent[] = [];
  const owes = new Map(channels.map((channel) => [channel._id, channel]));
  const turned = members.filter((member) => memberBefore(member));
  const standing = rules || turned.length > 0 ? (await access.channels()).map((one) => owes.get(one._id) ?? { ...one, ob: [] }) : [];
  for (const member of turned) events.push(...ownViewChangeEvents(access, member, standing, rules));
  const told = new Set<string>();
  for (const channel of rules ? standing : channels) {
    const { _id, kind, ob = [] } = channel;
    const ow = overwritesBefore(channel);
    if (kind === 'thread' || ob.some(({ name }) => name === 'CHANNEL_CREATE') || !(rules || ow)) continue;
    events.push(...viewChangeEventsOf(access.server, channel, ob, { ...rules, ...(ow ? { overwrites: ow } : {}) }, lastOf(server.ob)));
    told.add(_id);
  }
  return { events, told };
}
