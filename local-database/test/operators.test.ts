import { expect } from 'chai';
import { PostgresConnection } from '../postgres/connection.ts';
import { openDatabase, refusal, type TestDatabase } from './database.ts';

describe('DocumentDB through the gateway', () => {
  let database: TestDatabase;
  before(async () => {
    database = await openDatabase();
  });
  after(() => database.close());

  it('supports insertOne, insertMany, find, findOne, countDocuments, distinct and deleteMany', async () => {
    const c = database.fresh();
    await c.insertOne({ _id: 1, a: 1, b: 'x' }, { writeConcern: { w: 'majority', j: true } });
    expect(
      (
        await c.insertMany([
          { _id: 2, a: 2, b: 'x' },
          { _id: 3, a: 3, b: 'y' },
        ])
      ).insertedCount,
    ).to.equal(2);
    expect(
      await c
        .find({ a: { $gte: 1 } })
        .sort({ a: -1 })
        .skip(1)
        .limit(1)
        .project({ a: 1 })
        .toArray(),
    ).to.deep.equal([{ _id: 2, a: 2 }]);
    expect(await c.findOne({ _id: 3 })).to.deep.equal({ _id: 3, a: 3, b: 'y' });
    expect(await c.findOne({ _id: 4 })).to.equal(null);
    expect(await c.countDocuments({ b: 'x' })).to.equal(2);
    expect(await c.distinct('b')).to.have.members(['x', 'y']);
    expect((await c.deleteMany({ b: 'x' })).deletedCount).to.equal(2);
  });

  it('stores and returns a document of 15 MB', async () => {
    const c = database.fresh();
    const text = 'ä'.repeat(7_500_000);
    await c.insertOne({ _id: 1, text });
    expect((await c.findOne({ _id: 1 }))?.text).to.equal(text);
  });

  it('supports $inc, $push with $slice, $addToSet, $pull, positional updates and upserts', async () => {
    const c = database.fresh();
    expect(
      (
        await c.updateOne(
          { _id: 1 },
          {
            $inc: { n: 2 },
            $setOnInsert: {
              list: [
                { k: 1, v: 0 },
                { k: 2, v: 0 },
              ],
              set: ['a'],
            },
          },
          { upsert: true },
        )
      ).upsertedId,
    ).to.equal(1);
    await c.updateOne({ _id: 1 }, {
      $push: { log: { $each: [1, 2, 3, 4], $slice: -3 } },
      $addToSet: { set: { $each: ['a', 'b'] } },
      $inc: { n: 1 },
    } as never);
    await c.updateOne({ _id: 1, 'list.k': 2 }, { $set: { 'list.$.v': 9 } });
    await c.updateOne({ _id: 1 }, { $set: { 'list.$[one].v': 5 } }, { arrayFilters: [{ 'one.k': 1 }] });
    await c.updateOne({ _id: 1 }, { $pull: { set: 'a' } } as never);
    expect(await c.findOne({ _id: 1 })).to.deep.equal({
      _id: 1,
      n: 3,
      list: [
        { k: 1, v: 5 },
        { k: 2, v: 9 },
      ],
      set: ['b'],
      log: [2, 3, 4],
    });
  });

  it('supports updates by pipeline with $filter, $cond and $$REMOVE', async () => {
    const c = database.fresh();
    await c.insertMany([
      { _id: 1, outbox: [{ id: 'a' }, { id: 'b' }], outboxAt: 1 },
      { _id: 2, outbox: [{ id: 'a' }], outboxAt: 1 },
    ]);
    const left = { $filter: { input: '$outbox', cond: { $ne: ['$$this.id', 'a'] } } };
    await c.updateMany({}, [
      { $set: { outbox: left } },
      { $set: { outboxAt: { $cond: [{ $eq: ['$outbox', []] }, '$$REMOVE', '$outboxAt'] } } },
    ]);
    expect(await c.find().sort({ _id: 1 }).toArray()).to.deep.equal([
      { _id: 1, outbox: [{ id: 'b' }], outboxAt: 1 },
      { _id: 2, outbox: [] },
    ]);
  });

  it('evaluates $$NOW in filters and pipelines, and keeps it as text in values', async () => {
    const c = database.fresh();
    const before = Date.now();
    await c.insertOne({ _id: 1, text: '$$NOW', due: new Date(before - 1000) });
    const due = { _id: 1, $expr: { $lt: ['$due', '$$NOW'] } };
    const changed = await c.findOneAndUpdate(due, [{ $set: { at: '$$NOW', said: { $literal: '$$NOW' } } }], { returnDocument: 'after' });
    expect(changed?.said).to.equal('$$NOW');
    expect(Number(changed?.at)).to.be.within(before, Date.now());
    expect((await c.updateOne({ ...due, text: '$$NOW' }, { $set: { text: '$$NOW!', n: '$$NOW' } })).modifiedCount).to.equal(1);
    expect(await c.countDocuments({ n: '$$NOW', $expr: { $lte: ['$at', '$$NOW'] } })).to.equal(1);
    expect(
      (
        await c.bulkWrite([
          { updateOne: { filter: due, update: [{ $set: { bulk: '$$NOW' } }] } },
          { deleteOne: { filter: { $expr: { $gt: ['$due', '$$NOW'] } } } },
        ])
      ).deletedCount,
    ).to.equal(0);
    expect((await c.findOne({ _id: 1 }))?.bulk).to.be.instanceOf(Date);
  });

  it('supports bulkWrite and aggregate', async () => {
    const c = database.fresh();
    const result = await c.bulkWrite([
      { insertOne: { document: { _id: 1, k: 'a', n: 1 } } },
      { insertOne: { document: { _id: 2, k: 'a', n: 2 } } },
      { updateOne: { filter: { _id: 3 }, update: { $set: { k: 'b', n: 5 } }, upsert: true } },
      { deleteOne: { filter: { _id: 1 } } },
    ]);
    expect(result).to.include({ insertedCount: 2, upsertedCount: 1, deletedCount: 1 });
    const groups = await c.aggregate([{ $group: { _id: '$k', sum: { $sum: '$n' } } }, { $sort: { _id: 1 } }]).toArray();
    expect(groups).to.deep.equal([
      { _id: 'a', sum: 2 },
      { _id: 'b', sum: 5 },
    ]);
  });

  it('creates indexes; creating them again changes nothing', async () => {
    const c = database.fresh();
    await c.insertOne({ _id: 1, a: 1 });
    const indexes = [
      { key: { a: 1 }, unique: true },
      { key: { channelId: 1, _id: -1 }, partialFilterExpression: { outboxAt: { $exists: true } } },
      { key: { at: 1 }, expireAfterSeconds: 60 },
    ];
    const names = await c.createIndexes(indexes);
    expect(await refusal(c.insertOne({ _id: 2, a: 1 }))).to.include({ code: 11000 });
    expect(await c.createIndexes(indexes)).to.deep.equal(names);
    expect((await c.indexes()).map(({ name }) => name)).to.have.members(['_id_', 'a_1', 'channelId_1__id_-1', 'at_1']);
    await c.dropIndex('at_1');
    expect(await c.indexExists('at_1')).to.equal(false);
    expect(await database.connection.db?.listCollections({ name: c.collectionName }).toArray()).to.have.length(1);
  });

  it('expires documents by its own scheduler without TCP', async () => {
    const c = database.fresh();
    await c.createIndex({ at: 1 }, { expireAfterSeconds: 1 });
    await c.insertMany([
      { _id: 1, at: new Date(Date.now() - 60_000) },
      { _id: 2, at: new Date(Date.now() + 60_000) },
    ]);
    const postgres = await PostgresConnection.open(database.socketDir);
    const text = "SELECT cron.alter_job(jobid, schedule := '1 second')::text FROM cron.job WHERE jobname = 'documentdb_ttl_task'";
    await postgres.query({ name: 'sooner', text }, []);
    postgres.destroy();
    while ((await c.countDocuments()) > 1) await new Promise((done) => setTimeout(done, 50));
    expect(await c.distinct('_id')).to.deep.equal([2]);
  });

  it('explains a command with the documents that it read and returned', async () => {
    const c = database.fresh();
    await c.createIndex({ channelId: 1 });
    await c.insertMany(Array.from({ length: 300 }, (_, n) => ({ _id: n, channelId: `${n % 3}`, text: `${n % 2}` })));
    const byIndex = await c.find({ channelId: '1', text: '1' }).explain('executionStats');
    expect(byIndex.executionStats).to.include({ nReturned: 50, totalDocsExamined: 100 });
    expect(JSON.stringify(byIndex.queryPlanner.winningPlan)).to.include('"IXSCAN","indexName":"channelId_1"');
    const whole = await c.find({ text: '1' }).sort({ text: 1 }).explain('executionStats');
    expect(whole.executionStats).to.include({ nReturned: 150, totalDocsExamined: 300 });
    expect(whole.executionStats.executionStages).to.include({ stage: 'SORT' });
    expect(JSON.stringify(whole.queryPlanner.winningPlan)).to.include('COLLSCAN');
    const now = { channelId: '1', $expr: { $lt: ['$at', '$$NOW'] } };
    const planned = await c.find(now).explain('queryPlanner');
    expect(planned.queryPlanner).to.have.property('winningPlan');
    expect(planned).not.to.have.property('executionStats');
  });

  it('uses the index for {channelId, _id < x}, newest first', async () => {
    const c = database.fresh();
    await c.createIndex({ channelId: 1, _id: -1 });
    await c.insertMany(Array.from({ length: 300 }, (_, n) => ({ _id: `${1000 + n}`, channelId: `${n % 3}` })));
    const page = await c
      .find({ channelId: '1', _id: { $lt: '1200' } })
      .sort({ _id: -1 })
      .limit(3)
      .toArray();
    expect(page.map(({ _id }) => _id)).to.deep.equal(['1199', '1196', '1193']);
    expect(
      JSON.stringify(
        await c
          .find({ channelId: '1', _id: { $lt: '1200' } })
          .sort({ _id: -1 })
          .limit(3)
          .explain(),
      ),
    ).to.include('channelId_1__id_-1');
  });
});
