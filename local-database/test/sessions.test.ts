import { expect } from 'chai';
import mongoose, { type Connection } from 'mongoose';
import { startWireGateway, type WireGateway } from '../server.ts';
import { atOnce, type Doc, openDatabase, refusal, type TestDatabase } from './database.ts';

describe('cursors', () => {
  let database: TestDatabase;
  let gateway: WireGateway;
  let connection: Connection;
  const inGateway = (name: string) => connection.collection<Doc>(name);
  before(async () => {
    database = await openDatabase();
    gateway = await startWireGateway({ socketDir: database.socketDir });
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
    expect(gateway.countCursors()).to.equal(0);
  });

  it('removes a cursor that the client closes', async () => {
    const cursor = inGateway('paged').find().sort({ _id: 1 }).batchSize(10);
    await cursor.next();
    expect(gateway.countCursors()).to.equal(1);
    await cursor.close();
    expect(gateway.countCursors()).to.equal(0);
  });

  it('keeps at most 1,000 cursors and drops the least recently used', async () => {
    const open = () => connection.db?.command({ find: 'paged', batchSize: 2 }) as Promise<{ cursor: { id: bigint } }>;
    const first = await open();
    for (let round = 0; round < 20; round++) await atOnce(50, open);
    expect(gateway.countCursors()).to.equal(1000);
    expect(await refusal(connection.db?.command({ getMore: first.cursor.id, collection: 'paged' }) ?? Promise.resolve())).to.include({
      code: 43,
    });
  });

  it('refuses transactions', async () => {
    const transaction = connection.transaction((session) => inGateway('paged').insertOne({ _id: 'new' }, { session }));
    expect(await refusal(transaction)).to.be.an('error');
    expect(await inGateway('paged').countDocuments({ _id: 'new' })).to.equal(0);
  });
});
