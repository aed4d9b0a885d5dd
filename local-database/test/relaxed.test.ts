import { expect } from 'chai';
import { PostgresConnection } from '../postgres/connection.ts';
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

describe('write concern', () => {
  let database: TestDatabase;
  let postgres: PostgresConnection;
  const query = async (text: string): Promise<unknown> => (await postgres.query({ name: text, text }, []))[0]?.[0];
  /** How many of ten writes were acknowledged before anything of their log was flushed to disk. */
  const countUnflushed = async (write: Write, concern: Concern | undefined) => {
    const c = database.fresh();
    await c.insertMany([{ _id: 1, n: 0 }, ...Array.from({ length: attempts }, (_, n) => ({ _id: `old ${n}` }))]);
    let count = 0;
    for (let n = 0; n < attempts; n++) {
      const end = String(await query('SELECT pg_current_wal_insert_lsn()'));
      await write(c, concern, n);
      if (await query(`SELECT pg_current_wal_flush_lsn() <= '${end}'::pg_lsn`)) count++;
    }
    return count;
  };

  before(async () => {
    database = await openDatabase({ durable: true, supervise: false });
    postgres = await PostgresConnection.open(database.socketDir);
    // Otherwise the server flushes its log every 200 ms.
    await query("ALTER SYSTEM SET wal_writer_delay = '10s'");
    await query('SELECT pg_reload_conf()');
    while ((await query("SELECT current_setting('wal_writer_delay')")) !== '10s');
  });
  after(async () => {
    postgres.destroy();
    await database.close();
  });

  for (const [what, write] of writes) {
    it(`acknowledges ${what} with { w: 1, j: false } before it is flushed`, async () => {
      // Background processes of the server may flush the log at any time.
      expect(await countUnflushed(write, relaxed)).to.be.greaterThan(attempts / 2);
    });

    for (const [how, concern] of durable)
      it(`flushes ${what} with ${how} before it is acknowledged`, async () => {
        expect(await countUnflushed(write, concern)).to.equal(0);
      });
  }

  it('makes unflushed writes visible to all connections at once, in order', async () => {
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

  it('keeps unflushed writes that a durable write followed when Postgres is killed', async () => {
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
