import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { join as joinPath } from 'node:path';
import { PassThrough } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { expect } from 'chai';
import { createLog } from '../../lib/base/log.ts';
import { scheduleAccountDeletion, startDueAccountDeletions } from '../../lib/domain/accounts/deletions.ts';
import { writeBackup } from '../../lib/domain/backup/backup.ts';
import { deleteFiles } from '../../lib/domain/files/files.ts';
import { finishRemoval } from '../../lib/domain/jobs/finish-removal.ts';
import { deleteRemoval } from '../../lib/domain/removals.ts';
import { openBackupPlatform } from '../../lib/store/backup-platform.ts';
import { isBackupRunning } from '../../lib/store/mongo/backup-lease.ts';
import { type Collections, openDatabase } from '../../lib/store/mongo/database.ts';
import type { FileDoc } from '../../lib/store/mongo/models/file.ts';
import { fileDocs, onDisk } from '../files/fixture.ts';
import { startTestApiWithWorker, type TestApi } from '../harness/api.ts';
import { join, makePerson, makeServer, postMessage } from '../harness/factories.ts';
import { makeFolder } from '../harness/folder.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { startParlance } from '../harness/parlance.ts';
import { plainMessage } from '../harness/plain-message.ts';
import { botOf, ownerOf } from '../harness/seed.ts';
import { use } from '../harness/use.ts';
import { emptyTarget, expectRestored, makeLoad, runDone, settingsOf } from './backup-fixture.ts';

