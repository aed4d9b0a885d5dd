import { refuse } from '../base/errors.ts';
import { type Permission, permissionBits } from '../base/permissions.ts';
import type { DmDoc } from '../store/models/dm.ts';
import type { ChannelDoc } from '../store/models/server.ts';
import type { Platform } from '../store/platform.ts';
import { type Actor, homeOfChannel, inChannelOf, require, type ServerAccess } from './access.ts';
import { stillShare } from './shared-servers.ts';

/** Where messages live, as the caller may see it: a channel of a server, or a DM of the caller's. */
export interface Place {
  readonly channelId: string;
  /** null in a DM. */
  readonly serverId: string | null;
  /** What the caller may do there. */
  readonly permissions: number;
  /** The server's access data; null in a DM. */
  readonly access: ServerAccess | null;
  /** null in a DM. */
  readonly channel: ChannelDoc | null;
  /** null in a server. */
  readonly dm: DmDoc | null;
}

/** The permissions of both participants of a DM. Server permissions do not apply (docs/behavior/messages.md#channels-that-hold-messages). */
export const dmPermissions =
  permissionBits['View Channel'] | permissionBits['Send Messages'] | permissionBits['Attach Files'] | permissionBits['Add Reactions'];

/** Refuses channels without messages: categories and voice channels (docs/behavior/messages.md#channels-that-hold-messages). */
function requireMessages({ kind }: ChannelDoc): void {
  if (kind === 'category' || kind === 'voice') refuse('invalid_request', { reason: `a ${kind} channel cannot contain messages` });
}

/**
 * The one load-and-check call for all that concerns messages: `channelId` with View Channel and the permissions `needed`. 404 for a DM of others and for who
 * is outside the server, 403 inside it, 400 for a category or voice channel. In a DM both may do the same; Send Messages there needs a server that the two
 * share now (`no_shared_server`), all else does not.
 */
export async function inPlace(platform: Platform, actor: Actor, channelId: string, ...needed: Permission[]): Promise<Place> {
  const place = await inAnyPlace(platform, actor, channelId, ...needed);
  if (place.channel) requireMessages(place.channel);
  return place;
}

/** `inPlace` that takes categories and voice channels too. */
export async function inAnyPlace(platform: Platform, actor: Actor, channelId: string, ...needed: Permission[]): Promise<Place> {
  const home = await homeOfChannel(platform, channelId);
  if (home?.dm) {
    const { dm } = home;
    if (!dm.userIds.includes(actor.id)) refuse('not_found', { what: 'channel' });
    require(dmPermissions, ...needed);
    if (needed.includes('Send Messages') && !(await stillShare(platform, dm))) refuse('no_shared_server');
    return { channelId, serverId: null, permissions: dmPermissions, access: null, channel: null, dm };
  }
  const { access, channel, permissions, server } = await inChannelOf(platform, actor, home?.serverId ?? null, channelId, ...needed);
  return { channelId, serverId: server._id, permissions, access, channel, dm: null };
}
