import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { expect } from 'chai';
import { createLog } from '../../lib/base/log.ts';
import { writeBackup } from '../../lib/domain/backup/backup.ts';
import { openBackupPlatform } from '../../lib/store/backup-platform.ts';
import { openDatabase } from '../../lib/store/mongo/database.ts';
import { makeFolder } from '../harness/folder.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { startParlance } from '../harness/parlance.ts';
import { botOf, ownerOf } from '../harness/seed.ts';
import { use } from '../harness/use.ts';
import { emptyTarget, expectRestored, makeLoad, restoreHere, settingsOf } from './backup-fixture.ts';

describe('operator backup: deletions while it reads', () => {
  const folder = use(makeFolder);
  const source = use(() => startParlance());

  it('a channel and a server that were read in part are gone after the restore, with everything in them', async () => {
    const [kept, gone] = [await makeLoad(source), await makeLoad(source)];
    const [keptId, goneId] = [kept.server.channelIds[0] as string, kept.server.channelIds[1] as string];
    await Promise.all([kept.post(40), gone.post(40)]);
    // More than all buffers of a backup hold, so that it stops in the middle of the messages until its output is read.
    for (let n = 0; n < 300; n++) {
      const body = { content: randomBytes(1_000).toString('hex') };
      const { as } = botOf(kept.server);
      expect((await source.call('POST', `/api/channels/${keptId}/messages`, { as, body })).status).to.equal(201);
    }
    const platform = await openBackupPlatform(source.platform.config, createLog('test', 'silent'));
    const output = new PassThrough();
    const lines: string[] = [];
    const backup = writeBackup(platform, output, '0.0.0', (line) => lines.push(line));
    await waitUntil(() => lines.some((line) => line.startsWith('reads')), 'the backup reads messages');
    const removing = [
      source.call('DELETE', `/api/channels/${goneId}`, { as: ownerOf(kept.server).as }),
      source.call('DELETE', `/api/servers/${gone.server.serverId}`, { as: ownerOf(gone.server).as }),
    ];
    for (const { status } of await Promise.all(removing)) expect(status).to.equal(204);
    expect(lines.some((line) => line.startsWith('messages'))).to.equal(false);
    const path = join(folder.path, 'deletions.tar.gz');
    await Promise.all([backup, pipeline(output, createWriteStream(path))]);
    await platform.close();

    const target = emptyTarget(source.platform.config);
    await restoreHere(path, target);
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
});
