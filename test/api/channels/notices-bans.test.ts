import { expect } from 'chai';
import { sendNotice, sweepNotices } from '../../../lib/domain/members/notices.ts';
import { startTestApiWithWorker } from '../../harness/api.ts';
import { makeBot, makeMember, makePerson, makeServer, storeBan } from '../../harness/factories.ts';
import { send } from '../../harness/requests.ts';
import { make, use } from '../../harness/use.ts';
import { listDms, listNotices } from './notices-fixture.ts';

describe('notices of bans', () => {
  const api = use(startTestApiWithWorker);
  const owner = make(() => makePerson(api));
  const server = make(() => makeServer(api, owner, 'A *bold* place'), { each: true });

  it('one for a banned member; none for a banned bot, a banned non-member and a refused ban', async () => {
    const [member, bot, stranger] = [await makeMember(api, owner, server.id), await makeBot(api, owner, server.id), await makePerson(api)];
    const ban = (userId: string, status = 204) =>
      send(api, status, owner, 'PUT', `/api/servers/${server.id}/bans/${userId}`, { reason: 'because' });
    for (const { id } of [member, bot, stranger, member]) await ban(id);
    await ban(owner.id, 400);
    const { notices } = api.platform.db;
    for (const { _id } of await notices.find().toArray()) await sendNotice(api.worker, _id);
    expect((await listNotices(api, member)).map(({ content }) => content)).to.deep.equal([
      'You were banned from **A \\*bold\\* place**.\nReason: because',
    ]);
    for (const one of [bot, stranger]) expect(await listDms(api, one)).to.deep.equal([]);
    expect(await notices.countDocuments()).to.equal(0);
  });

  it('after a crash: one for a stored ban, none for a ban that was never stored', async () => {
    const at = new Date(Date.now() - 11_000);
    const [left, banned] = [await makeMember(api, owner, server.id), await makeMember(api, owner, server.id)];
    for (const one of [left, banned]) await send(api, 204, one, 'DELETE', `/api/users/@me/servers/${server.id}`);
    const { notices } = api.platform.db;
    await storeBan(api, server.id, banned.id, at);
    const fields = { kind: 'ban' as const, serverId: server.id, serverName: server.name, reason: null, at };
    await notices.insertMany([left, banned].map(({ id: userId }) => ({ _id: api.worker.ids.next(), userId, ...fields })));
    await sweepNotices(api.worker);
    expect(await notices.countDocuments()).to.equal(0);
    expect([await listNotices(api, left), await listNotices(api, banned)].map((all) => all.length)).to.deep.equal([0, 1]);
  });
});
