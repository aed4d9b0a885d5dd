import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import mongoose from 'mongoose';
import { waitUntil } from '../../test/harness/interaction-fixture.ts';
import { PostgresConnection } from '../postgres/connection.ts';
import { startWireGateway } from '../server.ts';
import { atOnce, type Doc, openDatabase, refusal } from './database.ts';

/** What a driver reports for code 91: the code itself, or the errors of the connection pool that it then clears. */
const unavailableErrors = [91, 'MongoNetworkError', 'MongoPoolClearedError', 'PoolClearedOnNetworkError'];
const codeOf = (error: Error & { code?: unknown }) => error.code ?? error.name;

describe('the gateway without Postgres', () => {
  it('answers with code 91 while Postgres is down, and works again after its restart', async () => {
    const database = await openDatabase({ supervise: false, durable: true });
    try {
      const c = database.fresh();
      await c.insertOne({ _id: 1 });
      const { postgres } = database.stores.processes;
      if (!postgres) throw new Error('no postgres');
      process.kill(postgres, 'SIGKILL');
      // The server's child processes run on for a moment, and the writes that they acknowledge are valid.
      while ((await c.updateOne({ _id: 1 }, { $set: { b: 1 } }).catch(() => undefined)) !== undefined);
      const started = Date.now();
      const refusals = await Promise.all([
        refusal(c.insertOne({ _id: 2 })),
        refusal(database.connection.db?.command({ find: 'x' }) ?? Promise.resolve()),
        refusal(c.updateOne({ _id: 1 }, { $set: { a: 1 } })),
      ]);
      expect(Date.now() - started).to.be.lessThan(15_000);
      for (const error of refusals) expect(codeOf(error)).to.be.oneOf(unavailableErrors);
      expect(refusals.map(({ code }) => code)).to.include(91);
      await database.stores.restart('database');
      expect(await c.findOne({ _id: 1 })).to.include({ _id: 1 });
      await c.insertOne({ _id: 2 });
    } finally {
      await database.close();
    }
  });

  it('listens without Postgres, and fails 50 waiting commands in time', async () => {
    const gateway = await startWireGateway({ socketDir: '/nonexistent' });
    const connection = await mongoose.createConnection(gateway.url, { dbName: 'test', maxPoolSize: 50, retryReads: false }).asPromise();
    try {
      const started = Date.now();
      const results = await atOnce(50, () => connection.collection<Doc>('x').insertOne({ _id: 1 }));
      expect(Date.now() - started).to.be.lessThan(15_000);
      expect(results.filter(({ status }) => status === 'fulfilled')).to.have.length(0);
    } finally {
      await connection.close();
      await gateway.close();
    }
  });

  it('fails 80 waiting commands in time when Postgres accepts connections but does not respond', async () => {
    const database = await openDatabase({ supervise: false });
    const gateway = await startWireGateway({ socketDir: database.socketDir });
    const connection = await mongoose.createConnection(gateway.url, { dbName: 'test', maxPoolSize: 80, retryReads: false }).asPromise();
    const { postgres } = database.stores.processes;
    if (!postgres) throw new Error('no postgres');
    const c = connection.collection<Doc>('x');
    try {
      process.kill(postgres, 'SIGSTOP');
      const started = Date.now();
      const results = await atOnce(80, (n) => c.insertOne({ _id: n }));
      expect(Date.now() - started).to.be.lessThan(15_000);
      for (const result of results) expect(result.status === 'rejected' && codeOf(result.reason as Error)).to.be.oneOf(unavailableErrors);
      process.kill(postgres, 'SIGCONT');
      // Postgres first works through what it was sent, and the gateway's connections to it time out meanwhile.
      await waitUntil(
        () =>
          c.insertOne({ _id: 'back' }).then(
            () => true,
            (error: { code?: unknown }) => error.code === 11000,
          ),
        'the database works again',
      );
    } finally {
      process.kill(postgres, 'SIGCONT');
      await connection.close();
      await gateway.close();
      await database.close();
    }
  });

  for (const [what, delay] of [
    ['Postgres accepts no new connections', (postgres: number) => process.kill(postgres, 'SIGSTOP')],
    ['the gateway stood still while connections were opened', () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_200)],
  ] as const)
    it(`runs 40 commands although ${what}`, async () => {
      const database = await openDatabase({ supervise: false });
      const gateway = await startWireGateway({ socketDir: database.socketDir });
      const connection = await mongoose.createConnection(gateway.url, { dbName: 'test', minPoolSize: 40 }).asPromise();
      const { postgres } = database.stores.processes;
      if (!postgres) throw new Error('no postgres');
      const c = connection.collection<Doc>('x');
      try {
        await c.insertOne({ _id: 'first' });
        const inserts = atOnce(40, (n) => c.insertOne({ _id: n }));
        await pause(10); // until the gateway opens connections
        delay(postgres);
        expect((await inserts).filter(({ status }) => status === 'rejected')).to.deep.equal([]);
      } finally {
        process.kill(postgres, 'SIGCONT');
        await connection.close();
        await gateway.close();
        await database.close();
      }
    });

  it('survives the loss of all connections to Postgres, in use or idle', async () => {
    const database = await openDatabase();
    const c = database.fresh();
    const postgres = await PostgresConnection.open(database.socketDir);
    const text = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
    try {
      for (let round = 0; round < 10; round++) {
        const load = atOnce(40, (n) => c.insertOne({ _id: `${round} ${n}` }));
        if (round % 2) await load;
        await postgres.query({ name: 'terminate', text }, []);
        for (const result of await load)
          if (result.status === 'rejected') expect(codeOf(result.reason as Error)).to.be.oneOf(unavailableErrors);
        // A connection may be found broken only when it is used.
        while ((await c.insertOne({ _id: `after ${round}` }).catch((error: Error) => error)) instanceof Error);
        expect((await atOnce(24, () => c.findOne({ _id: 1 }))).map(({ status }) => status)).to.include('fulfilled');
      }
      const results = await atOnce(60, () => c.countDocuments());
      expect(results.filter(({ status }) => status === 'rejected')).to.deep.equal([]);
    } finally {
      postgres.destroy();
      await database.close();
    }
  });
});
