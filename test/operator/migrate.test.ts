import { expect } from 'chai';
import { ConfigurationError } from '../../lib/base/process.ts';
import { migrate } from '../../lib/store/mongo/migrate.ts';
import type { Migration } from '../../lib/store/mongo/migrations.ts';
import { startTestApi } from '../harness/api.ts';
import { makePerson, makeServer, postMessage } from '../harness/factories.ts';
import { interceptNext } from '../harness/intercept.ts';
import { memberOf } from '../harness/seed.ts';
import { spareDatabases } from '../harness/spare-databases.ts';
import { use } from '../harness/use.ts';
import { useEmptyDatabases } from './empty-databases.ts';
import { runHere } from './run-here.ts';
import { runOperator, storesOf } from './run-operator.ts';

const noProgress = (): void => undefined;

describe('operator migrate', () => {
  describe('on an empty database', () => {
    const makeDatabase = useEmptyDatabases();

    it('prepares it once; the second run changes nothing, and another one creates an index again that somebody has dropped', async () => {
      const { db, config, env } = await makeDatabase();
      const { exit, stdout, stderr } = await runOperator(['migrate', '--json'], env);
      expect([exit, stderr], stdout).to.deep.equal([0, '']);
      const first = JSON.parse(stdout) as Record<string, unknown>;
      expect(first).to.deep.include({ ok: true, command: 'migrate', changed: true });
      expect(first.migrations).to.include.members(['fill-memberships', 'move-reactions', 'mark-unnamed-members']);
      const name = 'channelId_1__id_1';
      expect(await db.messages.indexExists(name)).to.equal(true);
      const ledger = await db.migrations.find({}).toArray();
      const unchanged = { ok: true, command: 'migrate', changed: false, indexes: 0, migrations: [] };
      expect((await runHere(['migrate'], config)).json).to.deep.equal(unchanged);
      expect(await db.migrations.find({}).toArray()).to.deep.equal(ledger);
      await db.messages.dropIndex(name);
      expect((await runHere(['migrate'], config)).exitCode).to.equal(0);
      expect(await db.messages.indexExists(name)).to.equal(true);
    });

    it('refuses an index with other options, and documents with equal values: names the collection, and says what to do', async () => {
      const { db, config } = await makeDatabase();
      const expectConflict = async (): Promise<void> => {
        const { exitCode, text } = await runHere(['migrate'], config);
        expect(exitCode, text).to.equal(78);
        expect(text).to.match(
          /^indexes of dms: .+\nDrop the index that differs, or the documents with equal values, and run the command again\.$/,
        );
        expect(await db.migrations.countDocuments({ doneAt: { $exists: true } })).to.equal(0);
      };
      await db.dms.createIndex({ pair: 1 });
      await expectConflict();
      await db.dms.dropIndexes();
      await db.dms.insertMany(['1', '2'].map((_id) => ({ _id, pair: 'a:b' })) as never[]);
      await expectConflict();
    });
  });

  describe('on a database that has its indexes', () => {
    const api = use(() => startTestApi());
    before(() => spareDatabases.spend(api.platform.config.MONGODB_URL)); // other tests must not get its ledger
    beforeEach(() => api.platform.db.migrations.deleteMany({ _id: { $ne: 'schema' } }));

    for (const failpoint of ['after-migration-batch', 'after-migration-position'] as const)
      it(`a run that is killed at ${failpoint} is continued by the next one, and nothing is changed twice`, async () => {
        const { config, db } = api.platform;
        const { memberships, members, migrations } = db;
        await Promise.all([members.deleteMany({}), memberships.deleteMany({})]);
        // As the version before memberships and names stored them.
        await members.insertMany(Array.from({ length: 1_200 }, (_, n) => memberOf('1', String(n), true)));
        const killed = await runOperator(['migrate'], { ...storesOf(config), FAILPOINTS: failpoint });
        expect(killed.exit).to.equal(null);
        const [before] = await memberships.find({}).sort({ _id: 1 }).limit(1).toArray();
        expect(await memberships.countDocuments({})).to.equal(500);
        expect((await migrations.findOne({ _id: 'schema' }))?.holder).to.match(/^process \d+ on /);

        const lines: string[] = [];
        let expired: Promise<unknown> = Promise.resolve();
        await migrate(db, config, (line) => {
          lines.push(line);
          // The lock of the killed process expires.
          if (line.startsWith('waiting for')) expired = migrations.updateOne({ _id: 'schema' }, { $set: { expiresAt: new Date(0) } });
        });
        await expired;
        const isStored = failpoint === 'after-migration-position';
        expect(lines[0]).to.match(/^waiting for process \d+ on .+, which migrates this database$/);
        expect(lines.some((line) => line.startsWith('fill-memberships: continued after 1:'))).to.equal(isStored);
        expect(lines).to.include(`fill-memberships: done, ${isStored ? 700 : 1200} documents`);
        expect(await memberships.countDocuments({ checkAt: { $exists: false } })).to.equal(1_200);
        expect(await memberships.countDocuments({})).to.equal(1_200);
        expect(await memberships.findOne({ _id: before?._id as string })).to.deep.equal(before);
        expect(await members.countDocuments({ renameId: '0' })).to.equal(1_200);
        expect(await migrations.findOne({ _id: 'fill-memberships' })).to.not.have.property('position');
        expect(await migrations.findOne({ _id: 'schema' })).to.not.have.any.keys('holder', 'expiresAt');
      });

    it('builds an index of a large collection while messages are posted', async () => {
      const owner = await makePerson(api);
      const { general } = await makeServer(api, owner);
      const { messages, migrations } = api.platform.db;
      const name = 'channelId_1__id_1';
      for (let start = 0; start < 30_000; start += 5_000)
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
      await messages.deleteMany({});
    });

    it('a second process waits for the first one, and finds nothing left to do', async () => {
      const { config, db } = api.platform;
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
      const results = await Promise.all([1, 2].map(() => migrate(db, config, report, [slow])));
      expect(runs).to.equal(1);
      expect(results.map(({ migrations }) => migrations)).to.have.deep.members([[], ['slow']]);
      expect(lines.filter((line) => line.startsWith('waiting for'))).to.have.length(1);
      expect(lines.find((line) => line.startsWith('waiting for'))).to.contain(`process ${process.pid} on `);
    });

    it('a process that lost the lock stops before its next batch is noted', async () => {
      const { config, db } = api.platform;
      const robbed: Migration = {
        name: 'robbed',
        async *run() {
          await db.migrations.updateOne({ _id: 'schema' }, { $set: { holder: 'another process' } });
          await new Promise<void>((done) =>
            interceptNext(db.migrations, 'updateOne', async (renew) => {
              try {
                return await renew();
              } finally {
                setImmediate(done);
              }
            }),
          );
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
      await db.migrations.updateOne({ _id: 'schema' }, { $unset: { holder: 1, expiresAt: 1 } });
    });

    it('an older version runs after a newer migration that allows it', async () => {
      const { config, db } = api.platform;
      await db.migrations.insertOne({ _id: 'newer', requires: 'move-reactions', doneAt: new Date() });
      expect((await migrate(db, config, noProgress)).migrations).to.include('move-reactions');
    });

    it('an older version exits with 78 and changes nothing if a newer migration requires one that it does not know', async () => {
      const { config, db } = api.platform;
      await db.migrations.insertOne({ _id: 'newer', requires: 'newer' });
      const { exitCode, text } = await runHere(['migrate'], config);
      expect(exitCode).to.equal(78);
      expect(text).to.match(/^A newer version of Parlance has changed the database \(newer\)[^\n]+$/);
      expect(await db.migrations.countDocuments({ doneAt: { $exists: true } })).to.equal(0);
    });

    it('notes what a migration requires before it begins', async () => {
      const { config, db } = api.platform;
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
