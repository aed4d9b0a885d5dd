import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { startStores } from '../../apps/local/stores.ts';

const names = ['PATH', 'MONGODB_URL', 'REDIS_URL', 'PARLANCE_MONGO', 'PARLANCE_REDIS', 'PARLANCE_CACHE'] as const;
/** A server that listens on the port its arguments name, as mongod does, or answers PING, as Redis does. */
const imitation = (portFlag: string) => `#!${process.execPath}
const port = Number(process.argv[process.argv.indexOf('${portFlag}') + 1]);
require('node:net').createServer((socket) => socket.on('data', () => socket.write('+PONG\\r\\n'))).listen(port, '127.0.0.1');
process.on('SIGTERM', () => process.exit(0));
`;

describe('the chain of stores', () => {
  let folder: string;
  let saved: Record<string, string | undefined>;
  beforeEach(async () => {
    saved = Object.fromEntries(names.map((name) => [name, process.env[name]]));
    for (const name of names) delete process.env[name];
    folder = await mkdtemp(join(tmpdir(), 'parlance-chain-'));
    process.env.PATH = join(folder, 'bin');
    process.env.PARLANCE_CACHE = join(folder, 'cache');
  });
  afterEach(async () => {
    for (const [name, value] of Object.entries(saved))
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    await rm(folder, { recursive: true, force: true });
  });
  const start = (only: 'mongo' | 'redis') => startStores({ dataDir: join(folder, 'data'), durable: false, only });
  const install = async (program: string, portFlag: string) => {
    process.env.PATH = folder;
    await writeFile(join(folder, program), imitation(portFlag));
    await chmod(join(folder, program), 0o755);
  };
  const refusalOf = (only: 'mongo' | 'redis') =>
    start(only).then(
      () => 'no refusal',
      (error: Error) => error.message,
    );

  it('takes what the environment names, and starts nothing', async () => {
    process.env.MONGODB_URL = 'mongodb://db.example/';
    process.env.REDIS_URL = 'redis://redis.example';
    const stores = await startStores({ dataDir: join(folder, 'data'), durable: false });
    expect(stores).to.include({ mongodbUrl: 'mongodb://db.example/', redisUrl: 'redis://redis.example' });
    expect(stores.processes).to.deep.equal({});
    await stores.restart('database').then(
      () => expect.fail(),
      (error: Error) => expect(error.message).to.match(/not started here/),
    );
    await stores.close();
  });

  it('starts a mongod of the PATH on a free loopback port', async () => {
    await install('mongod', '--port');
    const stores = await start('mongo');
    expect(stores.mongodbUrl).to.match(/^mongodb:\/\/127\.0\.0\.1:\d+\/\?directConnection=true$/);
    expect(Object.keys(stores.processes)).to.deep.equal(['mongod']);
    await stores.close();
    expect(stores.processes).to.deep.equal({});
  });

  for (const program of ['redis-server', 'valkey-server'])
    it(`starts a ${program} of the PATH`, async () => {
      await install(program, '--port');
      const stores = await start('redis');
      expect(stores.redisUrl).to.match(/^redis:\/\/127\.0\.0\.1:\d+$/);
      await stores.close();
    });

  it('names the choices when there is none', async () => {
    process.env.PARLANCE_MONGO = 'documentdb';
    expect(await refusalOf('mongo')).to.match(/MONGODB_URL.*docker compose up.*install mongod/);
    expect(await refusalOf('redis')).to.match(/no redis-server on the PATH.*REDIS_URL.*docker compose up.*install redis-server/);
  });

  it('a forced choice leaves the others out, also the environment’s', async () => {
    process.env.MONGODB_URL = 'mongodb://db.example/';
    process.env.REDIS_URL = 'redis://redis.example';
    process.env.PARLANCE_MONGO = 'mongod';
    process.env.PARLANCE_REDIS = 'path';
    expect(await refusalOf('mongo')).to.match(/^No MongoDB: no mongod on the PATH\. Set/);
    expect(await refusalOf('redis')).to.match(/^No Redis: no redis-server on the PATH\. Set/);
    process.env.PARLANCE_MONGO = 'postgres';
    expect(await refusalOf('mongo')).to.match(/PARLANCE_MONGO is one of mongod, download, documentdb/);
  });

  it('two do not share a data folder; it is free again after close', async () => {
    await install('redis-server', '--port');
    const stores = await start('redis');
    expect(await refusalOf('redis')).to.match(/is in use by another process/);
    await stores.close();
    await (await start('redis')).close();
  });

  it('a program that does not come up is an error with its complaint', async () => {
    process.env.PATH = folder;
    await writeFile(join(folder, 'redis-server'), '#!/bin/sh\necho bad luck >&2\nexit 3\n', { mode: 0o755 });
    process.env.PARLANCE_REDIS = 'path';
    expect(await refusalOf('redis')).to.match(/redis does not come up: bad luck/);
  });
});
