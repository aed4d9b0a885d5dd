import { limits } from '../../base/limits.ts';
import { type Overwrite, permissionBits } from '../../base/permissions.ts';
import { type ChosenField, chosenFields } from '../../contract/community.ts';
import { trusted } from '../../store/mongo/database.ts';
import { insertInSlot } from '../../store/mongo/insert.ts';
import type { ChannelDoc, ServerDoc } from '../../store/mongo/models/server.ts';
import type { EnqueuePlatform } from '../../store/platform.ts';
import { newChannel, nextPosition } from '../channels/channels.ts';
import type { Actor } from '../members/access.ts';

const names: Record<ChosenField, string> = { rulesChannelId: 'rules', updatesChannelId: 'moderator-updates' };

/** Each of these permissions makes a role a moderators' role (docs/behavior/community.md#new-channels). */
const moderatorBits =
  permissionBits['Manage Server'] | permissionBits['Manage Messages'] | permissionBits['Kick Members'] | permissionBits['Ban Members'];

/** Hides the updates channel from `@everyone`. Moderators' roles and the creator can view it (docs/behavior/community.md#new-channels). */
function moderatorsOnly({ _id, roles }: ServerDoc, makerId: string): Overwrite[] {
  const view = permissionBits['View Channel'];
  const moderators = roles.slice(1).filter((role) => role.permissions & moderatorBits);
  return [
    { id: _id, allow: 0, deny: view },
    ...[...moderators.map((role) => role.id), makerId].map((id) => ({ id, allow: view, deny: 0 })),
  ];
}

/** Creates a hidden text channel (`heldAt`) for `field`. It already counts towards the server's 500 channels. Returns null if they are used up. */
export async function holdChannel(
  platform: EnqueuePlatform,
  actor: Actor,
  server: ServerDoc,
  field: ChosenField,
): Promise<ChannelDoc | null> {
  const { _id: serverId } = server;
  const now = new Date(platform.now());
  const fixed = { _id: platform.ids.next(), serverId, kind: 'text' as const, name: names[field], position: -1, createdAt: now };
  const overwrites = field === 'updatesChannelId' ? moderatorsOnly(server, actor.id) : [];
  const held = { ...newChannel(fixed), overwrites, heldAt: now };
  const inserted = await insertInSlot(platform.db.channels, { serverId }, limits.channelsPerServer, held);
  return inserted.end === 'full' ? null : inserted.doc;
}

/** Deletes those of these channels that are still hidden. */
export async function dropHeld({ db }: EnqueuePlatform, ids: readonly string[]): Promise<void> {
  await db.channels.deleteMany({ _id: trusted({ $in: [...ids] }), heldAt: trusted({ $exists: true }) });
}

/** Makes a hidden channel visible, last in its server, and adds CHANNEL_CREATE to its outbox. Called inside `versions.changing` of the server. */
export async function showChannel(platform: EnqueuePlatform, { _id, serverId }: Pick<ChannelDoc, '_id' | 'serverId'>): Promise<void> {
  const position = await nextPosition(platform, serverId);
  const owed = { ob: [{ id: platform.ids.next(), name: 'CHANNEL_CREATE' }], obAt: new Date(platform.now()) };
  await platform.db.channels.collection.updateOne(
    { _id: _id as never, heldAt: { $exists: true } },
    { $set: { position, ...owed }, $unset: { heldAt: 1 } },
  );
  platform.nudge('relay-server', { serverId });
}

/** How long a channel may be hidden before the sweep decides about it, in milliseconds: three times `choosingMs`. */
const heldMaxMs = 30_000;
/** How long may pass between creating channels and the write that chooses them, in milliseconds. */
export const choosingMs = 10_000;
/** How many channels one sweep decides about. */
const sweepMax = 100;

/**
 * Decides about channels that stayed hidden because their process died: those that their server has chosen are shown, the others are deleted. Of two channels
 * that were created together, both are shown or neither, because one write chooses both.
 */
export async function sweepHeld(platform: EnqueuePlatform): Promise<void> {
  const { channels, servers } = platform.db;
  const before = new Date(platform.now() - heldMaxMs);
  const found = await channels
    .find({ heldAt: trusted({ $lt: before }) }, { serverId: 1 })
    .sort({ heldAt: 1, _id: 1 })
    .limit(sweepMax)
    .lean();
  for (const held of found) {
    const server = await servers.findOne({ _id: held.serverId }, { rulesChannelId: 1, updatesChannelId: 1 }).lean();
    if (!server || chosenFields.every((field) => server[field] !== held._id)) await dropHeld(platform, [held._id]);
    else await platform.versions.changing({ servers: [held.serverId] }, () => showChannel(platform, held));
  }
}
