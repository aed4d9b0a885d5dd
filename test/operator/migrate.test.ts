import { expect } from 'chai';
import { ConfigurationError } from '../../lib/base/process.ts';
import { migrate } from '../../lib/store/mongo/migrate.ts';
import type { Migration } from '../../lib/store/mongo/migrations.ts';
import { startTestApi } from '../harness/api.ts';
import { makePerson, makeServer, postMessage } from '../harness/factories.ts';
import { memberOf } from '../harness/seed.ts';
import { type EmptyDatabase, runMigrate, useEmptyDatabases } from './empty-databases.ts';
import { runOperator, storesOf } from './run-operator.ts';

describe('operator migrate', () => {
  const makeDatabase = useEmptyDatabases();

  const runJson = async ({ env }: EmptyDatabase): Promise<Record<string, unknown>> => {
    const { exit, stdout, stderr } = await runOperator(['migrate', '--json'], env);
    expect([exit, stderr], stdout).to.deep.equal([0, '']);
    return JSON.parse(stdout) as Record<string, unknown>;
  };
  /** Stores members as the version before memberships and names did. */
  const storeOldMembers = async ({ db }: EmptyDatabase, count: number): Promise<void> =>
    void (await db.members.insertMany(Array.from({ length: count }, (_, n) => memberOf('1', String(n), true))));
  const noProgress = (): void => undefined;

  it('prepares an empty database once; the second run changes nothing', async () => {
    const database = await makeDatabase();
    const first = await runJson(database);
    expect(first).to.deep.include({ ok: true, command: 'migrate', changed: true });
    expect(first.migrations).to.include.members(['fill-memberships', 'move-reactions', 'mark-unnamed-members']);
    expect(await database.db.messages.indexExists('channelId_1__id_1')).to.equal(true);
    const ledger = await database.db.migrations.find({}).toArray();
    expect(await runJson(database)).to.deep.equal({ ok: true, command: 'migrate', changed: false, indexes: 0, migrations: [] });
    expect(await database.db.migrations.find({}).toArray()).to.deep.equal(ledger);
  });

  it('creates an index again that somebody has dropped', async () => {
    const database = await makeDatabase();
    await runMigrate(database);
    await database.db.messages.dropIndex('channelId_1__id_1');
    expect((await runMigrate(database)).exit).to.equal(0);
    expect(await database.db.messages.indexExists('channelId_1__id_1')).to.equal(true);
  });

  const conflicts: [what: string, make: (database: EmptyDatabase) => Promise<unknown>][] = [
    ['an index that exists with other options', ({ db }) => db.dms.createIndex({ pair: 1 })],
    ['documents with equal values', ({ db }) => db.dms.insertMany(['1', '2'].map((_id) => ({ _id, pair: 'a:b' })) as never[])],
  ];
  for (const [what, make] of conflicts)
    it(`refuses ${what}, names the collection, and says what to do`, async () => {
      const database = await makeDatabase();
      await make(database);
      const { exit, stderr } = await runMigrate(database);
      expect(exit, stderr).to.equal(78);
      expect(stderr).to.match(
        /^indexes of dms: .+\nDrop the index that differs, or the documents with equal values, and run the command again\.\n$/m,
      );
      expect(await database.db.migrations.countDocuments({ doneAt: { $exists: true } })).to.equal(0);
    });

  it('builds an index of a large collection while messages are posted', async () => {
    const api = await startTestApi();
    const owner = await makePerson(api);
    const { general } = await makeServer(api, owner);
    const { messages, migrations } = api.platform.db;
    const name = 'channelId_1__id_1';
    for (let start = 0; start < 60_000; start += 5_000)
      await messages.insertMany(Array.from({ length: 5_000 }, (_, n) => ({ _id: String(start + n), channelId: `${n % 50}` })) as never[]);
    await messages.dropIndex(name);
    await migrations.updateOne({ _id: 'schema' }, { $set: { indexes: [] } });
    let isDone = false;
    const migrated = runOperator(['migrate'], storesOf(api.platform.config)).finally(() => {
      isDone = true;
    });
    let posted = 0;
    while (!isDone) await postMessage(api, owner, general, `post ${posted++}`);
    const { exit, stderr } = await migrated;
    expect(exit, stderr).to.equal(0);
    expect(stderr).to.match(/^indexes: \d+ to create or check\n/);
    expect(posted).to.be.greaterThan(5);
    expect(await messages.indexExists(name)).to.equal(true);
    expect(await messages.countDocuments({ channelId: general })).to.equal(posted);
    await api.close();
  });

  for (const failpoint of ['after-migration-batch', 'after-migration-position'] as const)
    it(`a run that is killed at ${failpoint} is continued by the next one, and nothing is changed twice`, async () => {
      const database = await makeDatabase();
      await storeOldMembers(database, 1_200);
      const killed = await runMigrate(database, failpoint);
      expect(killed.exit).to.equal(null);
      const { memberships, members, migrations } = database.db;
      const [before] = await memberships.find({}).sort({ _id: 1 }).limit(1).toArray();
      expect(await memberships.countDocuments({})).to.equal(500);
      expect((await migrations.findOne({ _id: 'schema' }))?.holder).to.match(/^process \d+ on /);

      const isStored = failpoint === 'after-migration-position';
      if (isStored) await migrations.updateOne({ _id: 'schema' }, { $set: { expiresAt: new Date(0) } }); // the other test waits for it
      const { exit, stderr } = await runMigrate(database);
      expect(exit, stderr).to.equal(0);
      expect(/^waiting for process \d+ on .+, which migrates this database$/m.test(stderr)).to.equal(!isStored);
      expect(stderr.includes('fill-memberships: continued after 1:')).to.equal(isStored);
      expect(stderr).to.match(new RegExp(`^fill-memberships: done, ${isStored ? 700 : 1_200} documents$`, 'm'));
      expect(await memberships.countDocuments({ checkAt: { $exists: false } })).to.equal(1_200);
      expect(await memberships.countDocuments({})).to.equal(1_200);
      expect(await memberships.findOne({ _id: before?._id as string })).to.deep.equal(before);
      expect(await members.countDocuments({ renameId: '0' })).to.equal(1_200);
      expect(await migrations.findOne({ _id: 'fill-memberships' })).to.not.have.property('position');
      expect(await migrations.findOne({ _id: 'schema' })).to.not.have.any.keys('holder', 'expiresAt');
    });

  it('a second process waits for the first one, and finds nothing left to do', async () => {
    const database = await makeDatabase();
    const lines: string[] = [];
    let runs = 0;
    let finish: () => void = () => undefined;
    const isWaiting = new Promise<void>((done) => {
      finish = done;
    });
    const slow: Migration = {
      name: 'slow',
      async *run() {
        runs++;
        await isWaiting;
        yield { position: 'end', count: 1 };
      },
    };
    const report = (line: string): void => {
      lines.push(line);
      if (line.startsWith('waiting for')) finish();
    };
    const results = await Promise.all([1, 2].map(() => migrate(database.db, database.config, report, [slow])));
    expect(runs).to.equal(1);
    expect(results.map(({ migrations }) => migrations)).to.have.deep.members([[], ['slow']]);
    expect(lines.filter((line) => line.startsWith('waiting for'))).to.have.length(1);
    expect(lines.find((line) => line.startsWith('waiting for'))).to.contain(`process ${process.pid} on `);
  });

  it('a process that lost the lock stops before its next batch is noted', async () => {
    const { db, config } = await makeDatabase();
    const robbed: Migration = {
      name: 'robbed',
      async *run() {
        await db.migrations.updateOne({ _id: 'schema' }, { $set: { holder: 'another process' } });
        const untilMs = performance.now() + 4_000; // longer than the time between renewals
        while (performance.now() < untilMs) await new Promise((done) => setTimeout(done, 50));
        yield { position: 'end', count: 1 };
      },
    };
    const error = await migrate(db, config, noProgress, [robbed]).catch((reason: Error) => reason);
    expect(error)
      .to.be.instanceOf(Error)
      .with.property('message')
      .that.matches(/lock of the migrations/);
    expect(await db.migrations.findOne({ _id: 'robbed' })).to.deep.equal({ _id: 'robbed' });
    expect(await db.migrations.findOne({ _id: 'schema' })).to.include({ holder: 'another process' });
  });

  describe('of an older version', () => {
    it('runs on a database with a newer migration that allows it', async () => {
      const { db, config } = await makeDatabase();
      await db.migrations.insertOne({ _id: 'newer', requires: 'move-reactions', doneAt: new Date() });
      expect((await migrate(db, config, noProgress)).migrations).to.include('move-reactions');
    });

    it('exits with 78 and changes nothing if a newer migration requires one that it does not know', async () => {
      const database = await makeDatabase();
      await database.db.migrations.insertOne({ _id: 'newer', requires: 'newer' });
      const { exit, stdout, stderr } = await runMigrate(database);
      expect([exit, stdout]).to.deep.equal([78, '']);
      expect(stderr).to.match(/^A newer version of Parlance has changed the database \(newer\)[^\n]+\n$/);
      expect(await database.db.migrations.countDocuments({ doneAt: { $exists: true } })).to.equal(0);
    });

    it('notes what a migration requires before it begins', async () => {
      const { db, config } = await makeDatabase();
      const seen: unknown[] = [];
      const removing: Migration = {
        name: 'removing',
        requires: 'removing',
        async *run() {
          seen.push(await db.migrations.findOne({ _id: 'removing' }));
          yield { position: '1', count: 1 };
        },
      };
      await migrate(db, config, noProgress, [removing]);
      expect(seen).to.deep.equal([{ _id: 'removing', requires: 'removing' }]);
      const error = await migrate(db, config, noProgress).catch((reason: unknown) => reason);
      expect(error).to.be.instanceOf(ConfigurationError);
    });
  });
});
