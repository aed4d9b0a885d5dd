import { expect } from 'chai';
import mongoose, { mongo } from 'mongoose';
import { isUnavailable } from '../../lib/store/mongo/database.ts';
import { WaitQueueTimeoutError } from '../../lib/store/mongo/driver.ts';
import { insertMissing, insertNew } from '../../lib/store/mongo/insert.ts';

/** A model whose inserts fail with these codes in turn. */
const failingModel = (...codes: number[]) => {
  const left = [...codes];
  const insertOne = async (): Promise<void> => {
    const code = left.shift();
    if (code !== undefined) throw Object.assign(new Error('deadlock detected'), { code });
  };
  return { model: { insertOne } as never, left };
};

describe('insertNew', () => {
  it('retries after a deadlock', async () => {
    const { model, left } = failingModel(112, 112);
    expect(await insertNew(model, { _id: 'a' })).to.equal(true);
    expect(left).to.deep.equal([]);
  });

  it('returns false when another document has the same id after a deadlock', async () => {
    expect(await insertNew(failingModel(112, 11000).model, { _id: 'a' })).to.equal(false);
  });

  it('fails as unavailable after ten attempts', async () => {
    const { model, left } = failingModel(...Array.from({ length: 11 }, () => 112));
    const error = await insertNew(model, { _id: 'a' }).catch((reason: unknown) => reason);
    expect(isUnavailable(error)).to.equal(true);
    expect(left).to.have.length(1);
  });
});

describe('insertMissing', () => {
  const duplicate = { code: 11000 };
  const insertWith = (fields: object): Promise<boolean> => {
    const result = { getWriteConcernError: () => undefined } as mongo.BulkWriteResult;
    const error = Object.assign(new mongo.MongoBulkWriteError({ message: 'the insert failed', code: 0, writeErrors: [] }, result), fields);
    return insertMissing({ insertMany: () => Promise.reject(error) } as never, [{ _id: 'a' }, { _id: 'b' }]);
  };

  it('returns false when a unique index refuses documents', async () => {
    expect(await insertWith({ writeErrors: [duplicate] })).to.equal(false);
    expect(await insertWith({ writeErrors: duplicate })).to.equal(false);
  });

  for (const [what, fields] of [
    ['the database does not answer', {}],
    ['a document is refused for another reason', { writeErrors: [duplicate, { code: 121 }] }],
    ['the majority does not confirm the write', { writeErrors: [duplicate], result: { getWriteConcernError: () => ({ code: 64 }) } }],
  ] as const)
    it(`fails when ${what}`, async () => {
      const error = await insertWith(fields).catch((reason: unknown) => reason);
      expect(error).to.be.an('error').with.property('message', 'the insert failed');
    });
});

const serverError = (code: number) => new mongo.MongoServerError({ message: '', code });

describe('isUnavailable', () => {
  const unavailable: [string, Error][] = [
    ['a network error', new mongo.MongoNetworkError('')],
    ['a timeout of the network', new mongo.MongoNetworkTimeoutError('')],
    ['no server found when connecting', new mongoose.Error.MongooseServerSelectionError('')],
    ['no connection free in time', new WaitQueueTimeoutError('', '')],
    ['a closed topology', new mongo.MongoTopologyClosedError()],
    ['an unconfirmed write', new mongo.MongoWriteConcernError({ ok: 1, writeConcernError: { code: 64, errmsg: '' } })],
    ['an operation that took too long', serverError(50)],
    ['a write conflict', serverError(112)],
    ['a socket closed during a write', Object.assign(new Error(), { code: 'EPIPE', syscall: 'write' })],
  ];
  for (const [what, error] of unavailable) it(`is true for ${what}`, () => expect(isUnavailable(error)).to.equal(true));

  const others: [string, unknown][] = [
    ['a duplicate key', serverError(11000)],
    ['a wrong use of the driver', new mongo.MongoInvalidArgumentError('')],
    ['an error of another class with the same name', Object.assign(new Error(), { name: 'MongoNetworkError' })],
    ['a connection reset while reading', Object.assign(new Error(), { code: 'ECONNRESET', syscall: 'read' })],
    ['null', null],
  ];
  for (const [what, error] of others) it(`is false for ${what}`, () => expect(isUnavailable(error)).to.equal(false));
});
