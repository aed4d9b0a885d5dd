import { serialize } from 'bson';
import { expect } from 'chai';
import { use } from '../../test/harness/use.ts';
import { PostgresConnection } from '../postgres/connection.ts';
import { openDatabase } from './database.ts';

describe('database gateway: indexes of a collection with documents', () => {
  const database = use(() => openDatabase());

  const fill = async (count: number) => {
    const collection = database.fresh();
    for (let start = 0; start < count; start += 5_000)
      await collection.insertMany(Array.from({ length: 5_000 }, (_, n) => ({ _id: start + n, a: n, b: 'x'.repeat(100) })));
    return collection;
  };

  it('are built while documents are written', async () => {
    const collection = await fill(50_000);
    let isBuilt = false;
    const built = collection.createIndex({ b: 1, a: 1 }).finally(() => {
      isBuilt = true;
    });
    let written = 0;
    for (; !isBuilt; written++) await collection.insertOne({ _id: `${written}`, a: 1 });
    expect(await built).to.equal('b_1_a_1');
    expect(await collection.createIndex({ b: 1, a: 1 }), 'nothing to do').to.equal('b_1_a_1');
    // A build that blocks writes lets one through at most: the one that was there first.
    expect(written).to.be.greaterThan(5);
    expect(await collection.countDocuments({ a: 1, b: { $exists: false } }, { hint: 'b_1_a_1' })).to.equal(written);
  });

  it('are refused over duplicates, and can be built once these are gone', async () => {
    const collection = await fill(10_000);
    const build = () => collection.createIndex({ a: 1 }, { unique: true });
    const error = await build().catch((reason: { code?: number }) => reason);
    expect(error).to.include({ code: 11000 });
    expect(await collection.indexExists('a_1')).to.equal(false);
    await collection.deleteMany({ _id: { $gte: 5_000 } });
    expect(await build()).to.equal('a_1');
    expect(await collection.insertOne({ _id: 'new', a: 1 }).catch(({ code }: { code?: number }) => code)).to.equal(11000);
  });

  it('are refused with other options than those of an index that exists', async () => {
    const collection = await fill(5_000);
    await collection.createIndex({ a: 1 });
    const error = await collection.createIndex({ a: 1 }, { unique: true }).catch((reason: { code?: number }) => reason);
    expect(error).to.have.property('code').that.is.oneOf([85, 86]);
  });

  it('are finished by the next createIndexes after a build that was interrupted', async () => {
    const collection = await fill(5_000);
    const spec = { createIndexes: collection.collectionName, indexes: [{ key: { a: 1 }, name: 'a_1' }] };
    const postgres = await PostgresConnection.open(database.socketDir);
    const text = 'SELECT ok FROM documentdb_api.create_indexes_background($1, $2)';
    await postgres.query({ name: 'request', text }, ['test', Buffer.from(serialize(spec))]);
    postgres.destroy();
    expect(await collection.createIndex({ a: 1 })).to.equal('a_1');
    expect(await collection.countDocuments({ a: 7 }, { hint: 'a_1' })).to.equal(1);
  });
});
