import { chmod, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { startStores } from '../../apps/local/stores.ts';

const names = ['PATH', 'MONGODB_URL', 'REDIS_URL', 'PARLANCE_MONGO', 'PARLANCE_REDIS', 'PARLANCE_CACHE'] as const;
/** A script that listens at the address in its arguments, as mongod does, and answers AUTH and PING, as Redis does. `--version` prints `version`. */
const fakeServer = (flag: string, version: string) => `#!${process.execPath}
if (process.argv.includes('--version')) {
  console.log(${JSON.stringify(version)});
  process.exit();
}
const at = process.argv[process.argv.indexOf('${flag}') + 1];
require('node:fs').rmSync(at, { force: true });
require('node:net').createServer((socket) => socket.on('data', () => socket.write('+OK\\r\\n+PONG\\r\\n'))).listen(at.startsWith('/') ? at : { port: Number(at), host: '127.0.0.1' });
process.on('SIGTERM', () => process.exit(0));
`;
const versions = {
  mongod: 'db version v7.0.5',
  'redis-server': 'Redis server v=7.2.4 sha=0',
  'valkey-server': 'Valkey server v=8.0.1 sha=0',
};
type Program = keyof typeof versions;

describe('choice of stores', () => {
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
  const install = async (program: Program, version: string = versions[program]) => {
    process.env.PATH = folder;
    await writeFile(join(folder, program), fakeServer(program === 'mongod' ? '--bind_ip' : '--port', version));
    await chmod(join(folder, program), 0o755);
  };
  const errorOf = (only: 'mongo' | 'redis') =>
    start(only).then(
      () => 'no error',
      (error: Error) => error.message,
    );

  it('uses the stores in the environment, and starts none', async () => {
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

  it('starts a mongod of the PATH on a Unix socket in a folder that only its owner can open', async () => {
    await install('mongod');
    const stores = await start('mongo');
    const socket = join(folder, 'data', 'mongod-run', 'mongod.sock');
    expect(stores.mongodbUrl).to.equal(`mongodb://${encodeURIComponent(socket)}/?directConnection=true`);
    expect((await stat(dirname(socket))).mode & 0o777).to.equal(0o700);
    expect(Object.keys(stores.processes)).to.deep.equal(['mongod']);
    await stores.close();
    expect(stores.processes).to.deep.equal({});
  });

  for (const program of ['redis-server', 'valkey-server'] as const)
    it(`starts a ${program} of the PATH`, async () => {
      await install(program);
      const stores = await start('redis');
      const [, password] = /^redis:\/\/:([\w-]{32})@127\.0\.0\.1:\d+$/.exec(stores.redisUrl) ?? [];
      const settings = join(folder, 'data', 'redis', 'redis.conf');
      expect(await readFile(settings, 'utf8')).to.equal(`requirepass ${password}\n`);
      expect((await stat(settings)).mode & 0o777).to.equal(0o600);
      await stores.close();
    });

  it('lists the alternatives when no store is available', async () => {
    process.env.PARLANCE_MONGO = 'documentdb';
    expect(await errorOf('mongo')).to.match(/MONGODB_URL.*docker compose up.*install mongod/);
    expect(await errorOf('redis')).to.match(/no redis-server on the PATH.*REDIS_URL.*docker compose up.*install redis-server/);
  });

  it('ignores all other choices, also the environment, when one is forced', async () => {
    process.env.MONGODB_URL = 'mongodb://db.example/';
    process.env.REDIS_URL = 'redis://redis.example';
    process.env.PARLANCE_MONGO = 'mongod';
    process.env.PARLANCE_REDIS = 'path';
    expect(await errorOf('mongo')).to.match(/^No MongoDB was found: no mongod on the PATH\. Set/);
    expect(await errorOf('redis')).to.match(/^No Redis was found: no redis-server on the PATH\. Set/);
    process.env.PARLANCE_MONGO = 'postgres';
    expect(await errorOf('mongo')).to.match(/PARLANCE_MONGO must be one of mongod, download, documentdb/);
  });

  it('refuses a data folder that another process uses, until it closes', async () => {
    await install('redis-server');
    const stores = await start('redis');
    expect(await errorOf('redis')).to.match(/is in use by another process/);
    await stores.close();
    await (await start('redis')).close();
  });

  it('fails with the error output of a program that does not start', async () => {
    process.env.PATH = folder;
    await writeFile(join(folder, 'redis-server'), '#!/bin/sh\necho bad luck >&2\nexit 3\n', { mode: 0o755 });
    process.env.PARLANCE_REDIS = 'path';
    expect(await errorOf('redis')).to.match(/redis did not start: bad luck/);
  });

  describe('data of an earlier start', () => {
    const stateFile = () => join(folder, 'data', 'stores.json');
    const writeData = async (path: string, text: string) => {
      await mkdir(dirname(join(folder, 'data', path)), { recursive: true });
      await writeFile(join(folder, 'data', path), text);
    };
    beforeEach(() => {
      process.env.PARLANCE_REDIS = 'path';
    });

    it('is recorded in stores.json, readable only by its owner, with its program and version', async () => {
      for (const [only, program] of [
        ['mongo', 'mongod'],
        ['redis', 'redis-server'],
      ] as const) {
        await install(program);
        await (await start(only)).close();
      }
      expect(JSON.parse(await readFile(stateFile(), 'utf8'))).to.deep.equal({
        mongo: { program: 'mongod', version: '7.0.5' },
        redis: { program: 'redis', version: '7.2.4' },
      });
      expect((await stat(stateFile())).mode & 0o777).to.equal(0o600);
    });

    const recordOf = (only: 'mongo' | 'redis', program: string, version: string) => JSON.stringify({ [only]: { program, version } });
    const isDocumentDb = /DocumentDB on PostgreSQL 17, .*MONGODB_URL/;
    type Refusal = [what: string, program: Program, path: string, text: string, message: RegExp, version?: string];
    const refusals: Refusal[] = [
      ['DocumentDB, recorded', 'mongod', 'stores.json', recordOf('mongo', 'documentdb', '17'), isDocumentDb],
      ['DocumentDB, not recorded', 'mongod', 'documentdb/data/PG_VERSION', '17\n', isDocumentDb],
      ['a newer mongod', 'mongod', 'stores.json', recordOf('mongo', 'mongod', '8.0.1'), /mongod 8\.0\.1, .*mongod is version 7\.0\.5/],
      [
        'a newer Redis',
        'redis-server',
        'stores.json',
        recordOf('redis', 'redis', '7.2.10'),
        /Redis 7\.2\.10, .*redis-server is version 7\.2\.4\)\. Install it, set REDIS_URL/,
      ],
      ['Valkey', 'redis-server', 'stores.json', recordOf('redis', 'valkey', '8.0.1'), /Valkey 8\.0\.1, /],
      ['no program', 'redis-server', 'x', '', /6\.0\.16, but 7\.0 or newer is required/, 'Redis server v=6.0.16'],
      ['an unknown program', 'mongod', 'stores.json', '{', /stores\.json is damaged\. Restore it/],
    ];
    for (const [what, program, path, text, message, version] of refusals)
      it(`written by ${what}: a one-line error names the remedy, and stores.json does not change`, async () => {
        await writeData(path, text);
        await install(program, version);
        const error = await errorOf(program === 'mongod' ? 'mongo' : 'redis');
        expect(error).to.match(message).and.not.contain('\n');
        expect(await readFile(stateFile(), 'utf8').catch(() => null)).to.equal(path === 'stores.json' ? text : null);
      });

    it('of mongod and of DocumentDB: PARLANCE_MONGO chooses one, and is needed only once', async () => {
      await writeData('documentdb/data/PG_VERSION', '17\n');
      await writeData('mongod/WiredTiger', 'WiredTiger\n');
      await install('mongod');
      expect(await errorOf('mongo')).to.match(/contains data of both mongod and DocumentDB\. Start once with PARLANCE_MONGO/);
      process.env.PARLANCE_MONGO = 'mongod';
      await (await start('mongo')).close();
      delete process.env.PARLANCE_MONGO;
      await (await start('mongo')).close();
    });

    it('uses valkey-server when the redis-server on the PATH is too old', async () => {
      await install('redis-server', 'Redis server v=6.0.16');
      await install('valkey-server');
      await (await start('redis')).close();
      expect(JSON.parse(await readFile(stateFile(), 'utf8'))).to.deep.equal({ redis: { program: 'valkey', version: '8.0.1' } });
    });
  });

  it('does not follow a symbolic link in the data folder, nor change the mode of its target', async () => {
    const target = join(folder, 'target');
    await mkdir(target, { mode: 0o755 });
    await mkdir(join(folder, 'data'));
    await symlink(target, join(folder, 'data', 'redis'));
    await install('redis-server');
    expect(await errorOf('redis')).to.match(/redis is not a folder that Parlance can use/);
    expect((await stat(target)).mode & 0o777).to.equal(0o755);
  });
});
