import mongoose, { type Connection } from 'mongoose';
import { archiveThreads } from '../../../lib/domain/channels/thread-activity.ts';
import type { ChannelDoc } from '../../../lib/store/mongo/models/server.ts';
import { type SeededServer, seedServer } from '../../harness/seed.ts';
import { aboveRow, type Row, shareRow } from '../report.ts';
import { type Bench, openSetting, type Setting } from '../setting.ts';

const total = 100_000;
const loadBatch = 5_000;

/** 100,000 threads that are due to be archived, in the channels of `seeded`. */
function dueThreads({ platform }: Setting, seeded: SeededServer): Omit<ChannelDoc, 'slot'>[] {
  const now = Date.now();
  return Array.from({ length: total }, (_, at) => ({
    _id: platform.ids.next(),
    serverId: seeded.serverId,
    kind: 'thread',
    name: `thread ${at}`,
    position: -1,
    parentId: seeded.channelIds[at % seeded.channelIds.length] as string,
    topic: null,
    slowmodeSecs: 0,
    contentMode: 'default',
    autoArchiveMinutes: 1440,
    archived: false,
    overwrites: [],
    threadOwnerId: seeded.ownerId,
    threadStarterId: platform.ids.next(),
    messageCount: at % 50,
    lastActivityAt: new Date(now - 86_400_000 - at),
    archiveAt: new Date(now - at),
    createdAt: new Date(now - 86_500_000 - at),
  }));
}

/** A collection with the same indexes as the product's, on a connection without operation timeouts. */
async function openBare(setting: Setting): Promise<{ connection: Connection; bare: ReturnType<Connection['collection']> }> {
  const connection = await mongoose
    .createConnection(setting.config.MONGODB_URL, { retryWrites: false, writeConcern: { w: 'majority', journal: true } })
    .asPromise();
  const bare = connection.collection('bare_threads');
  for (const { key, name, unique, partialFilterExpression } of await setting.platform.db.channels.indexes())
    if (name !== '_id_')
      await bare.createIndex(key, {
        name: String(name),
        ...(unique ? { unique } : {}),
        ...(partialFilterExpression ? { partialFilterExpression } : {}),
      });
  return { connection, bare };
}

/** The archive sweep over 100,000 due threads, compared with one bare update of as many documents that has the same effect, and its total time. */
export async function archiveRows(bench: Bench): Promise<Row[]> {
  const setting = await openSetting(bench, { api: 0, gateway: 0, worker: 0 });
  const seeded = await seedServer(setting.platform, { bots: 1, channels: 100 });
  const collection = setting.platform.db.channels;
  const { connection, bare } = await openBare(setting);
  const load = async (into: { insertMany(rows: never): Promise<unknown> }): Promise<void> => {
    const rows = dueThreads(setting, seeded);
    for (let at = 0; at < total; at += loadBatch) await into.insertMany(rows.slice(at, at + loadBatch) as never);
  };
  const [ours, limit, seconds]: [number[], number[], number[]] = [[], [], []];
  try {
    for (let round = 0; round < bench.rounds; round++) {
      await load(collection);
      await load(bare);
      const began = performance.now();
      const archived = await archiveThreads(setting.platform);
      const took = (performance.now() - began) / 1000;
      if (archived !== total) throw new Error(`${archived} threads were archived`);
      const now = new Date();
      const beganBare = performance.now();
      const { modifiedCount } = await bare.updateMany(
        { archiveAt: { $lte: now } },
        { $set: { archived: true, outbox: [{ id: seeded.serverId, name: 'CHANNEL_UPDATE' }], outboxAt: now }, $unset: { archiveAt: 1 } },
      );
      const tookBare = (performance.now() - beganBare) / 1000;
      if (modifiedCount !== total) throw new Error(`${modifiedCount} documents were updated`);
      seconds.push(took);
      ours.push(total / took);
      limit.push(total / tookBare);
      bench.log(`  round ${round + 1}: ${took.toFixed(1)} s, bare ${tookBare.toFixed(1)} s`);
      await connection.collection('channels').deleteMany({ kind: 'thread' });
      await bare.deleteMany({});
    }
    return [
      shareRow('archive 100,000 threads', 'threads/s', ours, limit, 0.5),
      aboveRow('archive 100,000 threads, total time', 's', seconds, null, 60),
    ];
  } finally {
    await connection.close();
    await setting.close();
  }
}
