import { type FieldError, refuse, requireNoErrors } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Channel, ChannelInput, ChannelPatch } from '../../contract/channel.ts';
import { exists } from '../../store/mongo/database.ts';
import { insertInSlot } from '../../store/mongo/insert.ts';
import type { ChannelDoc } from '../../store/mongo/models/server.ts';
import type { EnqueuePlatform, Platform } from '../../store/platform.ts';
import { diffFields, writeAudit } from '../access/audit.ts';
import { type Actor, canView, loadOverwrites, requireServer, requireServerChannel, type ServerContext } from '../access/checks.ts';
import { addEventInPipeline, newOutbox } from '../events/pending.ts';
import { removeChannel } from '../removals.ts';
import { toChannel } from '../views/servers.ts';
import { createOverwrites, findOverwriteErrors } from './overwrites.ts';
import { archiveAtStage, loadCurrentChannel } from './thread-activity.ts';

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
const changeableFields: Record<ChannelDoc['kind'], readonly (keyof ChannelPatch)[]> = {
  category: ['name'],
  text: ['name', 'topic', 'slowmodeSecs', 'contentMode', 'parentId', 'kind', 'autoArchiveMinutes'],
  announcement: ['name', 'topic', 'slowmodeSecs', 'contentMode', 'parentId', 'kind', 'autoArchiveMinutes'],
  voice: ['name', 'parentId'],
  thread: ['name', 'slowmodeSecs', 'autoArchiveMinutes', 'archived'],
};

/** An error if `parentId` is not a category of this server that the caller can view. */
async function findCategoryErrors({ access, member }: ServerContext, parentId: string): Promise<FieldError[]> {
  const category = await access.channel(parentId);
  const isCategory = category?.kind === 'category' && (await canView(access, member.userId, parentId));
  return isCategory ? [] : [{ path: '/parentId', message: 'Choose a category of this server that you can view.' }];
}

/** The errors in the category of a new channel. */
async function findParentErrors(context: ServerContext, { kind, parentId = null }: ChannelInput): Promise<FieldError[]> {
  if (parentId === null) return [];
  return kind === 'category'
    ? [{ path: '/parentId', message: 'A category cannot be in another category.' }]
    : findCategoryErrors(context, parentId);
}

/**
 * Takes the next position of a server, because a new or moved channel is placed last (docs/behavior/servers.md#positions). Refuses with 404 if the server is
 * deleted.
 */
export async function takeNextPosition(platform: Platform, serverId: string): Promise<number> {
  const before = await platform.db.servers.findOneAndUpdate({ _id: serverId }, { $inc: { nextPosition: 1 } }, { returnDocument: 'before' });
  return before?.nextPosition ?? refuse('not_found', { what: 'server' });
}

/** Removes a channel from its category if the category was deleted concurrently, as the deletion does with the other channels. */
async function leaveDeletedCategory(platform: Platform, channel: ChannelDoc): Promise<ChannelDoc> {
  const { _id, parentId } = channel;
  if (parentId === null || channel.kind === 'thread' || (await exists(platform.db.channels, { _id: parentId }))) return channel;
  const pendingEvent = addEventInPipeline(platform, { name: 'CHANNEL_UPDATE' });
  await platform.db.channels.updateOne({ _id, parentId }, [{ $set: { parentId: null, ...pendingEvent } }]);
  return { ...channel, parentId: null };
}

/**
 * Creates a channel, last in its category, with the overwrites of the category unless some are given. Needs Manage Channels. Refuses with `too_many_channels`, and with 400 for a `parentId` that is not a category of
 * this server.
 */
export async function createChannel(
  platform: EnqueuePlatform,
  actor: Actor,
  serverId: string,
  input: ChannelInput,
  newId: string,
): Promise<Channel> {
  const context = await requireServer(platform, actor, serverId, 'Manage Channels');
  const { parentId = null, overwrites: given } = input;
  requireNoErrors([...(await findParentErrors(context, input)), ...findOverwriteErrors(given ?? [])]);
  const category = parentId !== null && given === undefined ? await context.access.channel(parentId) : null;
  const overwrites = category ? [...category.overwrites] : await createOverwrites(context, given ?? []);
  const channel = await platform.accessVersions.runChange({ servers: [serverId] }, async () => {
    const position = await takeNextPosition(platform, serverId);
    const now = new Date(platform.now());
    const fresh = newChannel({ _id: newId, serverId, kind: input.kind, name: input.name.trim(), position, createdAt: now });
    const pendingEvent = newOutbox(platform, { name: 'CHANNEL_CREATE' as const });
    const inserted = await insertInSlot(platform.db.channels, { serverId }, limits.channelsPerServer, {
      ...fresh,
      parentId,
      overwrites,
      ...pendingEvent,
    });
    return inserted.outcome === 'full'
      ? refuse('too_many_channels', { limit: limits.channelsPerServer })
      : leaveDeletedCategory(platform, inserted.doc);
  });
  platform.wake('relay-server', { serverId });
  const { name, kind } = channel;
  const changes = { name: { from: null, to: name }, kind: { from: null, to: kind } };
  await writeAudit(platform, actor, { id: newId, serverId, action: 'channel_create', targetId: newId, changes, channel });
  return toChannel(channel);
}

