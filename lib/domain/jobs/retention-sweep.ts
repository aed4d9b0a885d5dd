import { withSharedFields } from '../../store/mongo/database.ts';
import { insertNew } from '../../store/mongo/insert.ts';
import { retentionIndex, type ServerDoc } from '../../store/mongo/models/server.ts';
import type { Platform, WorkerPlatform } from '../../store/platform.ts';
import { deleteExpiredMessages } from '../messages/removal.ts';
import { getMessageRetention, toExpiredBound } from '../retention.ts';

/** How many documents one run deletes, and how many servers and channels it looks at: few enough that posts do not become slower. */
const deletedPerRun = 200;
const stepsPerRun = 100;
/** How many servers or channels are read at once. */
const pageSize = 50;
/** How long the workers wait after they have looked at everything, in milliseconds. */
const pauseMs = 60 * 60_000;

/** Everything up to this channel has been looked at. `channelId` is '' if of a server only its audit log has. `serverId` is null for DMs. */
interface Position {
  serverId: string | null;
  channelId: string;
}

const start: Position = { serverId: '', channelId: '' };

/** The document `retention` of `meta`: how far the workers are, or until when they wait. */
const progressOf = ({ db }: Platform) => withSharedFields<Position & { nextAt?: Date }>(db.meta);

/** What is to be deleted of a server's audit log, or of a channel. `run` deletes up to `limit` and returns how many it read and how many it deleted. */
interface Step {
  position: Position;
  run: (limit: number) => Promise<{ read: number; deleted: number }>;
}

/** Reads pages of documents by `_id`, from `read(after)` on. */
async function* readPages<T extends { _id: string }>(after: string, read: (after: string) => Promise<T[]>): AsyncGenerator<T, void> {
  for (let from = after; ; ) {
    const page = await read(from);
    yield* page;
    if (page.length < pageSize) return;
    from = page.at(-1)?._id ?? from;
  }
}

/** The servers from the id `from` on. If nothing is deleted by default, only those with a retention of their own. */
async function* findServers({ db, config }: Platform, from: string): AsyncGenerator<ServerDoc, void> {
  const isAll = config.MESSAGE_RETENTION_DAYS !== null || config.AUDIT_RETENTION_DAYS !== null;
  const own = isAll ? {} : { messageRetentionDays: { $gt: 0 } };
  const hint = isAll ? '_id_' : retentionIndex;
  const projection = { messageRetentionDays: 1 };
  const first = await db.servers.findOne({ _id: from, ...own }, { projection });
  if (first) yield first;
  yield* readPages(from, (after) =>
    db.servers
      .find({ _id: { $gt: after }, ...own }, { projection })
      .sort({ _id: 1 })
      .hint(hint)
      .limit(pageSize)
      .toArray(),
  );
}

/** Deletes up to `limit` entries of a server's audit log that are older than the id `before`. */
async function deleteExpiredAudit({ db }: Platform, serverId: string, before: string, limit: number) {
  const found = await db.audit
    .find({ serverId, _id: { $lt: before } }, { projection: { _id: 1 } })
    .sort({ serverId: 1, _id: -1 })
    .limit(limit)
    .toArray();
  const ids = found.map(({ _id }) => _id);
  if (ids.length > 0) await db.audit.deleteMany({ serverId, _id: { $in: ids } });
  return { read: ids.length, deleted: ids.length };
}

const nothing = { read: 0, deleted: 0 };

/** The steps after `position`, in order: each server's audit log and channels, then the DMs. */
async function* findSteps(platform: WorkerPlatform, position: Position): AsyncGenerator<Step, void> {
  const { db, config } = platform;
  const deleteMessages =
    (channelId: string, days: number): Step['run'] =>
    (limit) =>
      deleteExpiredMessages(platform, channelId, toExpiredBound(days, platform.now()), limit);
  if (position.serverId !== null)
    for await (const server of findServers(platform, position.serverId)) {
      const serverId = server._id;
      const auditDays = config.AUDIT_RETENTION_DAYS;
      if (serverId !== position.serverId)
        yield {
          position: { serverId, channelId: '' },
          run: async (limit) =>
            auditDays === null ? nothing : deleteExpiredAudit(platform, serverId, toExpiredBound(auditDays, platform.now()), limit),
        };
      const days = getMessageRetention(config, server);
      if (days === null) continue;
      const channels = readPages(serverId === position.serverId ? position.channelId : '', (after) =>
        db.channels
          .find({ serverId, _id: { $gt: after } }, { projection: { _id: 1 } })
          .sort({ serverId: 1, _id: 1 })
          .limit(pageSize)
          .hint('serverId_1__id_1')
          .toArray(),
      );
      for await (const { _id } of channels) yield { position: { serverId, channelId: _id }, run: deleteMessages(_id, days) };
    }
  const days = config.MESSAGE_RETENTION_DAYS;
  if (days === null) return;
  const dms = readPages(position.serverId === null ? position.channelId : '', (after) =>
    db.dms
      .find({ _id: { $gt: after } }, { projection: { _id: 1 } })
      .sort({ _id: 1 })
      .limit(pageSize)
      .toArray(),
  );
  for await (const { _id } of dms) yield { position: { serverId: null, channelId: _id }, run: deleteMessages(_id, days) };
}

/**
 * Deletes what is older than its retention: messages, and entries of audit logs (docs/operations.md#retention). One run does a bounded part, from where the
 * last one stopped, and stays with a channel until its old messages are deleted. After everything was looked at, the next round begins in an hour.
 */
export async function sweepRetention(platform: WorkerPlatform): Promise<void> {
  const progress = progressOf(platform);
  const stored = await progress.findOne({ _id: 'retention' });
  if (stored?.nextAt && stored.nextAt.getTime() > platform.now()) return;
  let position: Position = stored && !stored.nextAt ? { serverId: stored.serverId, channelId: stored.channelId } : start;
  let [left, steps] = [deletedPerRun, stepsPerRun];
  let isRoundOver = true;
  for await (const step of findSteps(platform, position)) {
    const limit = left;
    const { read, deleted } = await step.run(limit);
    left -= read;
    steps--;
    // If nothing could be deleted, what is left waits for the relay, and is deleted in the next round.
    const isDone = read < limit || deleted === 0;
    if (isDone) position = step.position;
    if (isDone && left > 0 && steps > 0) continue;
    isRoundOver = false;
    break;
  }
  const next = isRoundOver ? { ...start, nextAt: new Date(platform.now() + pauseMs) } : position;
  // If `restartRetention` has deleted the document meanwhile, the next run begins a new round.
  if (stored) await progress.replaceOne({ _id: 'retention' }, next);
  else await insertNew(progress, { _id: 'retention', ...next });
}

/** Makes the workers look at everything again at once, because a retention has changed. */
export const restartRetention = async (platform: Platform): Promise<void> => {
  await progressOf(platform).deleteOne({ _id: 'retention' });
};
