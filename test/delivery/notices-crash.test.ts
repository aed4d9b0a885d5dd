import { expect } from 'chai';
import type { Failpoint } from '../../lib/base/failpoint.ts';
import type { DmChannel } from '../../lib/contract/dm.ts';
import { sweepNotices } from '../../lib/domain/members/notices.ts';
import { startTestApiWithWorker } from '../harness/api.ts';
import { makeBot } from '../harness/factories.ts';
import { expectKilled, sendFatal, useOwnProcess } from '../harness/own-process.ts';
import { send } from '../harness/requests.ts';
import { newMember, useServer } from '../harness/use.ts';

describe('Notices: killed processes', () => {
  const { api, owner, server, member } = useServer({ member: newMember() }, { each: true, start: startTestApiWithWorker });
  const start = useOwnProcess(() => api.platform.config);
  const kickPath = (): string => `/api/servers/${server.id}/members/${member.id}`;
  const kickFatally = async (failpoint: Failpoint): Promise<void> =>
    sendFatal(await start('api', failpoint), owner.as, 'DELETE', kickPath());
  const banFatally = async (failpoint: Failpoint, { id } = member): Promise<void> =>
    sendFatal(await start('api', failpoint), owner.as, 'PUT', `/api/servers/${server.id}/bans/${id}`);
  const sweepOld = async (): Promise<void> => {
    await api.platform.db.notices.updateMany({}, { $set: { at: new Date(Date.now() - 10_500) } });
    await sweepNotices(api.worker);
    expect(await api.platform.db.notices.countDocuments()).to.equal(0);
  };
  const countNotices = async (): Promise<number> => {
    const [dm] = await send<DmChannel[]>(api, 200, member, 'GET', '/api/users/@me/channels');
    return dm ? (await send<unknown[]>(api, 200, member, 'GET', `/api/channels/${dm.id}/messages`)).length : 0;
  };

  const actions = [
    ['kick', kickFatally],
    ['ban', banFatally],
  ] as const;
  for (const [action, act] of actions)
    it(`api killed before the ${action}: the member stays and gets no notice`, async () => {
      await act('after-notice-write');
      await send(api, 200, member, 'GET', `/api/servers/${server.id}`);
      expect(await api.platform.db.notices.countDocuments()).to.equal(1);
      await sweepOld();
      await send(api, 200, member, 'GET', `/api/servers/${server.id}`);
      expect(await countNotices()).to.equal(0);
    });

  for (const [action, act] of actions)
    it(`api killed after the ${action}: the sweep posts the notice`, async () => {
      await act('after-removal');
      await send(api, 404, member, 'GET', `/api/servers/${server.id}`);
      await sweepOld();
      expect(await countNotices()).to.equal(1);
    });

  it('api killed between ban and removal: the sweep removes the member, person or bot, and posts the notice to a person', async () => {
    const bot = await makeBot(api, owner, server.id);
    for (const one of [member, bot]) {
      await banFatally('after-ban-write', one);
      await send(api, 200, one, 'GET', `/api/servers/${server.id}`);
      await sweepOld();
      await send(api, 404, one, 'GET', `/api/servers/${server.id}`);
    }
    expect(await countNotices()).to.equal(1);
    expect(await api.platform.db.dms.countDocuments({ userIds: bot.id })).to.equal(0);
  });

  it('worker killed after it posted the notice: it is posted once', async () => {
    await expectKilled(await start('worker', 'after-notice-post'), () => send(api, 204, owner, 'DELETE', kickPath()));
    expect([await api.platform.db.notices.countDocuments(), await countNotices()]).to.deep.equal([1, 1]);
    await sweepOld();
    expect(await countNotices()).to.equal(1);
  });
});
