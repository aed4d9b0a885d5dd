import { failpoint } from '../base/failpoint.ts';
import { holds, permissionsOf } from '../base/permissions.ts';
import { trusted } from '../store/database.ts';
import type { RemovalDoc } from '../store/models/removal.ts';
import type { WorkerPlatform } from '../store/platform.ts';
import { appendInOrder, type DueEvent, serverAudience } from './audience.ts';
import { deleteMessages } from './message-removal.ts';
import { dropChannel, dropServer, forgetRemoval } from './removals.ts';

/** When the last pass comes, in milliseconds after the deletion: what was being posted then has landed, or never will. */
const lastPassMs = 60_000;
/** How long a pass may be silent before the sweep takes it for dead, in milliseconds. */
const silentMs = 10_000;
/** Channels or threads emptied in one round. */
const batch = 100;

/** The event that says a channel is gone: always the same one, so it is delivered once however often this runs. */
const goneEvent = ({ serverId, overwrites }: RemovalDoc, id: string): DueEvent => ({
  id: `gone-${id}`,
  name: 'CHANNEL_DELETE',
  payload: JSON.stringify({ id, serverId }),
  channelId: id,
  overwrites,
});

/** Tells that these are gone to who could view them. Nothing is told when the server is gone too. */
async function tellGone(platform: WorkerPlatform, removal: RemovalDoc, ids: readonly string[]): Promise<void> {
  const events = ids.map((id) => goneEvent(removal, id));
  await appendInOrder(platform, events, () =>
    serverAudience(platform, removal.serverId, async ({ server, bots }) =>
      (await bots()).filter((bot) => holds(permissionsOf(server, bot, removal.overwrites), 'View Channel')).map((bot) => bot.userId),
    ),
  );
}

/** Says that a pass goes on, so that the sweep begins no other beside it. */
type GoingOn = () => Promise<unknown>;

/** Deletes what stands in a channel that is gone: its messages and their files, who follows it and whom it follows, how far people have read. */
async function emptyChannel(platform: WorkerPlatform, channelId: string, goingOn: GoingOn): Promise<void> {
  const { follows, reads } = platform.db;
  await deleteMessages(platform, channelId, goingOn);
  failpoint(platform.config, 'during-removal');
  await follows.deleteMany({ sourceId: channelId });
  await follows.deleteMany({ targetId: channelId });
  await reads.deleteMany({ channelId });
}

/** Empties the channels that `filter` finds and deletes them, some at a time; `tell` comes first, as it needs to know which they were. */
async function emptyAll(
  platform: WorkerPlatform,
  filter: { serverId: string; parentId?: string },
  goingOn: GoingOn,
  tell: (ids: readonly string[]) => Promise<void>,
): Promise<void> {
  const { channels } = platform.db;
  for (;;) {
    const found = await channels.find(filter, { _id: 1 }).sort({ _id: 1 }).limit(batch).lean();
    const ids = found.map((one) => one._id);
    await tell(ids);
    for (const id of ids) await emptyChannel(platform, id, goingOn);
    await channels.deleteMany({ _id: trusted({ $in: ids }) });
    if (ids.length < batch) return;
  }
}

async function finishChannel(platform: WorkerPlatform, removal: RemovalDoc, goingOn: GoingOn): Promise<void> {
  const { _id, serverId } = removal;
  await dropChannel(platform, removal);
  await tellGone(platform, removal, [_id]);
  await emptyChannel(platform, _id, goingOn);
  await emptyAll(platform, { serverId, parentId: _id }, goingOn, (ids) => tellGone(platform, removal, ids));
}

async function finishServer(platform: WorkerPlatform, { serverId }: RemovalDoc, goingOn: GoingOn): Promise<void> {
  await emptyAll(platform, { serverId }, goingOn, () => Promise.resolve());
  const { invites, bans, audit, commands } = platform.db;
  await Promise.all([invites, bans, audit, commands].map((one) => one.collection.deleteMany({ serverId })));
}

/**
 * Makes one pass over what a deletion leaves behind; a minute after it comes the last one, for posts that were under way. Answers how many milliseconds are
 * left until then, or null when all is done. A pass that died, or runs twice at once, is made again without harm: everything here can be.
 */
export async function finishRemoval(platform: WorkerPlatform, removalId: string): Promise<number | null> {
  const { removals } = platform.db;
  const goingOn = () => removals.updateOne({ _id: removalId }, { $set: { nextAt: new Date(platform.now() + silentMs) } });
  const beganAt = platform.now();
  await goingOn();
  const removal = await removals.findOne({ _id: removalId }).lean();
  if (!removal) return null;
  if (removal.kind === 'channel') await finishChannel(platform, removal, goingOn);
  else if ((await dropServer(platform, removal)) !== 'kept') await finishServer(platform, removal, goingOn);
  else {
    await forgetRemoval(platform, removal);
    return null;
  }
  const lastAt = removal.at.getTime() + lastPassMs;
  if (beganAt < lastAt) {
    await removals.updateOne({ _id: removalId }, { $set: { nextAt: new Date(lastAt) } });
    return Math.max(0, lastAt - platform.now());
  }
  await forgetRemoval(platform, removal);
  void platform.forget([goneEvent(removal, removalId).id]);
  return null;
}
