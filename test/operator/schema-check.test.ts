import { spawn } from 'node:child_process';
import { expect } from 'chai';
import { requireSchema } from '../../lib/store/mongo/schema-check.ts';
import { prepareDatabase } from '../harness/migrations.ts';
import { isReady, rolePath } from '../harness/stack.ts';
import { type EmptyDatabase, useEmptyDatabases } from './empty-databases.ts';
import { runHere } from './run-here.ts';

describe('the start of a role', () => {
  const makeDatabase = useEmptyDatabases();
  const roles = ['api', 'gateway', 'worker', 'ops'] as const;
  /** Starts a role; resolves with its exit code and what it wrote to stderr, or with null once it is ready, and then stops it. */
  async function start(role: (typeof roles)[number], { env }: EmptyDatabase): Promise<{ exit: number | null; stderr: string }> {
    const ports = { PORT: '0', GATEWAY_PORT: '0', OPS_PORT: '0', LOG_LEVEL: 'error' };
    const child = spawn(process.execPath, [rolePath(role)], {
      env: { PATH: process.env.PATH ?? '', STORE_TIMEOUT_FACTOR: '10', ...env, ...ports },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    let stderr = '';
    child.stderr?.on('data', (piece: Buffer) => (stderr += piece.toString()));
    const closed = new Promise<number | null>((done) => child.once('close', done));
    const wasReady = await isReady(child).then(
      () => true,
      () => false,
    );
    if (wasReady) child.kill('SIGTERM');
    const code = await closed;
    return { exit: wasReady ? null : code, stderr };
  }

  it('is refused on a database that lacks something or is too new, and succeeds on one with newer additions', async () => {
    const database = await makeDatabase();
    const { db, config } = database;
    const { migrations } = db;
    for (const { exit, stderr } of await Promise.all(roles.map((role) => start(role, database)))) {
      expect([exit, stderr.split('\n').length], stderr).to.deep.equal([78, 2]);
      expect(stderr).to.match(/^The database is not prepared for this version\. Run `npm run operator -- migrate`/);
    }
    const { exitCode, text } = await runHere(['rotate-key'], config);
    expect(exitCode, 'the operators’ other commands').to.equal(78);
    expect(text).to.match(/^The database is not prepared for this version\.[^\n]+$/);
    expect(await db.servers.db.listCollections({ name: 'messages' }).toArray(), 'nothing was created').to.deep.equal([]);
    await prepareDatabase(config);
    const ledger = await migrations.find({}).toArray();
    const expectRefusal = async (reason: RegExp): Promise<void> => {
      const error = await requireSchema({ db, close: async () => undefined }).catch((fault: Error) => fault.message);
      expect(error).to.match(reason);
    };

    await migrations.updateOne({ _id: 'move-reactions' }, { $set: { position: '5' }, $unset: { doneAt: 1 } });
    await expectRefusal(/^The database lacks the migration move-reactions\. Run /);
    await migrations.updateOne({ _id: 'move-reactions' }, { $set: { doneAt: new Date() } });
    await migrations.updateOne({ _id: 'schema' }, { $pop: { indexes: 1 } });
    await expectRefusal(/^The database lacks the index \w+ \{/);
    await migrations.updateOne({ _id: 'schema' }, { $set: { indexes: ledger.find(({ _id }) => _id === 'schema')?.indexes as string[] } });

    await migrations.insertOne({ _id: 'newer-addition', doneAt: new Date() });
    await migrations.insertOne({ _id: 'newer-removal', requires: 'move-reactions', position: '7' });
    await migrations.updateOne({ _id: 'schema' }, { $push: { indexes: 'messages {"newer":1} {}' } });
    const started = await Promise.all(roles.map((role) => start(role, database)));
    expect(started).to.deep.equal(roles.map(() => ({ exit: null, stderr: '' })));

    await migrations.insertOne({ _id: 'too-new', requires: 'newer-addition' });
    await expectRefusal(/^A newer version of Parlance has changed the database \(too-new\)/);
  });
});
