import { expect } from 'chai';
import { createMetrics } from '../../lib/base/metrics.ts';
import { serverPlace } from '../../lib/store/redis/log/keys.ts';
import { startWorker } from '../../workers/start.ts';
import { startTestApiWithWorker } from '../harness/api.ts';
import { copiesOf, makeFollowing } from '../harness/crosspost.ts';
import { postMessage } from '../harness/factories.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { expireLocks } from '../harness/jobs.ts';
import { entriesOf } from '../harness/log.ts';
import { expectKilled, useOwnProcess } from '../harness/own-process.ts';
import { send } from '../harness/requests.ts';
import { ownerOf } from '../harness/seed.ts';
import { use } from '../harness/use.ts';

/** Two full chunks of 50 and a part of one. */
const followers = 110;

describe('crosspost-server: a worker killed before the second chunk of its targets', () => {
  const api = use(startTestApiWithWorker);
  const start = useOwnProcess(() => api.platform.config);
  for (const failpoint of ['after-copies-write', 'after-crosspost-mark'] as const)
    it(`${failpoint}: another worker continues, and each target gets exactly one copy and one event`, async () => {
      const { from, to, news, targets } = await makeFollowing(api.platform, followers);
      const { id: messageId } = await postMessage(api, ownerOf(from), news);
      const path = `/api/channels/${news}/messages/${messageId}/crosspost`;
      await expectKilled(await start('worker', failpoint), () => send(api, 200, ownerOf(from), 'POST', path));
      expect(await copiesOf(api.platform, messageId)).to.have.length(50);

      await expireLocks(api.platform.config, 'crosspost');
      const another = startWorker(api.worker, createMetrics('worker'));
      const { messages } = api.platform.db;
      const readLogged = async () =>
        (await entriesOf(api.platform.config, serverPlace(to.serverId))).filter(({ name }) => name === 'MESSAGE_CREATE');
      try {
        await waitUntil(async () => (await messages.countDocuments({ crosspostAt: { $exists: true } })) === 0, 'no crosspostAt');
        await waitUntil(async () => (await readLogged()).length >= followers, 'all events');
      } finally {
        await another.close();
      }
      const copies = await copiesOf(api.platform, messageId);
      expect(copies.map(({ channelId }) => channelId)).to.deep.equal(targets);
      expect((await readLogged()).map(({ data }) => data.id as string).toSorted()).to.deep.equal(copies.map(({ _id }) => _id).toSorted());
    });
});