describe('operator backup: deletions while it reads', () => {
  const folder = use(makeFolder);

  /** Begins a backup that stops when all buffers are full, until `output` is read. */
  const beginBackup = async ({ platform: { config } }: TestApi, report: (line: string) => void = () => undefined) => {
    const platform = await openBackupPlatform(config, createLog('test', 'silent'));
    const output = new PassThrough();
    const write = async (): ReturnType<typeof writeBackup> => {
      try {
        return await writeBackup(platform, output, '0.0.0', report);
      } finally {
        await platform.close();
      }
    };
    return { output, written: write() };
  };

  it('a channel and a server that were read in part are gone after the restore, with everything in them', async () => {
    const source = await startParlance();
    const { config, db: sourceDb, ids } = source.platform;
    const [kept, gone] = [await makeLoad(source), await makeLoad(source)];
    const { serverId, channelIds } = kept.server;
    const [keptId, goneId] = [channelIds[0] as string, channelIds[1] as string];
    await Promise.all([kept.post(40), gone.post(40)]);
    // More than all buffers of a backup hold, so that it stops in the middle of the messages.
    const long = { ...plainMessage, serverId, channelId: keptId, authorId: botOf(kept.server).id, createdAt: new Date() };
    const messages = Array.from({ length: 300 }, () => ({ ...long, _id: ids.next(), content: randomBytes(1_000).toString('hex') }));
    await sourceDb.messages.insertMany(messages);
    const lines: string[] = [];
    const { output, written } = await beginBackup(source, (line) => lines.push(line));
    await waitUntil(() => lines.some((line) => line.startsWith('reads')), 'the backup reads messages');
    const removing = [
      source.call('DELETE', `/api/channels/${goneId}`, { as: ownerOf(kept.server).as }),
      source.call('DELETE', `/api/servers/${gone.server.serverId}`, { as: ownerOf(gone.server).as }),
    ];
    for (const { status } of await Promise.all(removing)) expect(status).to.equal(204);
    expect(lines.some((line) => line.startsWith('messages'))).to.equal(false);
    const path = joinPath(folder.path, 'deletions.tar.gz');
    await Promise.all([written, pipeline(output, createWriteStream(path))]);
    await source.close();

    const target = emptyTarget(config);
    await runDone(['restore', path], target);
    const db = await openDatabase(target, createLog('test', 'silent'));
    const inGone = { $or: [{ channelId: goneId }, { serverId: gone.server.serverId }] };
    expect(await db.messages.countDocuments(inGone)).to.be.greaterThan(20);
    await db.removals.updateMany({}, { $set: { at: new Date(0) } }); // so that their last pass is due at once
    const restored = await startParlance(settingsOf(target));
    await waitUntil(async () => (await db.removals.countDocuments({})) === 0, 'the deletions are finished');
    expect(await db.messages.countDocuments(inGone)).to.equal(0);
    const left = [...kept.answered.values()].filter(({ message }) => message.channelId !== goneId);
    await waitUntil(async () => (await db.files.countDocuments({ openAt: { $exists: true } })) === 0, 'every file is decided');
    await expectRestored(restored, kept, left);
    await restored.close();
    await db.close();
  });

  describe('while no worker runs', () => {
    const api = use(() => startTestApiWithWorker());
    /** Ends the lease of the last backup, as if its time were over. */
    const endLease = (): Promise<unknown> =>
      api.platform.db.meta.updateOne({ _id: 'backup' as 'app-key' }, { $set: { until: new Date(0) } as object });
    beforeEach(endLease);

    it('an account: the backup has the intent of the deletion, which is completed after the restore', async () => {
      const { db, config } = api.platform;
      const [person, friend] = [await makePerson(api), await makePerson(api)];
      const home = await makeServer(api, friend);
      await join(api, friend, home.id, person);
      const { id } = await postMessage(api, person, home.general);
      /** Deletes the account completely. */
      const deleteAccount = async (): Promise<void> => {
        await scheduleAccountDeletion(api.platform, person.id, { messages: 'delete', now: true });
        await startDueAccountDeletions(api.worker);
        await finishRemoval(api.worker, person.id);
        await db.removals.updateOne({ _id: person.id }, { $set: { at: new Date(0) } });
        expect(await finishRemoval(api.worker, person.id)).to.equal(null);
      };
      // Notices are read after the accounts and before the removals.
      const notices = {
        async *[Symbol.asyncIterator]() {
          await deleteAccount();
          yield* [];
        },
        find: () => ({ sort: () => ({ limit: () => notices }) }),
      };
      const racing = { ...api.platform, db: { ...db, notices } as unknown as typeof db & Collections };
      const path = joinPath(folder.path, 'account.tar.gz');
      const { documents } = await writeBackup(racing, createWriteStream(path), '0.0.0', () => undefined);
      expect(documents).to.include({ accounts: 2, removals: 1 });
      expect(await db.accounts.countDocuments({})).to.equal(1);
      expect(await db.removals.findOne({ _id: person.id })).to.include({ done: true });

      const target = emptyTarget(config);
      await runDone(['restore', path], target);
      const restored = await startParlance(settingsOf(target));
      try {
        const { accounts, messages, members } = restored.platform.db;
        await waitUntil(async () => !(await accounts.findOne({ _id: person.id })), 'the deletion of the account');
        await waitUntil(async () => !(await messages.findOne({ _id: id })), 'the deletion of the message');
        await waitUntil(async () => (await members.countDocuments({})) === 1, 'the end of the membership');
      } finally {
        await restored.close();
      }
    });

    it('no blob, no document of a file and no removal is deleted before the backup has ended', async () => {
      const { removals } = api.platform.db;
      const now = new Date();
      const removal = { _id: '1', kind: 'channel' as const, serverId: '1', ownerId: null, overwrites: [], at: now, nextAt: now };
      await removals.insertOne(removal);
      await (await makeLoad(api)).post(4);
      const doc = (await fileDocs(api))[0] ?? expect.fail('no file');
      const { blobs } = await onDisk(api);
      const { output, written } = await beginBackup(api);
      await waitUntil(() => isBackupRunning(api.platform.db), 'the lease of the backup');
      await deleteFiles(api.platform, [doc]);
      await deleteRemoval(api.platform, removal);
      expect([(await fileDocs(api))[0]?.state, (await onDisk(api)).blobs]).to.deep.equal(['freed', blobs]);
      expect(await removals.findOne({ _id: '1' })).to.include({ done: true });
      output.resume();
      await written;
      await endLease();
      await deleteFiles(api.platform, [doc]);
      await deleteRemoval(api.platform, removal);
      expect((await fileDocs(api)).map(({ _id }) => _id)).to.not.include(doc._id);
      expect((await onDisk(api)).blobs).to.not.include(doc.blob);
      expect(await removals.findOne({ _id: '1' })).to.equal(null);
    });

    it('counts the missing blobs that a file needs, also if a deleted file shares them', async () => {
      await (await makeLoad(api)).post(12);
      const { files } = api.platform.db;
      const [needed, unneeded] = (await files.find({ state: 'stored', openAt: { $exists: false } }).toArray()) as [FileDoc, FileDoc];
      await files.deleteOne({ _id: needed._id });
      await files.insertMany([{ ...needed, _id: '1', key: 'other', state: 'freed' }, needed]);
      await files.updateOne({ _id: unneeded._id }, { $set: { state: 'freed' } });
      for (const { blob } of [needed, unneeded]) await api.platform.blobs.delete(blob);
      const { json } = await runDone(['backup', joinPath(folder.path, 'missing.tar.gz')], api.platform.config);
      expect(json).to.include({ missingFiles: 1 });
    });
  });
});