/** One channel. Needs View Channel. */
export async function getChannel(platform: Platform, actor: Actor, channelId: string): Promise<Channel> {
  const { channel } = await requireServerChannel(platform, actor, channelId);
  return toChannel((await loadCurrentChannel(platform, channel)) ?? refuse('not_found', { what: 'channel' }));
}

/**
 * Sets fields of a channel, adds CHANNEL_UPDATE to its outbox and recomputes a thread's `archiveAt`, in one write. Returns the channel as it was before.
 * Refuses with 404 if it is deleted.
 */
async function writeChannel(platform: Platform, { _id, serverId, kind }: ChannelDoc, set: Partial<ChannelDoc>): Promise<ChannelDoc> {
  const now = new Date(platform.now());
  const pendingEvent = addEventInPipeline(platform, { name: 'CHANNEL_UPDATE' });
  const activity = set.archived === false ? { lastActivityAt: now } : {};
  const literals = Object.fromEntries(Object.entries(set).map(([field, value]) => [field, { $literal: value }]));
  const before = await platform.db.channels.findOneAndUpdate(
    { _id, serverId },
    [{ $set: { ...literals, ...activity, ...pendingEvent } }, ...(kind === 'thread' ? [archiveAtStage] : [])],
    { returnDocument: 'before' },
  );
  return before ?? refuse('not_found', { what: 'channel' });
}

/**
 * Changes a channel (docs/behavior/servers.md#channel-changes). Missing fields keep their value. Needs Manage Channels. Refuses with 400 fields that do not
 * apply to its kind, a `parentId` that is not a category of this server, and a `kind` other than text and announcement. A moved channel is placed last.
 * `archived: false` restarts the time until a thread is archived, even if the thread was not archived.
 */
export async function updateChannel(platform: EnqueuePlatform, actor: Actor, channelId: string, patch: ChannelPatch): Promise<Channel> {
  const context = await requireServerChannel(platform, actor, channelId, 'Manage Channels');
  const { server } = context;
  const channel = (await loadCurrentChannel(platform, context.channel)) ?? refuse('not_found', { what: 'channel' });
  const fields = (['name', 'topic', 'slowmodeSecs', 'contentMode', 'parentId', 'kind', 'autoArchiveMinutes', 'archived'] as const).filter(
    (field) => patch[field] !== undefined,
  );
  const inapplicable = fields.filter((field) => !changeableFields[channel.kind].includes(field));
  const message = `This does not apply to channels of the kind ${channel.kind}.`;
  requireNoErrors([
    ...inapplicable.map((field) => ({ path: `/${field}`, message })),
    ...(patch.parentId && !inapplicable.includes('parentId') ? await findCategoryErrors(context, patch.parentId) : []),
  ]);
  const patchFields = Object.fromEntries(fields.map((field) => [field, patch[field]])) as Partial<ChannelDoc>;
  const set: Partial<ChannelDoc> = { ...patchFields, ...(patch.name === undefined ? {} : { name: patch.name.trim() }) };
  if (Object.keys(diffFields(channel, set)).length === 0 && patch.archived !== false) return toChannel(channel);
  const [before, after] = await platform.accessVersions.runChange({ servers: [server._id] }, async () => {
    const moved = set.parentId !== undefined && set.parentId !== channel.parentId;
    const position = moved ? { position: await takeNextPosition(platform, server._id) } : {};
    const previous = await writeChannel(platform, channel, { ...set, ...position });
    return [previous, await leaveDeletedCategory(platform, { ...previous, ...set, ...position })] as const;
  });
  platform.wake('relay-server', { serverId: server._id });
  const changes = diffFields(before, set);
  if (Object.keys(changes).length > 0)
    await writeAudit(platform, actor, {
      serverId: server._id,
      action: 'channel_update',
      targetId: channelId,
      changes,
      channel: { _id: channelId, overwrites: [...(await loadOverwrites(context.access, before))] },
    });
  return toChannel(after);
}

/**
 * Deletes a channel with its threads and messages. The channels of a deleted category stay, outside any category. Needs Manage Channels. Nothing of the channel
 * can be read from then on; a job deletes what is left.
 */
export async function deleteChannel(platform: EnqueuePlatform, actor: Actor, channelId: string): Promise<void> {
  const { access, channel, server } = await requireServerChannel(platform, actor, channelId, 'Manage Channels');
  const overwrites = await loadOverwrites(access, channel);
  if (!(await removeChannel(platform, access, channel))) refuse('not_found', { what: 'channel' });
  const changes = { name: { from: channel.name, to: null }, kind: { from: channel.kind, to: null } };
  const auditedChannel = { _id: channelId, overwrites: [...overwrites] };
  await writeAudit(platform, actor, {
    serverId: server._id,
    action: 'channel_delete',
    targetId: channelId,
    changes,
    channel: auditedChannel,
  });
}
