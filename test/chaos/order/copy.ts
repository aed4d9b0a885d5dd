import type { Channel } from '../../../lib/contract/channel.ts';
import type { Member } from '../../../lib/contract/member.ts';
import type { Role, Server } from '../../../lib/contract/server.ts';

/** What a client knows of a server: what `GET /api/servers/{serverId}` returned, changed by events only. */
interface ServerCopy {
  name: string;
  channels: Map<string, Channel>;
  roles: Map<string, Role>;
  myRoles: string[];
}

/** What a client knows: its servers by id. */
export type Copy = Map<string, ServerCopy>;

/** An event as a client receives it. */
export interface ReceivedEvent {
  t: string;
  d: Record<string, unknown>;
}

/** The copy of a server as it was read. */
export const toCopy = ({ name, channels, roles, myRoles }: Server): ServerCopy => ({
  name,
  channels: new Map(channels.map((one) => [one.id, one])),
  roles: new Map(roles.map((one) => [one.id, one])),
  myRoles,
});

/** The part of a copy that must equal the part of another one. What posts change without an event is left out. */
export const toComparable = ({ name, channels, roles, myRoles }: ServerCopy): object => ({
  name,
  channels: [...channels.values()].map((one) => ({ ...one, messageCount: null })).sort((a, b) => (a.id < b.id ? -1 : 1)),
  roles: [...roles.values()].sort((a, b) => b.position - a.position),
  myRoles: [...myRoles].sort(),
});

/** Applies an event to a copy, as the documents tell clients to. Returns what is wrong with it, or null. */
export function applyEvent(copy: Copy, accountId: string, { t, d }: ReceivedEvent, isThread: (id: string) => boolean): string | null {
  const serverId = String(d.serverId ?? d.id);
  const server = copy.get(serverId);
  if (t === 'SERVER_CREATE' && !d.channels) return 'SERVER_CREATE without the server';
  if (t === 'SERVER_CREATE') copy.set(String(d.id), toCopy(d as unknown as Server));
  else if (t === 'SERVER_DELETE') copy.delete(String(d.id));
  else if (!server) return d.serverId ? `${t} of the server ${serverId}, which it is not in` : null;
  else if (t === 'SERVER_UPDATE') server.name = String(d.name);
  else if (t === 'CHANNEL_CREATE' || t === 'CHANNEL_UPDATE') {
    if (d.archived) server.channels.delete(String(d.id));
    else server.channels.set(String(d.id), d as unknown as Channel);
  } else if (t === 'CHANNEL_DELETE')
    for (const { id, parentId, kind } of server.channels.values()) {
      if (id === d.id || (kind === 'thread' && parentId === d.id)) server.channels.delete(id);
    }
  else if (t === 'ROLE_CREATE' || t === 'ROLE_UPDATE') server.roles.set((d.role as Role).id, d.role as Role);
  else if (t === 'ROLE_DELETE') {
    server.roles.delete(String(d.roleId));
    server.myRoles = server.myRoles.filter((id) => id !== d.roleId);
  } else if (t === 'MEMBER_UPDATE' && (d.member as Member).user.id === accountId) server.myRoles = (d.member as Member).roles;
  // An archived thread is not in the copy, but its messages come.
  else if (t.startsWith('MESSAGE_') && !server.channels.has(String(d.channelId)) && !isThread(String(d.channelId)))
    return `${t} in the channel ${String(d.channelId)}, which it does not know`;
  return null;
}
