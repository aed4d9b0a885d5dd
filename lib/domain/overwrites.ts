import { refuse, refuseField } from '../base/errors.ts';
import { isId } from '../base/ids.ts';
import { type Overwrite, permissionsOf, rankOf } from '../base/permissions.ts';
import type { Channel, OverwriteInput } from '../contract/channel.ts';
import type { ChannelDoc } from '../store/models/server.ts';
import type { EnqueuePlatform, Platform } from '../store/platform.ts';
import { type Actor, type InChannel, inChannel, requireGrantable } from './access.ts';
import { changesOf, writeAudit } from './audit.ts';
import { alsoOwes, requireRoom, withRoom } from './owed-events.ts';
import { channelOf } from './server-view.ts';

type Bits = Pick<Overwrite, 'allow' | 'deny'>;

const nothing: Bits = { allow: 0, deny: 0 };

/**
 * The channel of an overwrite for `targetId`, a role or member below the caller's highest; `@everyone` is below all. Needs Manage Roles. 404 for what is
 * neither, 403 `role_hierarchy`, 400 in a thread, which uses its channel's. `standing` is what the channel changes for it now.
 */
async function placeOf(
  platform: Platform,
  actor: Actor,
  channelId: string,
  targetId: string,
): Promise<InChannel & { standing: Overwrite | undefined }> {
  const place = await inChannel(platform, actor, channelId, 'Manage Roles');
  const { access, server, member, channel } = place;
  if (channel.kind === 'thread') refuse('invalid_request', { reason: 'a thread uses the permission overwrites of its parent channel' });
  const standing = channel.overwrites.find((one) => one.id === targetId);
  const position = server.roles.findIndex((role) => role.id === targetId);
  const target = position < 0 && isId(targetId) ? await access.member(targetId) : null;
  if (position < 0 && !target && !standing) refuse('not_found', { what: 'role or member' });
  const rank = target ? rankOf(server, target) : Math.max(position, 0);
  if (position !== 0 && rank >= rankOf(server, member)) refuse('role_hierarchy');
  return { ...place, standing };
}

/**
 * Every bit that `now` changes must be the caller's, in the server or in this channel: taking a denial away gives as much as allowing does, and who
 * denies a bit to `@everyone`, and so to themselves, can take that back.
 */
function requireOwnBits({ server, member, permissions }: InChannel, before: Bits, now: Bits): void {
  requireGrantable(permissions | permissionsOf(server, member), (before.allow ^ now.allow) | (before.deny ^ now.deny));
}

/** The overwrites without `targetId`'s, and with `added`: one update, so that none of two at once is lost or doubled. */
async function replaceOverwrite(
  platform: EnqueuePlatform,
  { channel, server }: InChannel,
  targetId: string,
  added: Overwrite[],
): Promise<ChannelDoc> {
  const others = { $filter: { input: '$overwrites', as: 'one', cond: { $ne: ['$$one.id', { $literal: targetId }] } } };
  const was = { overwrites: '$overwrites' };
  const owed = alsoOwes(platform, { name: 'CHANNEL_UPDATE', was });
  const after = await platform.versions.changing({ servers: [server._id] }, () =>
    platform.db.channels.collection.findOneAndUpdate(
      { _id: channel._id as never, serverId: server._id, ...withRoom },
      [{ $set: { overwrites: { $concatArrays: [others, { $literal: added }] }, ...owed } }],
      { returnDocument: 'after' },
    ),
  );
  platform.nudge('drain-server', { serverId: server._id });
  if (after) return after as unknown as ChannelDoc;
  requireRoom((await platform.db.channels.findOne({ _id: channel._id }, { ob: 1 }).lean())?.ob?.length ?? 0);
  return refuse('not_found', { what: 'channel' });
}

/** Sets what a channel changes for a role or member (decisions 3). Refuses `missing_permission` for bits that the caller lacks. */
export async function setOverwrite(
  platform: EnqueuePlatform,
  actor: Actor,
  channelId: string,
  targetId: string,
  input: OverwriteInput,
): Promise<Channel> {
  const place = await placeOf(platform, actor, channelId, targetId);
  const { channel, server, standing } = place;
  const { allow, deny } = input;
  if (allow & deny) refuseField('/deny', 'holds a bit that allow holds as well');
  requireOwnBits(place, standing ?? nothing, input);
  const changes = changesOf<Bits>(standing ?? nothing, { allow, deny });
  if (standing && Object.keys(changes).length === 0) return channelOf(channel);
  const after = await replaceOverwrite(platform, place, targetId, [{ id: targetId, allow, deny }]);
  const target = { channelId: { from: channelId, to: channelId } };
  await writeAudit(platform, actor, {
    serverId: server._id,
    action: 'overwrite_set',
    targetId,
    changes: { ...changes, ...target },
    channel: after,
  });
  return channelOf(after);
}

/** Removes what a channel changes for a role or member; nothing happens when that is nothing. */
export async function deleteOverwrite(platform: EnqueuePlatform, actor: Actor, channelId: string, targetId: string): Promise<void> {
  const place = await placeOf(platform, actor, channelId, targetId);
  const { server, standing } = place;
  if (!standing) return;
  requireOwnBits(place, standing, nothing);
  const after = await replaceOverwrite(platform, place, targetId, []);
  const changes = { ...changesOf<Bits>(standing, nothing), channelId: { from: channelId, to: channelId } };
  await writeAudit(platform, actor, { serverId: server._id, action: 'overwrite_delete', targetId, changes, channel: after });
}
