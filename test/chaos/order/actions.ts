import type { Answer } from '../requests.ts';
import type { KnownServer } from './oracle.ts';
import { followNews, postInto } from './posts.ts';
import {
  type Account,
  change,
  isGood,
  nextName,
  pickFrom,
  readAgain,
  type StoredChannel,
  send,
  textChannels,
  toKnownChannel,
  type World,
} from './world.ts';

const view = 1;
const viewAndSend = 0b1111;

async function createChannel(world: World, server: KnownServer): Promise<void> {
  const hidden = world.addresses.pick(3) === 0;
  const overwrites = hidden ? [{ id: server.id, allow: 0, deny: view }] : [];
  const body = { name: nextName('c'), kind: 'text', overwrites };
  let id: string | undefined;
  await change(
    world,
    server,
    `create channel ${body.name}`,
    () => send<StoredChannel>(world, world.owner, 'POST', `/servers/${server.id}/channels`, body),
    (channel) => {
      id = channel.id;
      server.channels.set(id, toKnownChannel(channel));
    },
  );
  if (id !== undefined) await postInto(world, server, world.owner, id); // nobody may receive it before the channel
}

async function deleteChannel(world: World, server: KnownServer): Promise<void> {
  const id = pickFrom(world, textChannels(server).slice(1));
  if (id === undefined) return;
  await change(
    world,
    server,
    `delete channel ${id}`,
    () => send(world, world.owner, 'DELETE', `/channels/${id}`),
    () => {
      server.channels.delete(id);
      for (const [thread, { parentId }] of server.channels) if (parentId === id) server.channels.delete(thread);
    },
  );
}

async function renameChannel(world: World, server: KnownServer): Promise<void> {
  const id = pickFrom(world, textChannels(server));
  if (id !== undefined)
    await change(
      world,
      server,
      `rename channel ${id}`,
      () => send(world, world.owner, 'PATCH', `/channels/${id}`, { name: nextName('n') }),
      () => undefined,
    );
}

async function setOverwrite(world: World, server: KnownServer): Promise<void> {
  const id = pickFrom(world, textChannels(server));
  const target = pickFrom(world, [server.id, server.id, ...server.roles.keys(), ...server.members.keys()]);
  const overwrites = id === undefined ? undefined : server.channels.get(id)?.overwrites;
  if (id === undefined || target === undefined || !overwrites || target === world.owner.id) return;
  const kind = world.addresses.pick(3);
  const bits = { allow: kind === 1 ? view : 0, deny: kind === 2 ? view : 0 };
  await change(
    world,
    server,
    `overwrite of ${target} in ${id}: ${JSON.stringify(kind === 0 ? null : bits)}`,
    () => send(world, world.owner, kind === 0 ? 'DELETE' : 'PUT', `/channels/${id}/overwrites/${target}`, kind === 0 ? undefined : bits),
    () => void (kind === 0 ? overwrites.delete(target) : overwrites.set(target, { id: target, ...bits })),
  );
  await postInto(world, server, world.owner, id); // nobody may receive it before the channel is shown to them
}

async function createRole(world: World, server: KnownServer): Promise<void> {
  if (server.roles.size > 6) return;
  const permissions = world.addresses.pick(2) * view;
  await change(
    world,
    server,
    `create role (${permissions})`,
    () => send(world, world.owner, 'POST', `/servers/${server.id}/roles`, { name: nextName('r'), permissions }),
    ({ id }) => void server.roles.set(id, permissions),
  );
}

async function updateRole(world: World, server: KnownServer): Promise<void> {
  const id = pickFrom(world, [...server.roles.keys()]);
  if (id === undefined) return;
  const permissions = (server.roles.get(id) ?? 0) ^ view;
  await change(
    world,
    server,
    `role ${id}: ${permissions}`,
    () => send(world, world.owner, 'PATCH', `/servers/${server.id}/roles/${id}`, { permissions }),
    () => void server.roles.set(id, permissions),
  );
}

async function moveRole(world: World, server: KnownServer): Promise<void> {
  const id = pickFrom(world, [...server.roles.keys()].slice(1));
  if (id === undefined) return;
  const position = 1 + world.addresses.pick(server.roles.size - 1);
  await change(
    world,
    server,
    `role ${id} to ${position}`,
    () => send(world, world.owner, 'PATCH', `/servers/${server.id}/roles/${id}`, { position }),
    () => undefined,
  );
}

