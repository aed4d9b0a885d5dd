import { once } from 'node:events';
import type { Socket } from 'node:net';
import { expect } from 'chai';
import type { mongo } from 'mongoose';
import { createLog } from '../../lib/base/log.ts';
import { type Database, isUnavailable, openDatabase } from '../../lib/store/mongo/database.ts';
import { testConfig } from '../harness/stores.ts';

/** What the driver holds inside: its connections, of which a test needs the sockets. */
interface Inside {
  topology: { s: { servers: Map<string, { pool: { connections: Iterable<Held> }; monitor: { connection: Held } }> } };
}
interface Held {
  socket: Socket;
}

describe('the database driver, when the other end has just closed a connection', function () {
  this.timeout(30_000);
  let db: Database;
  let client: mongo.MongoClient;
  let inside: Inside['topology']['s']['servers'] extends Map<string, infer Server> ? Server : never;
  before(async () => {
    db = await openDatabase(testConfig(), createLog('test', 'silent'));
    client = db.meta.db.getClient();
    const [server] = (client as unknown as Inside).topology.s.servers.values();
    inside = server ?? expect.fail('no server');
  });
  after(() => db.close());

  it('ends a command that is written before the close is known, as the database is unavailable', async () => {
    await Promise.all(Array.from({ length: 4 }, () => db.probe())); // so that there are connections
    for (const { socket } of inside.pool.connections) socket.destroy();
    const fault = await db.probe().then(
      () => null,
      (error: unknown) => error,
    );
    expect(isUnavailable(fault), String(fault)).to.equal(true);
    await db.probe();
  });

  it('goes on with its health checks', async () => {
    const failed = once(client, 'serverHeartbeatFailed');
    client.once('serverHeartbeatStarted', () => inside.monitor.connection.socket.destroy());
    await failed;
    await once(client, 'serverHeartbeatSucceeded');
  });
});
