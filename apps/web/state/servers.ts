import { computed, signal } from '@preact/signals';
import type { Channel } from '../../../lib/contract/channel.ts';
import type { Role, Server } from '../../../lib/contract/server.ts';
import { call, path } from '../api/call.ts';
import { applyLoad } from './loads.ts';

/** The servers that the user is in, in the order of joining. */
export const servers = signal<ReadonlyMap<string, Server>>(new Map());

/** All known channels, by id. */
export const channels = computed<ReadonlyMap<string, Channel>>(
  () => new Map([...servers.value.values()].flatMap((server) => server.channels.map((channel) => [channel.id, channel]))),
);

/** Returns a copy of a map with one entry set, or removed when `value` is undefined. Signals compare by identity, so a map is replaced and never changed. */
export function withEntry<K, V>(map: ReadonlyMap<K, V>, key: K, value: V | undefined): ReadonlyMap<K, V> {
  const next = new Map(map);
  if (value === undefined) next.delete(key);
  else next.set(key, value);
  return next;
}

/** When the state of a channel was received, in milliseconds of this page's clock. */
export const receivedAt = new WeakMap<Channel, number>();

/** Stores a full server from a response or a SERVER_CREATE event. */
export function putServer(server: Server): void {
  for (const channel of server.channels) receivedAt.set(channel, performance.now());
  servers.value = withEntry(servers.value, server.id, server);
}

/** Removes a server that the user left, was removed from, or that was deleted. */
export function dropServer(id: string): void {
  servers.value = withEntry(servers.value, id, undefined);
}

/** Replaces all servers of the user. */
export function setServers(all: readonly Server[]): void {
  for (const { channels: ownChannels } of all) for (const channel of ownChannels) receivedAt.set(channel, performance.now());
  servers.value = new Map(all.map((server) => [server.id, server]));
}

/** Loads one server in full. Throws `ApiError`. */
export const loadServer = (id: string): Promise<Server> => applyLoad(() => call<Server>('GET', path`/api/servers/${id}`), putServer);

/** Changes a server; does nothing for one that the user is not in, or that is not loaded yet. */
export function changeServer(id: string, change: (server: Server) => Server): void {
  const server = servers.value.get(id);
  if (server) servers.value = withEntry(servers.value, id, change(server));
}

/** Adds or replaces a channel. `at` is when its state was received. */
export function putChannel(channel: Channel, at = performance.now()): void {
  if (channel.serverId === null) return;
  receivedAt.set(channel, at);
  changeServer(channel.serverId, (server) => {
    const others = server.channels.filter(({ id }) => id !== channel.id);
    return { ...server, channels: [...others, channel] };
  });
}

/** Removes a channel that was deleted or hidden, with its threads. Returns the ids of all. */
export function dropChannel(serverId: string, channelId: string): string[] {
  const isDropped = ({ id, kind, parentId }: Channel): boolean => id === channelId || (kind === 'thread' && parentId === channelId);
  const dropped = servers.value.get(serverId)?.channels.filter(isDropped) ?? [];
  changeServer(serverId, (server) => ({ ...server, channels: server.channels.filter((channel) => !isDropped(channel)) }));
  return dropped.map(({ id }) => id);
}

/** Adds or replaces a role; the list stays sorted from highest to lowest. When other roles shift, each of them gets its own event. */
export function putRole(serverId: string, role: Role): void {
  changeServer(serverId, (server) => {
    const roles = [...server.roles.filter(({ id }) => id !== role.id), role].sort((a, b) => b.position - a.position);
    return { ...server, roles };
  });
}

/** Removes a role from the server, its members and its channel overwrites. */
export function dropRole(serverId: string, roleId: string): void {
  changeServer(serverId, (server) => ({
    ...server,
    roles: server.roles.filter(({ id }) => id !== roleId),
    myRoles: server.myRoles.filter((id) => id !== roleId),
    channels: server.channels.map((channel) => ({ ...channel, overwrites: channel.overwrites.filter(({ id }) => id !== roleId) })),
  }));
}
