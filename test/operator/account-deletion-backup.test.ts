import { createWriteStream } from 'node:fs';
import { join as joinPath } from 'node:path';
import { expect } from 'chai';
import { scheduleAccountDeletion, startDueAccountDeletions } from '../../lib/domain/accounts/deletions.ts';
import { writeBackup } from '../../lib/domain/backup/backup.ts';
import { finishRemoval } from '../../lib/domain/jobs/finish-removal.ts';
import type { Collections } from '../../lib/store/mongo/database.ts';
import { startTestApiWithWorker } from '../harness/api.ts';
import { join, makePerson, makeServer, postMessage } from '../harness/factories.ts';
import { makeFolder } from '../harness/folder.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { startParlance } from '../harness/parlance.ts';
import { use } from '../harness/use.ts';
import { emptyTarget, restoreHere, settingsOf } from './backup-fixture.ts';

describe('a backup while an account is deleted', () => {
  const folder = use(makeFolder);
  const api = use(() => startTestApiWithWorker());

  it('has the intent of the deletion, which is completed after the restore', async () => {
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
    const path = joinPath(folder.path, 'backup.tar.gz');
    const { documents } = await writeBackup(racing, createWriteStream(path), '0.0.0', () => undefined);
    expect(documents).to.include({ accounts: 2, removals: 1 });
    expect(await db.accounts.countDocuments({})).to.equal(1);
    expect(await db.removals.findOne({ _id: person.id })).to.include({ done: true });

    const target = emptyTarget(config);
    await restoreHere(path, target);
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
});
