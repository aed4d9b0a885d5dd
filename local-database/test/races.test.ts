import { expect } from 'chai';
import { atOnce, openDatabase, type TestDatabase } from './database.ts';

const fulfilled = (results: PromiseSettledResult<unknown>[]) => results.filter(({ status }) => status === 'fulfilled').length;

describe('concurrent writes', () => {
  let database: TestDatabase;
  before(async () => {
    database = await openDatabase();
  });
  after(() => database.close());

  it('60 conditional updates with a cap of 20: exactly 20 succeed', async () => {
    for (let round = 0; round < 5; round++) {
      const c = database.fresh();
      await c.insertOne({ _id: 1, members: [] });
      const results = await atOnce(60, (n) =>
        c.updateOne({ _id: 1, 'members.19': { $exists: false } }, { $push: { members: n } } as never),
      );
      const won = results.filter((result) => result.status === 'fulfilled' && result.value.modifiedCount === 1);
      expect(fulfilled(results)).to.equal(60);
      expect(won).to.have.length(20);
      expect((await c.findOne({ _id: 1 }))?.members).to.have.length(20);
    }
  });

  it('30 state changes with $$NOW in filter and pipeline: exactly one succeeds', async () => {
    const c = database.fresh();
    await c.insertOne({ _id: 1, state: 'open', due: new Date(Date.now() + 60_000) });
    const results = await atOnce(30, (n) =>
      c.findOneAndUpdate({ _id: 1, state: 'open', $expr: { $gt: ['$due', '$$NOW'] } }, [{ $set: { state: 'done', by: n, at: '$$NOW' } }], {
        returnDocument: 'after',
      }),
    );
    const winners = results.flatMap((result) => (result.status === 'fulfilled' && result.value ? [result.value.by] : []));
    expect(winners).to.have.length(1);
    expect((await c.findOne({ _id: 1 }))?.by).to.equal(winners[0]);
  });

  it('60 increments of one document: none is lost', async () => {
    const c = database.fresh();
    await c.insertOne({ _id: 1, n: 0 });
    await atOnce(60, () => c.findOneAndUpdate({ _id: 1 }, { $inc: { n: 1 } }));
    expect((await c.findOne({ _id: 1 }))?.n).to.equal(60);
  });

  it('50 inserts of one unique value: one succeeds, 49 fail with E11000', async () => {
    const c = database.fresh();
    await c.createIndex({ name: 1 }, { unique: true });
    const results = await atOnce(50, (n) => c.insertOne({ _id: n, name: 'same' }));
    expect(fulfilled(results)).to.equal(1);
    for (const result of results) if (result.status === 'rejected') expect(result.reason).to.include({ code: 11000 });
    expect(await c.countDocuments()).to.equal(1);
  });

  const upserts: [what: string, upsert: (c: ReturnType<TestDatabase['fresh']>, n: number) => Promise<unknown>][] = [
    ['updateOne', (c) => c.updateOne({ name: 'same' }, { $inc: { n: 1 } }, { upsert: true })],
    ['findOneAndUpdate', (c) => c.findOneAndUpdate({ name: 'same' }, { $inc: { n: 1 } }, { upsert: true })],
    [
      'ordered bulkWrite',
      (c) =>
        c.bulkWrite([
          { updateOne: { filter: { name: 'same' }, update: { $inc: { n: 1 } }, upsert: true } },
          { updateOne: { filter: { name: 'other' }, update: { $inc: { n: 1 } }, upsert: true } },
        ]),
    ],
    [
      'unordered bulkWrite',
      (c) =>
        c.bulkWrite(
          [
            { updateOne: { filter: { name: 'same' }, update: { $inc: { n: 1 } }, upsert: true } },
            { updateOne: { filter: { name: 'other' }, update: { $inc: { n: 1 } }, upsert: true } },
          ],
          { ordered: false },
        ),
    ],
  ];
  for (const [what, upsert] of upserts)
    it(`50 upserts of one unique value by ${what}: one document, no error, none lost`, async () => {
      for (let round = 0; round < 5; round++) {
        const c = database.fresh();
        await c.createIndex({ name: 1 }, { unique: true });
        const results = await atOnce(50, (n) => upsert(c, n));
        expect(results.flatMap((result) => (result.status === 'rejected' ? [String(result.reason)] : []))).to.deep.equal([]);
        for (const document of await c.find().toArray()) expect(document.n).to.equal(50);
      }
    });

  const deletes: [what: string, remove: (c: ReturnType<TestDatabase['fresh']>, key: number) => Promise<number>][] = [
    ['deleteOne', async (c, key) => (await c.deleteOne({ _id: key })).deletedCount],
    ['deleteOne by another field', async (c, key) => (await c.deleteOne({ key })).deletedCount],
    ['deleteMany', async (c, key) => (await c.deleteMany({ key })).deletedCount],
    ['findOneAndDelete', async (c, key) => ((await c.findOneAndDelete({ _id: key, key })) ? 1 : 0)],
  ];
  for (const [what, remove] of deletes)
    it(`${what} deletes a document during updates of it, and nothing afterwards`, async () => {
      const c = database.fresh();
      for (let key = 0; key < 8; key++) {
        await c.insertOne({ _id: key, key, n: 0 });
        const updates = atOnce(8, () => c.updateOne({ _id: key }, { $inc: { n: 1 } }));
        const [first] = await Promise.all([remove(c, key), updates]);
        expect([first, await remove(c, key)]).to.deep.equal([1, 0]);
        expect(await c.countDocuments({ key })).to.equal(0);
      }
    });

  it('40 bulk writes that lock two documents in opposite order all succeed', async () => {
    const c = database.fresh();
    await c.insertMany([
      { _id: 1, n: 0 },
      { _id: 2, n: 0 },
    ]);
    const step = (id: number) => ({ updateOne: { filter: { _id: id }, update: { $inc: { n: 1 } } } });
    const results = await atOnce(40, (n) => c.bulkWrite(n % 2 ? [step(1), step(2)] : [step(2), step(1)]));
    expect(results.flatMap((result) => (result.status === 'rejected' ? [String(result.reason)] : []))).to.deep.equal([]);
    expect(await c.distinct('n')).to.deep.equal([40]);
  });
});
