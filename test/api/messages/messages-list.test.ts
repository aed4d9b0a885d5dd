import { expect } from 'chai';
import { permissionBits } from '../../../lib/base/permissions.ts';
import type { Answer, TestApi } from '../../harness/api.ts';
import type { World } from '../../harness/world.ts';
import { messageFixture, type Shown } from './message-fixture.ts';

describe('listing messages', () => {
  let api: TestApi;
  let world: World;
  let bot: string;

  before(async () => {
    ({ api, world, bot } = await messageFixture());
  });
  after(() => api.close());

  describe('GET /api/channels/{channelId}/messages', () => {
    const list = (query: string): Promise<Answer<Shown[]>> =>
      api.call<Shown[]>('GET', `/api/channels/${world.channelIds[1]}/messages${query}`, { as: bot });
    let ids: string[];
    before(async () => {
      ids = [];
      for (let n = 0; n < 60; n++)
        ids.push(
          (await api.call<Shown>('POST', `/api/channels/${world.channelIds[1]}/messages`, { as: bot, body: { content: `n ${n}` } })).body
            .id,
        );
    });

    it('the newest page of 50, oldest first', async () => {
      expect((await list('')).body.map((one) => one.id)).to.deep.equal(ids.slice(-50));
    });
    it('before is exclusive, and works for a deleted id', async () => {
      expect((await list(`?before=${ids[20]}&limit=5`)).body.map((one) => one.id)).to.deep.equal(ids.slice(15, 20));
      await api.call('DELETE', `/api/channels/${world.channelIds[1]}/messages/${ids[20]}`, { as: bot });
      expect((await list(`?before=${ids[20]}&limit=2`)).body.map((one) => one.id)).to.deep.equal(ids.slice(18, 20));
      expect((await list('?limit=100')).body.map((one) => one.id)).to.not.include(ids[20]);
    });
    it('after is exclusive, oldest first', async () => {
      expect((await list(`?after=${ids[30]}&limit=3`)).body.map((one) => one.id)).to.deep.equal(ids.slice(31, 34));
    });
    it('a page that is read beside the preflight shows the author, and checks the rights, as they are now', async () => {
      const { db, versions } = api.platform;
      const [authorId, channelId] = [world.bots[0]?.id as string, world.channelIds[1] as string];
      const other = (): Promise<Answer<Shown[]>> =>
        api.call<Shown[]>('GET', `/api/channels/${channelId}/messages?before=${ids[30]}&limit=1`, { as: `Bot ${world.bots[1]?.token}` });
      await other();
      await versions.changing({ accounts: [authorId] }, () => db.accounts.updateOne({ _id: authorId }, { displayName: 'renamed' }));
      expect((await other()).body[0]?.author.displayName).to.equal('renamed');
      const overwrites = [{ id: world.serverId, allow: 0, deny: permissionBits['View Channel'] }];
      await versions.changing({ servers: [world.serverId] }, () => db.channels.updateOne({ _id: channelId }, { overwrites }));
      expect((await other()).status).to.equal(403);
      await versions.changing({ servers: [world.serverId] }, () => db.channels.updateOne({ _id: channelId }, { overwrites: [] }));
    });
    for (const query of [
      'limit=0',
      'limit=101',
      'limit=abc',
      'limit=',
      'limit=1.5',
      'limit=5&limit=6',
      'before=x',
      'before=1000000000000000000&after=1000000000000000000',
    ])
      it(`400 for ${query}`, async () => {
        expect((await list(`?${query}`)).status).to.equal(400);
      });
  });
});
