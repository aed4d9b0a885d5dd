import { channelKinds } from '../../base/channel-kinds.ts';
import { refuse } from '../../base/errors.ts';
import { type Permission, permissionBits } from '../../base/permissions.ts';
import type { DmDoc } from '../../store/mongo/models/dm.ts';
import type { ChannelDoc } from '../../store/mongo/models/server.ts';
import type { Platform } from '../../store/platform.ts';
import { type Actor, locateChannel, requirePermissions, requireServerChannelOf, type ServerAccess } from '../access/checks.ts';
import { haveSharedServer } from './shared-servers.ts';

/** A channel of a server or a DM of the caller, and the caller's permissions there. */
export interface ChannelContext {
  readonly channelId: string;
  /** null in a DM. */
  readonly serverId: string | null;
  /** The caller's permissions there, as bits. */
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
function requireMessageKind({ kind }: ChannelDoc): void {
  if (!channelKinds[kind].hasMessages) refuse('invalid_request', { reason: `a ${kind} channel cannot contain messages` });
}

/**
 * Loads the channel or DM `channelId` and checks View Channel and the permissions `needed`. Everything about messages uses this function. Refuses 404 for a DM
 * of others and for a caller who is not in the server, 403 for missing permissions, and 400 for a category or voice channel. Both participants of a DM have the
 * same permissions. Send Messages in a DM needs a server that both are in now (`no_shared_server`); nothing else does.
 */
export async function requireMessageChannel(
  platform: Platform,
  actor: Actor,
  channelId: string,
  ...needed: Permission[]
): Promise<ChannelContext> {
  const context = await requireChannel(platform, actor, channelId, ...needed);
  if (context.channel) requireMessageKind(context.channel);
  return context;
}

/** Like `requireMessageChannel`, but accepts categories and voice channels too. */
export async function requireChannel(
  platform: Platform,
  actor: Actor,
  channelId: string,
  ...needed: Permission[]
): Promise<ChannelContext> {
  const location = await locateChannel(platform, channelId);
  if (location?.dm) {
    const { dm } = location;
    if (!dm.userIds.includes(actor.id)) refuse('not_found', { what: 'channel' });
    requirePermissions(dmPermissions, ...needed);
    if (needed.includes('Send Messages') && !(await haveSharedServer(platform, dm))) refuse('no_shared_server');
    return { channelId, serverId: null, permissions: dmPermissions, access: null, channel: null, dm };
  }
  const { access, channel, permissions, server } = await requireServerChannelOf(
    platform,
    actor,
    location?.serverId ?? null,
    channelId,
    ...needed,
  );
  return { channelId, serverId: server._id, permissions, access, channel, dm: null };
}
