import { once } from 'node:events';
import type { Socket } from 'node:net';
import { expect } from 'chai';
import { mongo } from 'mongoose';
import { createLog } from '../../lib/base/log.ts';
import { type Database, isUnavailable, openDatabase } from '../../lib/store/mongo/database.ts';
import { WaitQueueTimeoutError } from '../../lib/store/mongo/driver.ts';
import { testConfig } from '../harness/stores.ts';

/** The internal state of the driver that leads to the sockets of its connections. */
interface ClientInternals {
  topology: {
    s: { servers: Map<string, { pool: { connections: Iterable<DriverConnection> }; monitor: { connection: DriverConnection } }> };
  };
}
interface DriverConnection {
  socket: Socket;
}

describe('database driver: a connection closed by the server', () => {
  let db: Database;
  let client: mongo.MongoClient;
  let internals: ClientInternals['topology']['s']['servers'] extends Map<string, infer Server> ? Server : never;
  before(async () => {
    db = await openDatabase(testConfig(), createLog('test', 'silent'));
    client = db.meta.db.client;
    const [server] = (client as unknown as ClientInternals).topology.s.servers.values();
    internals = server ?? expect.fail('no server');
  });
  after(() => db.close());

  it('reports the database as unavailable for a command written before the close was noticed', async () => {
    await Promise.all(Array.from({ length: 4 }, () => db.checkWritable())); // opens connections
    for (const { socket } of internals.pool.connections) socket.destroy();
    const failure = await db.checkWritable().then(
      () => null,
      (error: unknown) => error,
    );
    expect(isUnavailable(failure), String(failure)).to.equal(true);
    await db.checkWritable();
  });

  it('continues its health checks', async () => {
    const failed = once(client, 'serverHeartbeatFailed');
    client.once('serverHeartbeatStarted', () => internals.monitor.connection.socket.destroy());
    await failed;
    await once(client, 'serverHeartbeatSucceeded');
  });
});

describe('openDatabase', () => {
  it('makes each write wait until the majority has it in its journal', async () => {
    const db = await openDatabase(testConfig(), createLog('test', 'silent'));
    await db.close();
    for (const { writeConcern } of [db.messages, db.accounts, db.interactions])
      expect(writeConcern).to.include({ w: 'majority', journal: true });
  });
});

describe('database driver: no connection is free in time', () => {
  it('reports the database as unavailable', async () => {
    const client = new mongo.MongoClient(testConfig().MONGODB_URL, { maxPoolSize: 1, waitQueueTimeoutMS: 1 });
    const pingAtOnce = () => Promise.all(Array.from({ length: 200 }, () => client.db().command({ ping: 1 })));
    const failure = await client
      .connect()
      .then(pingAtOnce)
      .then(
        () => null,
        (error: unknown) => error,
      );
    await client.close();
    expect(failure).to.be.instanceOf(WaitQueueTimeoutError);
    expect(isUnavailable(failure)).to.equal(true);
  });
});
