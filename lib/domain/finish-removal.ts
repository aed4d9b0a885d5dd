import { failpoint } from '../base/failpoint.ts';
import { trusted } from '../store/database.ts';
import { serverPlace } from '../store/log/keys.ts';
import type { RemovalDoc, RemovalInServer } from '../store/models/removal.ts';
import type { WorkerPlatform } from '../store/platform.ts';
import { removeChannelFiles } from './files.ts';
import { removeFollowsOf } from './followers.ts';
import { removeMember } from './membership.ts';
import { deleteMessages } from './message-removal.ts';
import { appendInOrder, type PlacedEvent, placedEvent, settleAllMarks } from './placed-events.ts';
import { dropApplication, dropChannel, dropServer, forgetRemoval } from './removals.ts';
import { goneFrom } from './server-events.ts';
import { removeWebhooksOf } from './webhooks.ts';

/** When the last pass comes, in milliseconds after the deletion: what was being posted then has landed, or never will. */
const lastPassMs = 60_000;
/** How long a pass may be silent before the sweep takes it for dead, in milliseconds. */
const silentMs = 10_000;
/** Channels or threads emptied in one round. */
const batch = 100;

/** One of the two or more passes over what is left. */
interface Pass {
  /** Says that it goes on, so that the sweep begins no other beside it. */
  goingOn: () => Promise<unknown>;
  /** Whether it is the last. Until then the documents of threads, and of a server's channels, stay: they say where a late post may have landed. */
  last: boolean;
}

/** The event that says a channel is gone: always the same one, so it is delivered once however often this runs. */
const goneEvent = ({ serverId, overwrites }: RemovalInServer, id: string): PlacedEvent =>
  placedEvent(serverPlace(serverId), `gone-${id}`, 'CHANNEL_DELETE', { id, serverId }, { channelId: id, overwrites });

/** Tells that these are gone to who could view them, once in all passes. Nothing is told when the server is gone too. */
async function tellGone(platform: WorkerPlatform, removal: RemovalInServer, ids: readonly string[], { last }: Pass): Promise<void> {
  const events = ids.map((id) => goneEvent(removal, id));
  await platform.confirm(await appendInOrder(platform, events));
  if (last) await settleAllMarks(platform, events);
}

/** Deletes what stands in a channel that is gone: its messages and their files, who follows it and whom it follows, its webhooks, how far people have read. */
async function emptyChannel(platform: WorkerPlatform, channelId: string, { goingOn }: Pass): Promise<void> {
  await deleteMessages(platform, channelId, goingOn);
  failpoint(platform.config, 'during-removal');
  await removeChannelFiles(platform, channelId, goingOn);
  await removeFollowsOf(platform, channelId);
  await removeWebhooksOf(platform, channelId);
  await platform.db.reads.deleteMany({ channelId });
}

/** Empties the channels that `within` finds, some at a time, and deletes them in the last pass. Each round is handed to `done`. */
async function emptyAll(
  platform: WorkerPlatform,
  within: { serverId: string; parentId?: string; kind?: 'thread' },
  pass: Pass,
  done: (ids: readonly string[]) => Promise<void>,
): Promise<void> {
  const { channels } = platform.db;
  for (let after = ''; ; ) {
    const found = await channels
      .find({ ...within, _id: trusted({ $gt: after }) }, { _id: 1 })
      .sort({ _id: 1 })
      .limit(batch)
      .lean();
    const ids = found.map((one) => one._id);
    await done(ids);
    for (const id of ids) await emptyChannel(platform, id, pass);
    if (pass.last) await channels.deleteMany({ _id: trusted({ $in: ids }) });
    after = ids.at(-1) ?? after;
    if (ids.length < batch) return;
  }
}

async function finishChannel(platform: WorkerPlatform, removal: RemovalInServer, pass: Pass): Promise<void> {
  const { _id, serverId } = removal;
  await dropChannel(platform, removal);
  await tellGone(platform, removal, [_id], pass);
  await emptyChannel(platform, _id, pass);
  // Threads only: a channel that is put into a category at the moment it goes keeps what is in it.
  await emptyAll(platform, { serverId, parentId: _id, kind: 'thread' }, pass, (ids) => tellGone(platform, removal, ids, pass));
}

