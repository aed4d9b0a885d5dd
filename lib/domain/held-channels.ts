import { limits } from '../base/limits.ts';
import { type Overwrite, permissionBits } from '../base/permissions.ts';
import { type ChosenField, chosenFields } from '../contract/community.ts';
import { trusted } from '../store/database.ts';
import { insertInSlot } from '../store/insert.ts';
import type { ChannelDoc, ServerDoc } from '../store/models/server.ts';
import type { EnqueuePlatform } from '../store/platform.ts';
import type { Actor } from './access.ts';
import { newChannel, nextPosition } from './channels.ts';

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

/** Makes a text channel for `field` that nobody sees yet, and that holds its place among the server's 500; null when there is none. */
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

/** Takes channels away that are held back still. */
export async function dropHeld({ db }: EnqueuePlatform, ids: readonly string[]): Promise<void> {
  await db.channels.deleteMany({ _id: trusted({ $in: [...ids] }), heldAt: trusted({ $exists: true }) });
}

/** Shows a channel that is held back, last in its server, with the event it then owes. Called inside `versions.changing` of the server. */
export async function showChannel(platform: EnqueuePlatform, { _id, serverId }: Pick<ChannelDoc, '_id' | 'serverId'>): Promise<void> {
  const position = await nextPosition(platform, serverId);
  const owed = { ob: [{ id: platform.ids.next(), name: 'CHANNEL_CREATE' }], obAt: new Date(platform.now()) };
  await platform.db.channels.collection.updateOne(
    { _id: _id as never, heldAt: { $exists: true } },
    { $set: { position, ...owed }, $unset: { heldAt: 1 } },
  );
  platform.nudge('relay-server', { serverId });
}

/** How long a channel may be held back before the sweep decides about it: three times what who made it may take, in milliseconds. */
const heldMaxMs = 30_000;
/** How long may pass between the making of channels and the write that chooses them, in milliseconds. */
export const choosingMs = 10_000;
/** How many one sweep decides about. */
const sweepMax = 100;

/**
 * Decides about channels that a process left held back when it died: those that their server has chosen are shown, the others go. Both or none of two that
 * were made together, as one write has chosen both.
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