async function deleteRole(world: World, server: KnownServer): Promise<void> {
  const id = pickFrom(world, [...server.roles.keys()].slice(1));
  if (id === undefined) return;
  await change(
    world,
    server,
    `delete role ${id}`,
    () => send(world, world.owner, 'DELETE', `/servers/${server.id}/roles/${id}`),
    () => {
      server.roles.delete(id);
      for (const roles of server.members.values()) roles.delete(id);
      for (const { overwrites } of server.channels.values()) overwrites.delete(id);
    },
  );
}

async function giveRole(world: World, server: KnownServer): Promise<void> {
  const roleId = pickFrom(world, [...server.roles.keys()].slice(1));
  const userId = pickFrom(world, [...server.members.keys()]);
  const member = server.members.get(userId ?? '');
  if (roleId === undefined || !member) return;
  const has = member.has(roleId);
  await change(
    world,
    server,
    `${has ? 'take' : 'give'} role ${roleId}: ${userId}`,
    () => send(world, world.owner, has ? 'DELETE' : 'PUT', `/servers/${server.id}/members/${userId}/roles/${roleId}`),
    () => void (has ? member.delete(roleId) : member.add(roleId)),
  );
}

async function removeMember(world: World, server: KnownServer): Promise<void> {
  const one = pickFrom(
    world,
    world.accounts.filter(({ id }) => id !== world.owner.id && server.members.has(id)),
  );
  if (!one) return;
  const how = world.addresses.pick(3);
  const request = (): Promise<Answer<{ id: string }>> => {
    if (how === 0) return send(world, world.owner, 'DELETE', `/servers/${server.id}/members/${one.id}`);
    if (how === 1) return send(world, world.owner, 'PUT', `/servers/${server.id}/bans/${one.id}`, {});
    return send(world, one, 'DELETE', `/users/@me/servers/${server.id}`);
  };
  await change(world, server, `${['kick', 'ban', 'leave'][how]} ${one.id}`, request, () => {
    const ownRole = server.botRoles.get(one.id);
    server.members.delete(one.id);
    if (ownRole === undefined) return;
    server.botRoles.delete(one.id);
    server.roles.delete(ownRole);
    for (const { overwrites } of server.channels.values()) for (const id of [ownRole, one.id]) overwrites.delete(id);
  });
  if (how === 1)
    await change(
      world,
      server,
      `unban ${one.id}`,
      () => send(world, world.owner, 'DELETE', `/servers/${server.id}/bans/${one.id}`),
      () => undefined,
    );
  // Many come back at once, before everybody has been told that they left.
  if (world.addresses.pick(2) === 0 && !server.members.has(one.id)) await join(world, server, one);
}

/** Makes an account join a server. */
export async function join(world: World, server: KnownServer, one: Account): Promise<void> {
  const request = (): Promise<Answer<{ roleId?: string; permissions?: number; id: string }>> =>
    one.applicationId === null
      ? send(world, one, 'POST', `/invites/${world.invites.get(server.id)}`)
      : send(world, world.owner, 'POST', `/applications/${one.applicationId}/authorize`, { serverId: server.id, permissions: view });
  await change(world, server, `join ${one.id}`, request, ({ roleId, permissions = view }) => {
    if (roleId !== undefined) server.roles.set(roleId, permissions);
    if (roleId !== undefined) server.botRoles.set(one.id, roleId);
    server.members.set(one.id, new Set(roleId === undefined ? [] : [roleId]));
  });
}

async function joinAgain(world: World, server: KnownServer): Promise<void> {
  const one = pickFrom(
    world,
    world.accounts.filter(({ id }) => !server.members.has(id)),
  );
  if (one) await join(world, server, one);
}

async function renameServer(world: World, server: KnownServer): Promise<void> {
  await change(
    world,
    server,
    'rename server',
    () => send(world, world.owner, 'PATCH', `/servers/${server.id}`, { name: nextName('s') }),
    () => undefined,
  );
}

/** Gives the server to another person, who gives it back. */
async function transferServer(world: World, server: KnownServer): Promise<void> {
  const isPerson = ({ id, applicationId }: Account): boolean => applicationId === null && server.members.has(id);
  const heir = pickFrom(
    world,
    world.accounts.filter((one) => one !== world.owner && isPerson(one)),
  );
  if (!heir) return;
  const transfer = (from: Account, to: Account): Promise<void> =>
    change(
      world,
      server,
      `transfer to ${to.id}`,
      () => send(world, from, 'PATCH', `/servers/${server.id}`, { ownerId: to.id }),
      () => void (server.ownerId = to.id),
    );
  await transfer(world.owner, heir);
  for (let tries = 0; server.ownerId === heir.id && tries < 20; tries++) await transfer(heir, world.owner);
}