async function finishServer(platform: WorkerPlatform, { serverId }: RemovalInServer, pass: Pass): Promise<void> {
  await emptyAll(platform, { serverId }, pass, () => Promise.resolve());
  const { invites, bans, audit, commands } = platform.db;
  await Promise.all([invites, bans, audit, commands].map((one) => one.collection.deleteMany({ serverId })));
  await removeChannelFiles(platform, serverId, pass.goingOn); // its icon
}

/** Takes the bot of an application that is gone out of its servers, one after another, and what else the application leaves. */
async function finishApplication(platform: WorkerPlatform, removal: RemovalDoc, { goingOn }: Pass): Promise<void> {
  const { _id, userIds = [] } = removal;
  await dropApplication(platform, removal);
  const places = await platform.db.members.find({ userId: trusted({ $in: userIds }) }, { serverId: 1, userId: 1 }).lean();
  for (const { serverId, userId } of places) {
    await goingOn();
    await removeMember(platform, serverId, userId);
    failpoint(platform.config, 'during-removal');
  }
  await platform.db.commands.deleteMany({ applicationId: _id });
  await removeChannelFiles(platform, _id, goingOn); // its icon
}

/** Takes a role that is gone off the members who had it. That is no news: nobody is shown with it since its ROLE_DELETE, which tells of them all. */
async function finishRole({ db }: WorkerPlatform, { _id, serverId }: RemovalInServer, { last }: Pass): Promise<void> {
  if (!last || (await db.servers.exists({ _id: serverId, 'roles.id': _id }))) return;
  await db.members.updateMany({ serverId, roles: _id }, { $pull: { roles: _id } });
}

/** What is done in one pass for each kind of removal inside a server. */
const passes = { server: finishServer, channel: finishChannel, role: finishRole };

/** How many of those who were in a server are told at once. */
const toldAtOnce = 50;

/** Tells those who were in a server that it is gone, each once however often this runs. */
async function finishMembers(platform: WorkerPlatform, removal: RemovalInServer, goingOn: Pass['goingOn']): Promise<void> {
  const { serverId, userIds = [] } = removal;
  const events = userIds.map((userId) => goneFrom(`gone-${serverId}-${userId}`, serverId, userId));
  for (let start = 0; start < events.length; start += toldAtOnce) {
    await goingOn();
    const some = events.slice(start, start + toldAtOnce);
    await platform.confirm(await appendInOrder(platform, some));
  }
  await forgetRemoval(platform, removal);
  void settleAllMarks(platform, events);
}

/**
 * Makes one pass over what a deletion leaves behind; a minute after it comes the last one, for posts that were under way. Answers how many milliseconds are
 * left until then, or null when all is done. A pass that died, or runs twice at once, is made again without harm: everything here can be.
 */
export async function finishRemoval(platform: WorkerPlatform, removalId: string): Promise<number | null> {
  const { removals } = platform.db;
  const goingOn = () => removals.updateOne({ _id: removalId }, { $set: { nextAt: new Date(platform.now() + silentMs) } });
  await goingOn();
  const removal = await removals.findOne({ _id: removalId }).lean();
  if (!removal) return null;
  if (removal.kind === 'members') {
    await finishMembers(platform, removal as RemovalInServer, goingOn);
    return null;
  }
  const lastAt = removal.at.getTime() + lastPassMs;
  const pass = { goingOn, last: platform.now() >= lastAt };
  const kept = removal.kind === 'server' && (await dropServer(platform, removal)) === 'kept';
  if (removal.kind === 'application') await finishApplication(platform, removal, pass);
  else if (!kept) await passes[removal.kind](platform, removal as RemovalInServer, pass);
  if (kept || pass.last) {
    await forgetRemoval(platform, removal);
    return null;
  }
  await removals.updateOne({ _id: removalId }, { $set: { nextAt: new Date(lastAt) } });
  return Math.max(0, lastAt - platform.now());
}
