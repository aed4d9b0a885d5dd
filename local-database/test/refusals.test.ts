import { expect } from 'chai';
import { fromSqlState, toCommandError, unpackSqlState } from '../errors.ts';
import { PostgresUnavailable } from '../postgres/connection.ts';
import { openDatabase, refusal, type TestDatabase } from './database.ts';

describe('errors of the gateway', () => {
  const rows: [sqlState: string, code: number, name: string][] = [
    ['23505', 11000, 'DuplicateKey'],
    ['23P01', 11000, 'DuplicateKey'],
    ['M001C', 11000, 'DuplicateKey'],
    ['40001', 112, 'WriteConflict'],
    ['40P01', 112, 'WriteConflict'],
    ['42P01', 26, 'NamespaceNotFound'],
    ['57014', 50, 'MaxTimeMSExpired'],
    ['0A000', 115, 'CommandNotSupported'],
    ['57P01', 91, 'ShutdownInProgress'],
    ['57P03', 91, 'ShutdownInProgress'],
    ['XX000', 1, 'InternalError'],
    ['M0ZZZ', 2, 'BadValue'],
  ];
  for (const [sqlState, code, codeName] of rows)
    it(`convert SQLSTATE ${sqlState} to ${code} ${codeName}`, () => expect(fromSqlState(sqlState, 'text')).to.include({ code, codeName }));

  it('unpack a packed SQLSTATE, but not a plain code', () => {
    const packed = '23P01'.split('').reduceRight((code, char) => (code << 6) | (char.charCodeAt(0) - 48), 0);
    expect(unpackSqlState(packed)).to.equal('23P01');
    expect(unpackSqlState(11000)).to.equal(undefined);
  });

  it('use code 91 for an unavailable database', () => {
    expect(toCommandError(new PostgresUnavailable('x')).toReply()).to.include({ ok: 0, code: 91, codeName: 'ShutdownInProgress' });
  });

  describe('of commands', () => {
    let database: TestDatabase;
    before(async () => {
      database = await openDatabase();
    });
    after(() => database.close());

    it('E11000 has collection, index, keyPattern and keyValue for insert, update, findAndModify, bulk and _id', async () => {
      const c = database.fresh();
      await c.createIndex({ serverId: 1, 'user.name': 1 }, { unique: true, name: 'one_name' });
      await c.insertMany([
        { _id: 1, serverId: 's', user: { name: 'a' } },
        { _id: 2, serverId: 's', user: { name: 'b' } },
      ]);
      const expected = {
        code: 11000,
        message: `E11000 duplicate key error collection: test.${c.collectionName} index: one_name dup key: { serverId: "s", user.name: "a" }`,
      };
      const pattern = { keyPattern: { serverId: 1, 'user.name': 1 }, keyValue: { serverId: 's', 'user.name': 'a' } };
      const refusals = [
        await refusal(c.insertOne({ _id: 3, serverId: 's', user: { name: 'a' } })),
        await refusal(c.updateOne({ _id: 2, serverId: 's' }, { $set: { 'user.name': 'a' } })),
        await refusal(c.findOneAndUpdate({ _id: 2, serverId: 's' }, { $set: { 'user.name': 'a' } })),
      ];
      for (const error of refusals) {
        expect(error).to.include(expected);
        expect(error).to.deep.include(pattern);
      }
      expect(await refusal(c.insertOne({ _id: 1 }))).to.deep.include({ code: 11000, keyPattern: { _id: 1 }, keyValue: { _id: 1 } });
      const bulk = await refusal(c.insertMany([{ _id: 9, serverId: 'x' }, { _id: 1 }, { _id: 10, serverId: 'y' }], { ordered: false }));
      expect(bulk).to.include({ code: 11000, insertedCount: 2 });
      expect((bulk.writeErrors as { index: number; code: number }[]).map(({ index, code }) => [index, code])).to.deep.equal([[1, 11000]]);
      expect(await c.countDocuments()).to.equal(4);
    });

    it('an upsert with a duplicate value fails and is not retried forever', async () => {
      const c = database.fresh();
      await c.createIndex({ name: 1 }, { unique: true });
      await c.insertOne({ _id: 1, name: 'a' });
      expect(await refusal(c.updateOne({ _id: 2 }, { $set: { name: 'a' } }, { upsert: true }))).to.include({ code: 11000 });
      expect(await refusal(c.findOneAndUpdate({ _id: 2 }, { $set: { name: 'a' } }, { upsert: true }))).to.include({ code: 11000 });
    });

    it('maxTimeMS stops only its own command', async () => {
      const c = database.fresh();
      await c.insertMany(Array.from({ length: 2000 }, (_, n) => ({ _id: n, text: `${n}`.repeat(50) })));
      const slow = [
        {
          $lookup: {
            from: c.collectionName,
            let: { t: '$text' },
            pipeline: [{ $match: { $expr: { $gt: ['$text', '$$t'] } } }, { $count: 'n' }],
            as: 'more',
          },
        },
      ];
      expect(await refusal(c.aggregate(slow, { maxTimeMS: 30 }).toArray())).to.include({ code: 50, codeName: 'MaxTimeMSExpired' });
      const next = await Promise.all(Array.from({ length: 30 }, () => c.aggregate([{ $limit: 20 }, ...slow]).toArray()));
      expect(next).to.have.length(30);
    });

    it('unknown commands, invalid updates and unknown cursors have the codes of MongoDB', async () => {
      const c = database.fresh();
      await c.insertOne({ _id: 1, a: 'text' });
      expect(await refusal(database.connection.db?.command({ nope: 1 }) ?? Promise.resolve())).to.include({
        code: 59,
        codeName: 'CommandNotFound',
      });
      expect(await refusal(c.updateOne({ _id: 1 }, { $inc: { a: 1 } }))).to.include({ code: 14 });
      expect(await refusal(c.updateOne({ _id: 1 }, { $set: { _id: 2 } }))).to.include({ code: 66 });
      expect(await refusal(database.connection.db?.command({ getMore: 5n, collection: 'x' }) ?? Promise.resolve())).to.include({
        code: 43,
        codeName: 'CursorNotFound',
      });
    });

    it('an index with a used name, or a unique one over duplicates, is refused', async () => {
      const c = database.fresh();
      await c.createIndex({ a: 1 }, { name: 'x' });
      expect(await refusal(c.createIndex({ b: 1 }, { name: 'x' }))).to.include({ code: 86 });
      await c.insertMany([
        { _id: 1, u: 1 },
        { _id: 2, u: 1 },
      ]);
      expect(await refusal(c.createIndex({ u: 1 }, { unique: true }))).to.include({ code: 11000 });
    });
  });
});
