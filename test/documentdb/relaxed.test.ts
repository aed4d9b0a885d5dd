import { expect } from 'chai';
import { PostgresConnection } from '../../apps/local/documentdb/postgres/connection.ts';
import { openDatabase, type TestDatabase } from './database.ts';

type Collection = ReturnType<TestDatabase['fresh']>;
type Concern = { w?: number | 'majority'; j?: boolean };
type Write = (c: Collection, writeConcern: Concern | undefined, n: number) => Promise<unknown>;

const optionsOf = (writeConcern: Concern | undefined) => (writeConcern ? { writeConcern } : {});
const writes: [what: string, write: Write][] = [
  ['insert', (c, w, n) => c.insertOne({ _id: `new ${n}` }, optionsOf(w))],
  ['update', (c, w) => c.updateOne({ _id: 1 }, { $inc: { n: 1 } }, optionsOf(w))],
  ['delete', (c, w, n) => c.deleteOne({ _id: `old ${n}` }, optionsOf(w))],
  ['findAndModify', (c, w) => c.findOneAndUpdate({ _id: 1 }, { $inc: { n: 1 } }, optionsOf(w))],
];
const relaxed: Concern = { w: 1, j: false };
const durable: [what: string, concern: Concern | undefined][] = [
  ['no writeConcern', undefined],
  ['w: majority', { w: 'majority' }],
  ['w: majority, j: true', { w: 'majority', j: true }],
  ['w: majority, j: false', { w: 'majority', j: false }],
  ['w: 1', { w: 1 }],
  ['w: 1, j: true', { w: 1, j: true }],
  ['j: false', { j: false }],
];
const attempts = 10;

describe('writes that need not wait for the disk', () => {
  let database: TestDatabase;
  let postgres: PostgresConnection;
  const ask = async (text: string): Promise<unknown> => (await postgres.query({ name: text, text }, []))[0]?.[0];
  /** How many of ten such writes were acknowledged while the disk had nothing of the log from where it ended before the write. */
  const unflushed = async (write: Write, concern: Concern | undefined) => {
    const c = database.fresh();
    await c.insertMany([{ _id: 1, n: 0 }, ...Array.from({ length: attempts }, (_, n) => ({ _id: `old ${n}` }))]);
    let count = 0;
    for (let n = 0; n < attempts; n++) {
      const end = String(await ask('SELECT pg_current_wal_insert_lsn()'));
      await write(c, concern, n);
      if (await ask(`SELECT pg_current_wal_flush_lsn() <= '${end}'::pg_lsn`)) count++;
    }
    return count;
  };

  before(async () => {
    database = await openDatabase({ durable: true, supervise: false });
    postgres = await PostgresConnection.open(database.socketDir);
    // Else the server itself flushes every 200 ms what nobody waits for.
    await ask("ALTER SYSTEM SET wal_writer_delay = '10s'");
    await ask('SELECT pg_reload_conf()');
    while ((await ask("SELECT current_setting('wal_writer_delay')")) !== '10s');
  });
  after(async () => {
    postgres.destroy();
    await database.close();
  });

  for (const [what, write] of writes) {
    it(`${what} with { w: 1, j: false } is acknowledged before it is flushed`, async () => {
      // Housekeeping of the server may flush the log at any time.
      expect(await unflushed(write, relaxed)).to.be.greaterThan(attempts / 2);
    });

    for (const [how, concern] of durable)
      it(`${what} with ${how} is flushed when it is acknowledged`, async () => {
        expect(await unflushed(write, concern)).to.equal(0);
      });
  }

  it('are seen at once by every other connection, and ordered with their writes', async () => {
    const c = database.fresh();
    await c.insertOne({ _id: 1, n: 0 });
    for (let n = 1; n <= 100; n++) {
      await c.updateOne({ _id: 1 }, { $inc: { n: 1 } }, optionsOf(n % 2 ? relaxed : undefined));
      const seen = await Promise.all(Array.from({ length: 5 }, () => c.findOne({ _id: 1 })));
      expect(seen.map((document) => document?.n)).to.deep.equal([n, n, n, n, n]);
    }
    const counts = await Promise.all(
      Array.from({ length: 60 }, (_, n) => c.updateOne({ _id: 1 }, { $inc: { n: 1 } }, optionsOf(n % 2 ? relaxed : undefined))),
    );
    expect(counts.every(({ modifiedCount }) => modifiedCount === 1)).to.equal(true);
    expect((await c.findOne({ _id: 1 }))?.n).to.equal(160);
  });

  it('a transaction is flushed at its commit, whatever it says', async () => {
    const inTransaction: Write = (c, writeConcern, n) =>
      database.connection.transaction((session) => c.insertOne({ _id: `new ${n}` }, { session }), optionsOf(writeConcern));
    expect(await unflushed(inTransaction, relaxed)).to.equal(0);
  });

  it('are kept through a kill of Postgres once a durable write followed', async () => {
    const c = database.fresh();
    for (let n = 0; n < 300; n++) await c.insertOne({ _id: n }, { writeConcern: relaxed });
    await c.insertOne({ _id: 'durable' });
    for (let n = 300; n < 400; n++) await c.insertOne({ _id: n }, { writeConcern: relaxed });
    const { postgres: pid } = database.stores.processes;
    if (!pid) throw new Error('no postgres');
    process.kill(pid, 'SIGKILL');
    await database.stores.restart('database');
    expect(await c.countDocuments({ _id: 'durable' })).to.equal(1);
    expect(await c.countDocuments({ _id: { $lt: 300 } })).to.equal(300);
  });
});
