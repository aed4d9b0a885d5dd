import { expect } from 'chai';
import { serverPlace } from '../../lib/store/redis/log/keys.ts';
import { startTestApi } from '../harness/api.ts';
import { copiesOf, makeFollowing } from '../harness/crosspost.ts';
import { postMessage } from '../harness/factories.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { entriesOf } from '../harness/log.ts';
import { expectKilled, useOwnProcess } from '../harness/own-process.ts';
import { send } from '../harness/requests.ts';
import { ownerOf } from '../harness/seed.ts';
import { use } from '../harness/use.ts';

const followers = 500;

describe('crosspost-server: a worker killed halfway through 500 targets', () => {
  const api = use(startTestApi, { each: true });
  const start = useOwnProcess(() => api.platform.config);
  for (const failpoint of ['after-copies-write', 'after-crosspost-mark'] as const)
    it(`${failpoint}: another worker continues, and each target gets exactly one copy and one event`, async () => {
      const { from, to, news, targets } = await makeFollowing(api.platform, followers);
      const { id: messageId } = await postMessage(api, ownerOf(from), news);
      const path = `/api/channels/${news}/messages/${messageId}/crosspost`;
      await expectKilled(await start('worker', failpoint), () => send(api, 200, ownerOf(from), 'POST', path));
      expect(await copiesOf(api.platform, messageId)).to.have.length(50);

      await start('worker', '');
      const { messages } = api.platform.db;
      const readLogged = async () =>
        (await entriesOf(api.platform.config, serverPlace(to.serverId))).filter(({ name }) => name === 'MESSAGE_CREATE');
      await waitUntil(async () => (await messages.countDocuments({ crosspostAt: { $exists: true } })) === 0, 'no crosspostAt');
      await waitUntil(async () => (await readLogged()).length >= followers, 'all events');
      const copies = await copiesOf(api.platform, messageId);
      expect(copies.map(({ channelId }) => channelId)).to.deep.equal(targets);
      expect((await readLogged()).map(({ data }) => data.id as string).toSorted()).to.deep.equal(copies.map(({ _id }) => _id).toSorted());
    });
});