async function createThread(world: World, server: KnownServer): Promise<void> {
  const parentId = pickFrom(world, textChannels(server));
  if (parentId === undefined) return;
  let thread: string | undefined;
  await change(
    world,
    server,
    `thread in ${parentId}`,
    () => send(world, world.owner, 'POST', `/channels/${parentId}/threads`, { name: nextName('t') }),
    ({ id }) => {
      thread = id;
      world.oracle.threads.add(id);
      server.channels.set(id, { overwrites: new Map(), parentId });
    },
  );
  if (thread !== undefined) await postInto(world, server, world.owner, thread);
}

async function archiveThread(world: World, server: KnownServer): Promise<void> {
  const id = pickFrom(
    world,
    [...server.channels].flatMap(([one, { parentId }]) => (parentId === null ? [] : one)),
  );
  if (id !== undefined)
    await change(
      world,
      server,
      `archive ${id}`,
      () => send(world, world.owner, 'PATCH', `/channels/${id}`, { archived: world.addresses.pick(3) > 0 }),
      () => undefined,
    );
}

/** Adds a server with its invite and its announcement channel. Null if it was not made. */
export async function createServer(world: World): Promise<KnownServer | null> {
  const created = await send<{ id: string; channels: StoredChannel[] }>(world, world.owner, 'POST', '/servers', {
    name: nextName('s'),
  });
  if (!isGood(created)) return null;
  const { id, channels } = created.body;
  const server: KnownServer = {
    id,
    ownerId: world.owner.id,
    roles: new Map([[id, viewAndSend]]),
    channels: new Map(channels.map((one) => [one.id, toKnownChannel(one)])),
    members: new Map([[world.owner.id, new Set()]]),
    botRoles: new Map(),
    underWay: 0,
    changedAtMs: performance.now(),
  };
  const invite = await send<{ code: string }>(world, world.owner, 'POST', `/servers/${id}/invites`, { maxAgeSecs: 0 });
  if (!isGood(invite)) return null;
  world.invites.set(id, invite.body.code);
  world.servers.push(server);
  const news = await send<StoredChannel>(world, world.owner, 'POST', `/servers/${id}/channels`, { name: 'news', kind: 'announcement' });
  if (!isGood(news)) return server;
  server.channels.set(news.body.id, toKnownChannel(news.body));
  world.news.set(id, { id: news.body.id, followers: [] });
  await followNews(world);
  return server;
}

async function deleteServer(world: World, server: KnownServer): Promise<void> {
  await change(
    world,
    server,
    `delete server ${server.id}`,
    () => send(world, world.owner, 'DELETE', `/servers/${server.id}`),
    () => {
      server.channels.clear();
      server.members.clear();
    },
  );
  const at = world.servers.indexOf(server);
  if (server.members.size === 0 && at >= 0) world.servers.splice(at, 1);
}

/** The changes of a server, each as often as its weight. */
const changes: readonly [weight: number, run: (world: World, server: KnownServer) => Promise<void>][] = [
  [6, createChannel],
  [4, deleteChannel],
  [2, renameChannel],
  [14, setOverwrite],
  [4, createRole],
  [8, updateRole],
  [2, moveRole],
  [3, deleteRole],
  [8, giveRole],
  [8, removeMember],
  [10, joinAgain],
  [2, renameServer],
  [2, transferServer],
  [4, createThread],
  [3, archiveThread],
  [1, deleteServer],
];
const bag = changes.flatMap(([weight, run]) => Array.from({ length: weight }, () => run));

/** Makes a random change of a server, or two at the same moment. */
export async function changeServer(world: World, server: KnownServer): Promise<void> {
  const makeOne = (): Promise<void> | undefined => bag[world.addresses.pick(bag.length)]?.(world, server);
  if (world.addresses.pick(8) > 0) return makeOne();
  // Which of the two was made first is not known, so the result is read.
  world.oracle.changeBegan(server);
  await Promise.all([makeOne(), makeOne()]);
  await readAgain(world, server);
  world.oracle.changeEnded(server);
}
