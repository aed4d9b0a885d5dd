import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import mongoose from 'mongoose';
import { type Stores, startStores } from '../../apps/local/stores.ts';

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));

/** Sends one command to Redis and returns the raw response. */
async function redis(url: string, ...words: string[]): Promise<string> {
  const { port, password } = new URL(url);
  const socket = connect(Number(port), '127.0.0.1');
  socket.write(`AUTH ${password}\r\n`);
  await once(socket, 'data');
  socket.write(`*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`);
  const [data] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  return data.toString().trim();
}

describe('local stores', () => {
  let dataDir: string;
  let stores: Stores;
  before(async () => {
    process.env.PARLANCE_MONGO = 'documentdb';
    dataDir = await mkdtemp(join(tmpdir(), 'parlance-kill-'));
    stores = await startStores({ dataDir, durable: true, own: true });
  });
  after(async () => {
    await stores.close();
    await rm(dataDir, { recursive: true, force: true });
  });

  it('lose no acknowledged write when PostgreSQL is killed twice and the gateway once under load', async () => {
    const url = stores.mongodbUrl;
    const connection = await mongoose.createConnection(url, { dbName: 'ledger', maxPoolSize: 8 }).asPromise();
    const c = connection.collection<{ _id: number }>('writes');
    const acknowledged: number[] = [];
    let next = 0;
    let isOver = false;
    const writers = Array.from({ length: 8 }, async () => {
      while (!isOver) {
        const _id = next++;
        await c.insertOne({ _id }, { writeConcern: { w: 'majority', j: true } }).then(
          () => acknowledged.push(_id),
          () => pause(5),
        );
      }
    });
    for (const name of ['postgres', 'gateway', 'postgres'] as const) {
      const target = acknowledged.length + 300;
      while (acknowledged.length < target) await pause(5);
      const pid = stores.processes[name];
      if (!pid) throw new Error(`no ${name}`);
      process.kill(pid, 'SIGKILL');
      while (stores.processes[name] === pid) await pause(5); // the exit is noticed a moment later
      await stores.restart('database');
    }
    isOver = true;
    await Promise.all(writers);
    const stored = new Set((await c.find().toArray()).map(({ _id }) => _id));
    expect(acknowledged.filter((id) => !stored.has(id))).to.deep.equal([]);
    expect(acknowledged.length).to.be.greaterThan(900);
    expect(stores.mongodbUrl).to.equal(url);
    await connection.close();
  }).timeout(180_000);

  it('restart Redis at the same address with the data of its append-only file', async () => {
    expect(await redis(stores.redisUrl, 'SET', 'kept', 'yes')).to.equal('+OK');
    expect(await redis(stores.redisUrl, 'WAITAOF', '1', '0', '5000')).to.match(/^\*2/);
    const { redis: pid } = stores.processes;
    if (!pid) throw new Error('no redis');
    process.kill(pid, 'SIGKILL');
    while (stores.processes.redis === pid || !stores.processes.redis) await pause(10);
    await stores.restart('redis');
    expect(await redis(stores.redisUrl, 'GET', 'kept')).to.match(/yes$/);
  });

  it('configure Redis as the queues require', async () => {
    for (const [name, value] of [
      ['maxmemory-policy', 'noeviction'],
      ['appendonly', 'yes'],
      ['appendfsync', 'everysec'],
      ['bind', '127.0.0.1'],
    ] as const)
      expect((await redis(stores.redisUrl, 'CONFIG', 'GET', name)).split('\r\n').at(-1)).to.equal(value);
  });

  it('keep the data for the next start', async () => {
    const before = await mongoose.createConnection(stores.mongodbUrl, { dbName: 'ledger' }).asPromise();
    await before.collection<{ _id: string }>('kept').insertOne({ _id: 'x' });
    await before.close();
    await stores.close();
    stores = await startStores({ dataDir, durable: true, own: true });
    const connection = await mongoose.createConnection(stores.mongodbUrl, { dbName: 'ledger' }).asPromise();
    expect(await connection.collection('kept').countDocuments()).to.equal(1);
    expect(await redis(stores.redisUrl, 'GET', 'kept')).to.match(/yes$/);
    await connection.close();
  });
});
