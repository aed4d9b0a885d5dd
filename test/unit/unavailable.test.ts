import { expect } from 'chai';
import mongoose, { mongo } from 'mongoose';
import { isUnavailable } from '../../lib/store/mongo/database.ts';
import { WaitQueueTimeoutError } from '../../lib/store/mongo/driver.ts';

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
  for (const [what, error] of unavailable)
    it(`is true for ${what}`, () => {
      expect(isUnavailable(error)).to.equal(true);
    });

  const others: [string, unknown][] = [
    ['a duplicate key', serverError(11000)],
    ['a wrong use of the driver', new mongo.MongoInvalidArgumentError('')],
    ['an error of another class with the same name', Object.assign(new Error(), { name: 'MongoNetworkError' })],
    ['a connection reset while reading', Object.assign(new Error(), { code: 'ECONNRESET', syscall: 'read' })],
    ['null', null],
  ];
  for (const [what, error] of others)
    it(`is false for ${what}`, () => {
      expect(isUnavailable(error)).to.equal(false);
    });
});
