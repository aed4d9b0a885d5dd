import { expect } from 'chai';
import mongoose, { type Connection } from 'mongoose';
import { startWireGateway, type WireGateway } from '../../apps/local/documentdb/server.ts';
import { atOnce, type Doc, openDatabase, refusal, type TestDatabase } from './database.ts';

describe('cursors and transactions', () => {
  let database: TestDatabase;
  let gateway: WireGateway;
  let connection: Connection;
  const inGateway = (name: string) => connection.collection<Doc>(name);
  before(async () => {
    database = await openDatabase();
    gateway = await startWireGateway({ socketDir: database.socketDir, transactionIdleMs: 150 });
    connection = await mongoose.createConnection(gateway.url, { dbName: 'test', maxPoolSize: 60 }).asPromise();
  });
  after(async () => {
    await connection.close();
    await gateway.close();
    await database.close();
  });

  it('reads 20 cursors in batches at once, and removes them at their end', async () => {
    const c = inGateway('paged');
    await c.insertMany(Array.from({ length: 500 }, (_, n) => ({ _id: n, k: n % 7 })));
    const results = await atOnce(20, () =>
      c
        .find({ k: { $gte: 0 } })
        .sort({ k: 1, _id: -1 })
        .batchSize(30)
        .toArray(),
    );
    for (const result of results) {
      const ids = result.status === 'fulfilled' ? result.value.map(({ _id }) => _id) : [];
      expect(new Set(ids).size).to.equal(500);
      expect(ids.slice(0, 2)).to.deep.equal([497, 490]);
    }
    const groups = await c.aggregate([{ $group: { _id: '$_id' } }, { $sort: { _id: 1 } }], { batchSize: 10 }).toArray();
    expect(groups.map(({ _id }) => _id as number)).to.deep.equal(Array.from({ length: 500 }, (_, n) => n));
    expect(gateway.open().cursors).to.equal(0);
  });

  it('removes a cursor that the client closes', async () => {
    const cursor = inGateway('paged').find().sort({ _id: 1 }).batchSize(10);
    await cursor.next();
    expect(gateway.open().cursors).to.equal(1);
    await cursor.close();
    expect(gateway.open().cursors).to.equal(0);
  });

  it('keeps at most 1,000 cursors and drops the least recently used', async () => {
    const open = () => connection.db?.command({ find: 'paged', batchSize: 2 }) as Promise<{ cursor: { id: bigint } }>;
    const first = await open();
    for (let round = 0; round < 20; round++) await atOnce(50, open);
    expect(gateway.open().cursors).to.equal(1000);
    expect(await refusal(connection.db?.command({ getMore: first.cursor.id, collection: 'paged' }) ?? Promise.resolve())).to.include({
      code: 43,
    });
  });

  it('commits and rolls back transactions', async () => {
    const c = inGateway('moved');
    await c.insertMany([
      { _id: 'a', n: 10 },
      { _id: 'b', n: 0 },
    ]);
    await connection.transaction(async (session) => {
      await c.updateOne({ _id: 'a' }, { $inc: { n: -3 } }, { session });
      await c.updateOne({ _id: 'b' }, { $inc: { n: 3 } }, { session });
    });
    await refusal(
      connection.transaction(async (session) => {
        await c.updateOne({ _id: 'a' }, { $inc: { n: -3 } }, { session });
        throw new Error('roll back');
      }),
    );
    expect(await c.find().sort({ _id: 1 }).toArray()).to.deep.equal([
      { _id: 'a', n: 7 },
      { _id: 'b', n: 3 },
    ]);
  });

  it('30 concurrent transactions on one document lose no update, and reads outside of them do not hang', async () => {
    const c = inGateway('counted');
    await c.insertOne({ _id: 1, n: 0 });
    const results = await atOnce(30, () =>
      connection.transaction(async (session) => {
        const n = Number((await c.findOne({ _id: 1 }, { session }))?.n);
        await c.findOne({ _id: 1 });
        await c.updateOne({ _id: 1 }, { $set: { n: n + 1 } }, { session });
      }),
    );
    const done = results.filter(({ status }) => status === 'fulfilled').length;
    expect(done).to.be.greaterThan(0);
    expect((await c.findOne({ _id: 1 }))?.n).to.equal(done);
  });

  it('rolls back an idle transaction', async () => {
    const c = inGateway('idle');
    await c.insertOne({ _id: 1, n: 0 });
    const session = await connection.startSession();
    session.startTransaction();
    await c.updateOne({ _id: 1 }, { $inc: { n: 1 } }, { session });
    expect((await c.findOneAndUpdate({ _id: 1 }, { $inc: { n: 10 } }, { returnDocument: 'after' }))?.n).to.equal(10);
    expect(await refusal(session.commitTransaction())).to.include({ code: 251 });
    await session.endSession();
  });
});
