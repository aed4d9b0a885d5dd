import { refuse, refuseField } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Channel, ChannelInput, ChannelPatch } from '../../contract/channel.ts';
import { insertInSlot } from '../../store/mongo/insert.ts';
import type { ChannelDoc } from '../../store/mongo/models/server.ts';
import type { EnqueuePlatform, Platform } from '../../store/platform.ts';
import { alsoOwes } from '../events/pending-events.ts';
import { type Actor, type InServer, inChannel, inServer, mayView, overwritesOf } from '../members/access.ts';
import { changesOf, writeAudit } from '../servers/audit.ts';
import { removeChannel } from '../servers/removals.ts';
import { channelOf } from '../servers/server-view.ts';
import { checkNewOverwrites } from './overwrites.ts';
import { channelNow, clockStage } from './thread-activity.ts';

/** Makes a channel document from `fixed`, with defaults for all other fields. */
export const newChannel = (fixed: Pick<ChannelDoc, '_id' | 'serverId' | 'kind' | 'name' | 'position' | 'createdAt'>): ChannelDoc => ({
  parentId: null,
  topic: null,
  slowmodeSecs: 0,
  contentMode: 'default',
  autoArchiveMinutes: null,
  archived: false,
  overwrites: [],
  ...fixed,
});

/** The fields that can be changed in each kind of channel. Other fields do not apply to it. */
const changeable: Record<ChannelDoc['kind'], readonly (keyof ChannelPatch)[]> = {
  category: ['name'],
  text: ['name', 'topic', 'slowmodeSecs', 'contentMode', 'parentId', 'kind', 'autoArchiveMinutes'],
  announcement: ['name', 'topic', 'slowmodeSecs', 'contentMode', 'parentId', 'kind', 'autoArchiveMinutes'],
  voice: ['name', 'parentId'],
  thread: ['name', 'slowmodeSecs', 'autoArchiveMinutes', 'archived'],
};

/** Refuses a `parentId` unless it is a category of this server that the caller can view. */
async function requireCategory({ access, member }: InServer, parentId: string): Promise<void> {
  const category = await access.channel(parentId);
  if (category?.kind !== 'category' || !(await mayView(access, member.userId, parentId)))
    refuseField('/parentId', 'is not a category of this server');
}

/**
 * Takes the next position of a server, because a new or moved channel is placed last (docs/behavior/servers.md#positions). Refuses with 404 if the server is
 * deleted.
 */
export async function nextPosition(platform: Platform, serverId: string): Promise<number> {
  const before = await platform.db.servers
    .findOneAndUpdate({ _id: serverId }, { $inc: { nextPosition: 1 } }, { returnDocument: 'before' })
    .lean();
  return before?.nextPosition ?? refuse('not_found', { what: 'server' });
}

/** Removes a channel from its category if the category was deleted concurrently, as the deletion does with the other channels. */
async function settleParent(platform: Platform, channel: ChannelDoc): Promise<ChannelDoc> {
  const { _id, parentId } = channel;
  if (parentId === null || channel.kind === 'thread' || (await platform.db.channels.exists({ _id: parentId }))) return channel;
  const owed = alsoOwes(platform, { name: 'CHANNEL_UPDATE' });
  await platform.db.channels.collection.updateOne({ _id: _id as never, parentId }, [{ $set: { parentId: null, ...owed } }]);
  return { ...channel, parentId: null };
}

/**
 * Creates a channel, last in its category. Needs Manage Channels. Refuses with `too_many_channels`, and with 400 for a `parentId` that is not a category of
 * this server.
 */
export async function createChannel(
  platform: EnqueuePlatform,
  actor: Actor,
  serverId: string,
  input: ChannelInput,
  newId: string,
): Promise<Channel> {
  const place = await inServer(platform, actor, serverId, 'Manage Channels');
  const parentId = input.parentId ?? null;
  if (parentId !== null) {
    if (input.kind === 'category') refuseField('/parentId', 'does not apply to a category');
    await requireCategory(place, parentId);
  }
  const overwrites = await checkNewOverwrites(place, input.overwrites ?? []);
  const channel = await platform.versions.changing({ servers: [serverId] }, async () => {
    const position = await nextPosition(platform, serverId);
    const now = new Date(platform.now());
    const fresh = newChannel({ _id: newId, serverId, kind: input.kind, name: input.name.trim(), position, createdAt: now });
    const owed = { ob: [{ id: platform.ids.next(), name: 'CHANNEL_CREATE' as const }], obAt: now };
    const inserted = await insertInSlot(platform.db.channels, { serverId }, limits.channelsPerServer, {
      ...fresh,
      parentId,
      overwrites,
      ...owed,
    });
    return inserted.end === 'full'
      ? refuse('too_many_channels', { limit: limits.channelsPerServer })
      : settleParent(platform, inserted.doc);
  });
  platform.nudge('relay-server', { serverId });
  const { name, kind } = channel;
  const changes = { name: { from: null, to: name }, kind: { from: null, to: kind } };
  await writeAudit(platform, actor, { id: newId, serverId, action: 'channel_create', targetId: newId, changes, channel });
  return channelOf(channel);
}

