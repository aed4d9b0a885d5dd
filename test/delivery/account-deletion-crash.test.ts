import { expect } from 'chai';
import type { Failpoint } from '../../lib/base/failpoint.ts';
import { createMetrics } from '../../lib/base/metrics.ts';
import type { Message } from '../../lib/contract/message.ts';
import { scheduleAccountDeletion } from '../../lib/domain/accounts/deletions.ts';
import { finishRemoval } from '../../lib/domain/jobs/finish-removal.ts';
import { startWorker } from '../../workers/start.ts';
import { startTestApiWithWorker } from '../harness/api.ts';
import { join, makeApplication, makePerson, makeServer, openDm, postMessage } from '../harness/factories.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { findDueRemovals } from '../harness/overdue-keys.ts';
import { expectKilled, useOwnProcess } from '../harness/own-process.ts';
import { inParallel, send } from '../harness/requests.ts';
import { use } from '../harness/use.ts';

describe('the deletion of an account: killed processes', () => {
  const api = use(startTestApiWithWorker);
  const start = useOwnProcess(() => api.platform.config);
  /** Does what the sweep does after `ms`. */
  const sweepAfter = async (id: string, ms: number): Promise<void> => {
    const back = { at: { $subtract: ['$at', ms] }, nextAt: { $subtract: ['$nextAt', ms] } };
    await api.platform.db.removals.updateMany({}, [{ $set: back }]);
    const due = await findDueRemovals(api.worker);
    expect(due).to.include(id);
    for (const one of due) await finishRemoval(api.worker, one);
  };

  for (const failpoint of ['after-removal-intent', 'after-account-begin', 'after-account-delete', 'during-removal'] satisfies Failpoint[])
    it(`a worker killed ${failpoint}: another one finishes, and nothing remains`, async () => {
      const { db } = api.platform;
      const [person, friend] = [await makePerson(api), await makePerson(api)];
      const homes = [await makeServer(api, friend), await makeServer(api, friend)];
      for (const { id } of homes) await join(api, friend, id, person);
      const dm = await openDm(api, person, friend);
      await inParallel(10, () => postMessage(api, person, dm.id));
      await makeApplication(api, person);
      // The first worker finds the deletion to be due, and dies.
      const doomed = await start('worker', failpoint);
      await expectKilled(doomed, () => scheduleAccountDeletion(api.platform, person.id, { messages: 'delete', now: true }));
      expect(await db.messages.countDocuments({ authorId: person.id, deleted: { $exists: false } })).to.equal(10);
      const countLeft = async (): Promise<number> => {
        const counts = await Promise.all([
          db.accounts.countDocuments({ _id: person.id }),
          db.tokens.countDocuments({ accountId: person.id }),
          db.applications.countDocuments({ ownerId: person.id }),
          db.members.countDocuments({ userId: person.id }),
          db.memberships.countDocuments({ userId: person.id }),
          db.messages.countDocuments({ authorId: person.id }),
        ]);
        return counts.reduce((sum, count) => sum + count, 0);
      };
      await sweepAfter(person.id, 11_000); // the killed worker has reported no progress for 10 s
      const another = startWorker(api.worker, createMetrics('worker'));
      try {
        await waitUntil(async () => (await countLeft()) === 0, 'the deletion of everything');
      } finally {
        await another.close();
      }
      expect(await send<Message[]>(api, 200, friend, 'GET', `/api/channels/${dm.id}/messages`)).to.deep.equal([]);
      await sweepAfter(person.id, 61_000);
      expect(await db.removals.countDocuments()).to.equal(0);
      const $in = homes.map(({ id }) => id);
      expect(await db.members.countDocuments({ serverId: { $in } })).to.equal(2);
    });
});
