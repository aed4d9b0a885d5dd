import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect } from 'chai';
import { createLog } from '../../lib/base/log.ts';
import { writeBackup } from '../../lib/domain/backup/backup.ts';
import { deleteFiles } from '../../lib/domain/files/files.ts';
import { deleteRemoval } from '../../lib/domain/removals.ts';
import { openBackupPlatform } from '../../lib/store/backup-platform.ts';
import { isBackupRunning } from '../../lib/store/mongo/backup-lease.ts';
import type { FileDoc } from '../../lib/store/mongo/models/file.ts';
import { fileDocs, onDisk } from '../files/fixture.ts';
import { startTestApi } from '../harness/api.ts';
import { makeFolder } from '../harness/folder.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { use } from '../harness/use.ts';
import { makeLoad, runDone } from './backup-fixture.ts';

describe('operator backup: the bytes of files', () => {
  const folder = use(makeFolder);

  it('while a backup runs no blob, no document of a file and no removal is deleted; afterwards they are', async () => {
    const api = await startTestApi();
    const { removals, meta } = api.platform.db;
    const now = new Date();
    const removal = { _id: '1', kind: 'channel' as const, serverId: '1', ownerId: null, overwrites: [], at: now, nextAt: now };
    await removals.insertOne(removal);
    await (await makeLoad(api)).post(4);
    const doc = (await fileDocs(api))[0] ?? expect.fail('no file');
    const { blobs } = await onDisk(api);
    const platform = await openBackupPlatform(api.platform.config, createLog('test', 'silent'));
    const output = new PassThrough();
    const backup = writeBackup(platform, output, '0.0.0', () => undefined);
    await waitUntil(() => isBackupRunning(api.platform.db), 'the lease of the backup');
    await deleteFiles(api.platform, [doc]);
    await deleteRemoval(api.platform, removal);
    expect([(await fileDocs(api))[0]?.state, (await onDisk(api)).blobs]).to.deep.equal(['freed', blobs]);
    expect(await removals.findOne({})).to.include({ done: true });
    output.resume();
    await backup;
    await platform.close();
    await meta.updateOne({ _id: 'backup' as 'app-key' }, { $set: { until: new Date(0) } as object }); // the lease expires
    await deleteFiles(api.platform, [doc]);
    await deleteRemoval(api.platform, removal);
    expect((await fileDocs(api)).map(({ _id }) => _id)).to.not.include(doc._id);
    expect((await onDisk(api)).blobs).to.not.include(doc.blob);
    expect(await removals.findOne({})).to.equal(null);
    await api.close();
  });

  it('counts the missing blobs that a file needs, also if a deleted file shares them', async () => {
    const api = await startTestApi();
    await (await makeLoad(api)).post(40);
    const { files } = api.platform.db;
    const [needed, unneeded] = (await files.find({ state: 'stored', openAt: { $exists: false } }).toArray()) as [FileDoc, FileDoc];
    await files.deleteOne({ _id: needed._id });
    await files.insertMany([{ ...needed, _id: '1', key: 'other', state: 'freed' }, needed]);
    await files.updateOne({ _id: unneeded._id }, { $set: { state: 'freed' } });
    for (const { blob } of [needed, unneeded]) await api.platform.blobs.delete(blob);
    const { stdout } = await runDone(['backup', '--json', join(folder.path, 'missing.tar.gz')], api.platform.config);
    expect(JSON.parse(stdout)).to.include({ missingFiles: 1 });
    await api.close();
  });
});
