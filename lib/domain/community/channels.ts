import { limits } from '../../base/limits.ts';
import { type Overwrite, permissionBits } from '../../base/permissions.ts';
import { type CommunityChannelField, communityChannelFields } from '../../contract/community.ts';
import { each, sweepDue } from '../../store/mongo/due.ts';
import { insertInSlot } from '../../store/mongo/insert.ts';
import type { ChannelDoc, ServerDoc } from '../../store/mongo/models/server.ts';
import type { EnqueuePlatform } from '../../store/platform.ts';
import type { Actor } from '../access/checks.ts';
import { newChannel, takeNextPosition } from '../channels/channels.ts';
import { newOutbox } from '../events/pending.ts';

const names: Record<CommunityChannelField, string> = { rulesChannelId: 'rules', updatesChannelId: 'moderator-updates' };

/** Each of these permissions makes a role a moderators' role (docs/behavior/community.md#new-channels). */
const moderatorBits =
  permissionBits['Manage Server'] | permissionBits['Manage Messages'] | permissionBits['Kick Members'] | permissionBits['Ban Members'];

/** Hides the updates channel from `@everyone`. Moderators' roles and the creator can view it (docs/behavior/community.md#new-channels). */
function createModeratorOverwrites({ _id, roles }: ServerDoc, creatorId: string): Overwrite[] {
  const view = permissionBits['View Channel'];
  const moderators = roles.slice(1).filter((role) => role.permissions & moderatorBits);
  return [
    { id: _id, allow: 0, deny: view },
    ...[...moderators.map((role) => role.id), creatorId].map((id) => ({ id, allow: view, deny: 0 })),
  ];
}

/** Creates a hidden text channel (`heldAt`) for `field`. It already counts towards the server's 500 channels. Returns null if they are used up. */
export async function createHiddenChannel(
  platform: EnqueuePlatform,
  actor: Actor,
  server: ServerDoc,
  field: CommunityChannelField,
): Promise<ChannelDoc | null> {
  const { _id: serverId } = server;
  const now = new Date(platform.now());
  const fields = { _id: platform.ids.next(), serverId, kind: 'text' as const, name: names[field], position: -1, createdAt: now };
  const overwrites = field === 'updatesChannelId' ? createModeratorOverwrites(server, actor.id) : [];
  const hiddenChannel = { ...newChannel(fields), overwrites, heldAt: now };
  const inserted = await insertInSlot(platform.db.channels, { serverId }, limits.channelsPerServer, hiddenChannel);
  return inserted.outcome === 'full' ? null : inserted.doc;
}

/** Deletes those of these channels that are still hidden. */
export async function deleteHiddenChannels({ db }: EnqueuePlatform, ids: readonly string[]): Promise<void> {
  await db.channels.deleteMany({ _id: { $in: [...ids] }, heldAt: { $exists: true } }, { hint: '_id_' });
}

/** Makes a hidden channel visible, last in its server, and adds CHANNEL_CREATE to its outbox. Called inside `accessVersions.runChange` of the server. */
export async function revealChannel(platform: EnqueuePlatform, { _id, serverId }: Pick<ChannelDoc, '_id' | 'serverId'>): Promise<void> {
  const position = await takeNextPosition(platform, serverId);
  const pendingEvent = newOutbox(platform, { name: 'CHANNEL_CREATE' as const });
  await platform.db.channels.updateOne({ _id, heldAt: { $exists: true } }, { $set: { position, ...pendingEvent }, $unset: { heldAt: 1 } });
  platform.wake('relay-server', { serverId });
}

/** How long may pass between creating channels and the write that chooses them, in milliseconds. */
export const choiceTimeoutMs = 10_000;

/**
 * Decides about channels that stayed hidden because their process died: those that their server has chosen are shown, the others are deleted. Of two channels
 * that were created together, both are shown or neither, because one write chooses both.
 */
export const sweepHiddenChannels = sweepDue({
  collection: 'channels',
  due: 'heldAt',
  afterMs: 3 * choiceTimeoutMs,
  fields: ['serverId'],
  max: 100,
  run: each(async (platform: EnqueuePlatform, { _id, serverId }) => {
    const server = await platform.db.servers.findOne({ _id: serverId }, { projection: { rulesChannelId: 1, updatesChannelId: 1 } });
    if (!server || communityChannelFields.every((field) => server[field] !== _id)) await deleteHiddenChannels(platform, [_id]);
    else await platform.accessVersions.runChange({ servers: [serverId] }, () => revealChannel(platform, { _id, serverId }));
  }),
});
