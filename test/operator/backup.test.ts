import { copyFile, mkdir, readdir, readFile, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Config } from '../../config/index.ts';
import type { Failpoint } from '../../lib/base/failpoint.ts';
import { createLog } from '../../lib/base/log.ts';
import { openRestorePlatform } from '../../lib/store/backup-platform.ts';
import { openDatabase } from '../../lib/store/mongo/database.ts';
import { createKeys } from '../../lib/store/redis/log/keys.ts';
import { startS3 } from '../files/s3-server.ts';
import { startTestApi } from '../harness/api.ts';
import { connectBot } from '../harness/bot-client.ts';
import { makeFolder } from '../harness/folder.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { startParlance } from '../harness/parlance.ts';
import { botOf } from '../harness/seed.ts';
import { connectRedis } from '../harness/stores.ts';
import { make, use } from '../harness/use.ts';
import {
  type Answered,
  backupEnv,
  emptyTarget,
  expectRestored,
  makeLoad,
  rewrite,
  rewriteManifest,
  runDone,
  settingsOf,
} from './backup-fixture.ts';
import { runHere } from './run-here.ts';
import { runOperator, runShell } from './run-operator.ts';

describe('operator backup and restore', () => {
  const folder = use(makeFolder);
  const source = use(() => startParlance());
  const load = make(() => makeLoad(source));
  const config = (): Config => source.platform.config;
  const file = (): string => join(folder.path, 'backup.tar.gz');
  const damaged = (): string => join(folder.path, 'damaged.tar.gz');
  let early: Answered[] = [];

  /** The error that a command ends with. */
  const refusal = async (args: string[], target: Config, exit = 1): Promise<string> => {
    const { exitCode, text } = await runHere(args, target);
    expect(exitCode, text).to.equal(exit);
    return text;
  };

  /** Expects that every post of `early` is in the installation on the stores of `target`. */
  const expectEarly = async (target: Config, settings: Record<string, string> = {}): Promise<void> => {
    const restored = await startParlance({ ...settingsOf(target), ...settings });
    try {
      await expectRestored(restored, load, early);
    } finally {
      await restored.close();
    }
  };

  before(async () => {
    await load.post(40);
    early = [...load.answered.values()];
    const { exit, stderr } = await load.during(runOperator(['backup', file()], backupEnv(config())));
    expect(exit, stderr).to.equal(0);
  });

  it('under load, everything that was answered before it began is restored with its files, and nothing dangles', async () => {
    const target = emptyTarget(config());
    const restored = await runShell('node "$0" restore - < "$1"', backupEnv(target), file());
    expect(restored.exit, restored.stderr).to.equal(0);
    await expectEarly(target);
  });

  it('after a restore no session resumes over events that are gone', async () => {
    const before = await startParlance();
    const { server, post, answered } = await makeLoad(before);
    const backup = join(folder.path, 'sessions.tar.gz');
    let { gatewayUrl } = before;
    const created = new Set<unknown>();
    const { token } = botOf(server);
    const client = connectBot({
      urlOf: () => gatewayUrl,
      token,
      onEvent: ({ t, d }) => void (t === 'MESSAGE_CREATE' && created.add(d.id)),
    });
    await client.ready;
    await runDone(['backup', backup], before.platform.config);
    await post(4);
    // One of the four is deleted; it is not sent if it was not relayed before (docs/delivery.md).
    await waitUntil(() => [...answered.keys()].every((id) => created.has(id)), 'the posts that will be gone');
    await before.close();
    const target = emptyTarget(before.platform.config, { REDIS_PREFIX: before.platform.config.REDIS_PREFIX });
    await runDone(['restore', backup], target);
    const restored = await startParlance(settingsOf(target));
    ({ gatewayUrl } = restored);
    try {
      await waitUntil(() => client.stats.invalidated + client.stats.resumes > 0, 'the answer to the resume');
      expect(client.stats).to.include({ invalidated: 1, resumes: 0 });
    } finally {
      await client.close();
      await restored.close();
    }
  });

  it('- writes to stdout and reads from stdin, with all other lines on stderr', async () => {
    const run = await runShell('node "$0" backup - | node "$0" verify-backup -', backupEnv(config()));
    expect(run.exit, run.stderr).to.equal(0);
    expect(run.stdout).to.match(/^The backup of [^\n]+ is complete and undamaged: \d+ documents, \d+ files[^\n]+\n$/);
    expect(run.stderr).to.match(/^Backup written to -: /m);
    const full = await runShell('node "$0" backup - > /dev/full', backupEnv(config()));
    expect([full.exit, full.stderr]).to.satisfy(([exit, text]: [number, string]) => exit === 1 && /cannot be written: ENOSPC/.test(text));
  });

  it('refuses an archive that is truncated, changed, incomplete or none, and changes nothing', async () => {
    const target = emptyTarget(config());
    const db = await openDatabase(target, createLog('test', 'silent'));
    const both = async (path: string): Promise<string> => {
      const message = await refusal(['verify-backup', path], target);
      expect(await refusal(['restore', path], target)).to.equal(message);
      expect(await db.meta.findOne({})).to.equal(null);
      return message;
    };
    await copyFile(file(), damaged());
    await truncate(damaged(), (await readFile(file())).length - 1_000);
    expect(await both(damaged())).to.match(/^The backup is damaged or incomplete/);
    await writeFile(damaged(), 'no archive');
    expect(await both(damaged())).to.match(/^The backup is damaged or incomplete/);
    await rewrite(file(), damaged(), (name, data) =>
      /^messages\/\d+\.bson$/.test(name) ? Buffer.concat([data.subarray(0, -1), Buffer.from([7])]) : data,
    );
    expect(await both(damaged())).to.match(/messages\/\d+\.bson has another checksum/);
    await rewrite(file(), damaged(), (name, data) => (name.startsWith('blobs/') ? null : data));
    expect(await both(damaged())).to.match(/entries are missing/);
    await rewrite(file(), damaged(), (name, data) => (name.startsWith('summary') ? null : data));
    expect(await both(damaged())).to.match(/its end is missing/);
    expect(await both(join(folder.path, 'none'))).to.match(/cannot be read: ENOENT/);
    await db.close();
  });

  it('refuses another APP_KEY, stores with data, a running installation and a newer version, and changes nothing', async () => {
    const target = emptyTarget(config());
    expect(await refusal(['restore', file()], { ...target, APP_KEY: Buffer.alloc(32, 1) }, 78)).to.match(
      /^APP_KEY is not the key of this backup/,
    );
    const { REDIS_PREFIX, FILES_DIR } = target;
    expect(await refusal(['restore', file()], { ...config(), REDIS_PREFIX })).to.match(
      /empty stores only, but there is data in .*the collection messages.*the file store\.$/,
    );
    const other = await openRestorePlatform(target, createLog('test', 'silent'));
    expect(await refusal(['restore', file()], target)).to.match(/^These processes use the stores: restore:\w+\. Stop them/);
    await rewriteManifest(file(), damaged(), (text) => text.replace('"move-reactions"', '"move-reactions", "newer"'));
    expect(await refusal(['verify-backup', damaged()], target)).to.match(/made by a newer version, .* does not know: newer/);
    await rewriteManifest(file(), damaged(), (text) => text.replace('"format": 1', '"format": 2'));
    expect(await refusal(['verify-backup', damaged()], target)).to.match(/has the format 2, and this version reads 1/);
    expect(await other.db.meta.findOne({})).to.equal(null);
    await other.close();
    const unwritten = join(folder.path, 'unwritten');
    expect(await refusal(['backup', unwritten], target, 78)).to.match(/^The database is not prepared/);
    expect(await refusal(['backup', unwritten], { ...config(), FILES_DIR })).to.match(/^The file store has no file of this database/);
    expect(await readdir(folder.path)).to.not.include('unwritten');
  });

  it('keeps as many backups of a folder as --keep says, and a backup that is killed leaves none', async () => {
    const backups = join(folder.path, 'backups');
    await mkdir(backups);
    await writeFile(join(backups, 'notes.txt'), 'x');
    const killed = await runOperator(['backup', backups], { ...backupEnv(config()), FAILPOINTS: 'after-backup-file' });
    const [part = ''] = (await readdir(backups)).filter((name) => name.endsWith('.parlance-part'));
    expect([killed.exit, await readdir(backups)]).to.deep.equal([null, [part, 'notes.txt']]);
    await utimes(join(backups, part), 0, 0);
    for (const _ of [1, 2, 3]) await runDone(['backup', '--keep', '2', backups], config());
    const names = await readdir(backups);
    expect(names.filter((name) => name.startsWith('parlance-'))).to.have.length(2);
    expect(names).to.have.length(3).and.include('notes.txt');
    expect(await refusal(['backup', file()], config())).to.match(/exists already/);
    expect(await refusal(['backup', '--keep', '2', join(folder.path, 'new')], config())).to.match(/--keep needs an existing folder/);
    expect(await refusal(['backup', join(folder.path, 'new', 'file')], config())).to.match(/new does not exist/);
  });

  describe('a restore that was killed', () => {
    const bucket = use(() => startS3(join(folder.path, 's3')));
    const otherBucket = use(() => startS3(join(folder.path, 's3-restored')));

    /** Forgets the processes on these stores, as when their leases have expired. */
    const forgetProcesses = async (target: Config): Promise<void> => {
      const redis = await connectRedis(target);
      await redis.del(`${createKeys(target.REDIS_PREFIX, target.LOG_PARTITIONS).partitionPrefix(0)}processes`);
      redis.close();
    };
    /** Restores the backup until the process is killed at `failpoint`. */
    const restoreAndDie = async (target: Config, failpoint: Failpoint): Promise<void> => {
      const killed = await runOperator(['restore', file()], { ...backupEnv(target), FAILPOINTS: failpoint });
      expect(killed.exit, killed.stderr).to.equal(null);
    };

    it('in the middle of documents: no process starts, and --resume of the same backup completes it', async () => {
      const target = emptyTarget(config());
      await restoreAndDie(target, 'after-restore-page');
      const starting = startTestApi(settingsOf(target)).then(
        () => 'started',
        (error: Error) => error.message,
      );
      expect(await starting).to.match(/restore into this database is under way or was interrupted. Run `operator restore --resume`/);
      expect(await refusal(['migrate'], target, 78)).to.match(/under way or was interrupted/);
      const isForgotten = async (): Promise<boolean> => !(await refusal(['restore', file()], target)).startsWith('These processes');
      await waitUntil(isForgotten, 'the killed process is forgotten');
      expect(await refusal(['restore', file()], target)).to.match(/was interrupted. Run `operator restore --resume`/);
      const another = join(folder.path, 'another.tar.gz');
      await runDone(['backup', another], config());
      expect(await refusal(['restore', '--resume', another], target)).to.match(/that of another backup/);
      await runDone(['restore', '--resume', file()], target);
      await expectEarly(target);
    });

    it('in the middle of files, on S3: --resume completes it; its backup moves to another bucket, but not into one with files', async () => {
      const target = emptyTarget(config(), bucket.settings);
      await restoreAndDie(target, 'after-restore-file');
      await forgetProcesses(target);
      await runDone(['restore', '--resume', file()], target);
      const again = join(folder.path, 'from-s3.tar.gz');
      await runDone(['backup', again], target);
      expect(await refusal(['restore', again], emptyTarget(config(), bucket.settings))).to.match(/data in the file store\.$/);
      const second = emptyTarget(config(), otherBucket.settings);
      await runDone(['restore', again], second);
      await expectEarly(second, otherBucket.settings);
    });
  });
});
