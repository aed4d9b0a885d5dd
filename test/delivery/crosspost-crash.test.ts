import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import type { Failpoint } from '../../lib/base/failpoint.ts';
import { trusted } from '../../lib/store/mongo/database.ts';
import { serverPlace } from '../../lib/store/redis/log/keys.ts';
import { startTestApi, type TestApi } from '../harness/api.ts';
import { copiesOf, makeFollowing } from '../harness/crosspost.ts';
import { entriesOf } from '../harness/log.ts';
import { type OwnProcess, startOwn } from '../harness/own-process.ts';

const followers = 500;

describe('crosspost-message: a worker killed in the middle of 500 targets', function () {
  this.timeout(180_000); // processes start and locks run out
  let api: TestApi;
  const children: OwnProcess[] = [];
  beforeEach(async () => {
    api = await startTestApi();
  });
  afterEach(async () => {
    for (const child of children.splice(0)) child.kill('SIGKILL');
    await api.close();
  });

  /** A worker process of its own over the same stores, that dies at `failpoint` if there is one. */
  const startWorker = async (failpoint: Failpoint | ''): Promise<OwnProcess> => {
    const child = await startOwn('worker', api.platform.config, { failpoint });
    children.push(child);
    return child;
  };
  const eventually = async (probe: () => Promise<boolean>): Promise<void> => {
    while (!(await probe())) await pause(50);
  };

  for (const [failpoint, made] of [
    ['after-copies-write', 50],
    ['after-crosspost-mark', 50],
  ] as const)
    it(`${failpoint}: another goes on, and each target gets exactly one copy and one event`, async () => {
      const { from, to, news, targets } = await makeFollowing(api.platform, followers);
      const as = `Bearer ${from.ownerToken}`;
      const { body } = await api.call('POST', `/api/channels/${news}/messages`, { as, body: { content: 'news' } });
      const messageId = String(body.id);
      const doomed = await startWorker(failpoint);
      const died = doomed.ended;
      expect((await api.call('POST', `/api/channels/${news}/messages/${messageId}/crosspost`, { as })).status).to.equal(200);
      const [, signal] = (await died) as [number | null, string | null];
      expect(signal).to.equal('SIGKILL');
      expect(await copiesOf(api.platform, messageId)).to.have.length(made);

      await startWorker('');
      const { messages } = api.platform.db;
      for (const owed of ['crosspostAt', 'obAt'])
        await eventually(async () => (await messages.countDocuments({ [owed]: trusted({ $exists: true }) })) === 0);
      const copies = await copiesOf(api.platform, messageId);
      expect(copies.map(({ channelId }) => channelId)).to.deep.equal(targets);
      const logged = (await entriesOf(api.platform.config, serverPlace(to.serverId))).filter(({ name }) => name === 'MESSAGE_CREATE');
      expect(logged.map(({ data }) => data.id as string).toSorted()).to.deep.equal(copies.map(({ _id }) => _id).toSorted());
    });
});
