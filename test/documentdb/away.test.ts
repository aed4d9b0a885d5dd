import { expect } from 'chai';
import mongoose from 'mongoose';
import { startWireGateway } from '../../apps/local/documentdb/server.ts';
import { atOnce, type Doc, openDatabase, refusal } from './database.ts';

describe('the gateway without Postgres', () => {
  it('answers within a second with 91, and serves again by itself when Postgres is back', async () => {
    const database = await openDatabase({ supervise: false, durable: true });
    try {
      const c = database.fresh();
      await c.insertOne({ _id: 1 });
      const { postgres } = database.stores.processes;
      if (!postgres) throw new Error('no postgres');
      process.kill(postgres, 'SIGKILL');
      // The server's processes outlive its head for a moment, and what they acknowledge counts.
      while ((await c.updateOne({ _id: 1 }, { $set: { b: 1 } }).catch(() => undefined)) !== undefined);
      const started = Date.now();
      const refusals = await Promise.all([
        refusal(c.insertOne({ _id: 2 })),
        refusal(database.connection.db?.command({ find: 'x' }) ?? Promise.resolve()),
        refusal(c.updateOne({ _id: 1 }, { $set: { a: 1 } })),
      ]);
      expect(Date.now() - started).to.be.lessThan(1000);
      for (const error of refusals)
        expect(error.code ?? error.name).to.be.oneOf([91, 'MongoNetworkError', 'MongoPoolClearedError', 'PoolClearedOnNetworkError']);
      expect(refusals.map(({ code }) => code)).to.include(91);
      await database.stores.restart('database');
      expect(await c.findOne({ _id: 1 })).to.include({ _id: 1 });
      await c.insertOne({ _id: 2 });
    } finally {
      await database.close();
    }
  });

  it('listens and says hello before Postgres was ever there, and bounds many waiting commands', async () => {
    const gateway = await startWireGateway({ socketDir: '/nonexistent' });
    const connection = await mongoose.createConnection(gateway.url, { dbName: 'test', maxPoolSize: 50, retryReads: false }).asPromise();
    try {
      const started = Date.now();
      const results = await atOnce(50, () => connection.collection<Doc>('x').insertOne({ _id: 1 }));
      expect(Date.now() - started).to.be.lessThan(1500);
      expect(results.filter(({ status }) => status === 'fulfilled')).to.have.length(0);
    } finally {
      await connection.close();
      await gateway.close();
    }
  });
});