/** One channel. Needs View Channel. */
export async function getChannel(platform: Platform, actor: Actor, channelId: string): Promise<Channel> {
  const { channel } = await inChannel(platform, actor, channelId);
  return channelOf((await channelNow(platform, channel)) ?? refuse('not_found', { what: 'channel' }));
}

/**
 * Sets fields of a channel, adds CHANNEL_UPDATE to its outbox and recomputes a thread's `archiveAt`, in one write. Returns the channel as it was before.
 * Refuses with 404 if it is deleted.
 */
async function writeChannel(platform: Platform, { _id, serverId, kind }: ChannelDoc, set: Partial<ChannelDoc>): Promise<ChannelDoc> {
  const now = new Date(platform.now());
  const owed = alsoOwes(platform, { name: 'CHANNEL_UPDATE' });
  const opened = set.archived === false ? { lastActivityAt: now } : {};
  const values = Object.fromEntries(Object.entries(set).map(([field, value]) => [field, { $literal: value }]));
  const before = await platform.db.channels.collection.findOneAndUpdate(
    { _id: _id as never, serverId },
    [{ $set: { ...values, ...opened, ...owed } }, ...(kind === 'thread' ? [clockStage] : [])],
    { returnDocument: 'before' },
  );
  return (before as unknown as ChannelDoc | null) ?? refuse('not_found', { what: 'channel' });
}

/**
 * Changes a channel (docs/behavior/servers.md#channel-changes). Missing fields keep their value. Needs Manage Channels. Refuses with 400 fields that do not
 * apply to its kind, a `parentId` that is not a category of this server, and a `kind` other than text and announcement. A moved channel is placed last.
 * `archived: false` restarts the time until a thread is archived, even if the thread was not archived.
 */
export async function updateChannel(platform: EnqueuePlatform, actor: Actor, channelId: string, patch: ChannelPatch): Promise<Channel> {
  const place = await inChannel(platform, actor, channelId, 'Manage Channels');
  const { server } = place;
  const channel = (await channelNow(platform, place.channel)) ?? refuse('not_found', { what: 'channel' });
  const fields = (['name', 'topic', 'slowmodeSecs', 'contentMode', 'parentId', 'kind', 'autoArchiveMinutes', 'archived'] as const).filter(
    (field) => patch[field] !== undefined,
  );
  const foreign = fields.find((field) => !changeable[channel.kind].includes(field));
  if (foreign) refuseField(`/${foreign}`, `does not apply to a ${channel.kind} channel`);
  if (patch.parentId) await requireCategory(place, patch.parentId);
  const given = Object.fromEntries(fields.map((field) => [field, patch[field]])) as Partial<ChannelDoc>;
  const set: Partial<ChannelDoc> = { ...given, ...(patch.name === undefined ? {} : { name: patch.name.trim() }) };
  if (Object.keys(changesOf(channel, set)).length === 0 && patch.archived !== false) return channelOf(channel);
  const [before, after] = await platform.versions.changing({ servers: [server._id] }, async () => {
    const moved = set.parentId !== undefined && set.parentId !== channel.parentId;
    const position = moved ? { position: await nextPosition(platform, server._id) } : {};
    const found = await writeChannel(platform, channel, { ...set, ...position });
    return [found, await settleParent(platform, { ...found, ...set, ...position })] as const;
  });
  platform.nudge('relay-server', { serverId: server._id });
  const changes = changesOf(before, set);
  if (Object.keys(changes).length > 0)
    await writeAudit(platform, actor, {
      serverId: server._id,
      action: 'channel_update',
      targetId: channelId,
      changes,
      channel: { _id: channelId, overwrites: [...(await overwritesOf(place.access, before))] },
    });
  return channelOf(after);
}

/**
 * Deletes a channel with its threads and messages. The channels of a deleted category stay, outside any category. Needs Manage Channels. Nothing of the channel
 * can be read from then on; a job deletes what is left.
 */
export async function deleteChannel(platform: EnqueuePlatform, actor: Actor, channelId: string): Promise<void> {
  const { access, channel, server } = await inChannel(platform, actor, channelId, 'Manage Channels');
  const overwrites = await overwritesOf(access, channel);
  if (!(await removeChannel(platform, access, channel))) refuse('not_found', { what: 'channel' });
  const changes = { name: { from: channel.name, to: null }, kind: { from: channel.kind, to: null } };
  const told = { _id: channelId, overwrites: [...overwrites] };
  await writeAudit(platform, actor, { serverId: server._id, action: 'channel_delete', targetId: channelId, changes, channel: told });
}
