import { expect } from 'chai';
import { limits } from '../../../lib/base/limits.ts';
import type { DmChannel } from '../../../lib/contract/dm.ts';
import type { Message } from '../../../lib/contract/message.ts';
import type { DmDoc } from '../../../lib/store/mongo/models/dm.ts';
import { createKeys } from '../../../lib/store/redis/log/keys.ts';
import { createSessions } from '../../../lib/store/redis/log/sessions.ts';
import { openRedis } from '../../../lib/store/redis/redis.ts';
import { startTestApi, type TestApi } from '../../harness/api.ts';
import {
  authorize,
  type Bot,
  type Caller,
  makeApplication,
  makeBot,
  makeMember,
  makePerson,
  makeServer,
  type Place,
  refused,
  send,
  tally,
} from '../../harness/factories.ts';

const path = '/api/users/@me/channels';
const unknownId = '1000000000000000001';

describe('direct messages', () => {
  let api: TestApi;
  let owner: Caller;
  let server: Place;
  let bot: Bot;
  let member: Caller;
  before(async () => {
    api = await startTestApi();
    owner = await makePerson(api);
    server = await makeServer(api, owner);
    bot = await makeBot(api, owner, server.id);
  });
  after(() => api.close());
  beforeEach(async () => {
    member = await makeMember(api, owner, server.id);
  });

  const open = (as: Caller, to: Caller, status = 201): Promise<DmChannel> => send(api, status, as, 'POST', path, { recipientId: to.id });
  const list = (as: Caller): Promise<DmChannel[]> => send(api, 200, as, 'GET', path);
  const post = (as: Caller, { id }: { id: string }, content = 'x'): Promise<Message> =>
    send(api, 201, as, 'POST', `/api/channels/${id}/messages`, { content });
  const leave = (as: Caller): Promise<void> => send(api, 204, as, 'DELETE', `/api/users/@me/servers/${server.id}`);
  const seen = ({ id, username }: Caller) => ({ id, username, displayName: username, status: 'offline', customStatus: null });

  describe('POST /api/users/@me/channels', () => {
    it('201 with the DM channel the first time, 200 with the same when found, from either side', async () => {
      const dm = await open(bot, member);
      expect(dm).to.deep.equal({ id: dm.id, recipient: seen(member), lastMessageId: null });
      expect(await open(bot, member, 200)).to.deep.equal(dm);
      const { displayName } = await send<{ displayName: string }>(api, 200, bot, 'GET', '/api/auth/me');
      expect(await open(member, bot, 200)).to.deep.equal({ ...dm, recipient: { ...seen(bot), displayName, tag: 'bot' } });
    });

    const pairs: [what: string, two: () => Promise<Caller[]>][] = [
      ['two people', async () => [owner, member]],
      ['two bots', async () => [bot, await makeBot(api, owner, server.id)]],
      ['a person and a bot', async () => [member, bot]],
    ];
    for (const [what, two] of pairs)
      it(`one DM of ${what} when both open it 25 times at once: one 201`, async () => {
        const [one, other] = (await two()) as [Caller, Caller];
        const calls = Array.from({ length: 50 }, (_, n) => {
          const [as, to] = n % 2 ? [one, other] : [other, one];
          return api.call<DmChannel>('POST', path, { as: as.as, body: { recipientId: to.id } });
        });
        const answers = await Promise.all(calls);
        expect(tally(answers)).to.deep.equal({ 200: 49, 201: 1 });
        expect(new Set(answers.map(({ body }) => body.id)).size).to.equal(1);
        expect(await api.platform.db.dms.countDocuments({ pair: [one.id, other.id].toSorted().join(':') })).to.equal(1);
      });

    it('the same Idempotency-Key gets the first answer again; after a crash the DM of that id is its own', async () => {
      const call = () =>
        api.call<DmChannel>('POST', path, { as: bot.as, body: { recipientId: member.id }, headers: { 'Idempotency-Key': 'k' } });
      const first = await call();
      expect([first.status, (await call()).body]).to.deep.equal([201, first.body]);
      // As a process that died after its write left it.
      await api.platform.db.idempotency.updateMany({ resourceId: first.body.id }, { $set: { answer: null, claimedAt: new Date(0) } });
      expect(await call()).to.deep.include({ status: 201, body: first.body });
      await open(bot, member, 200);
    });

    it('400 for oneself, an account that is not there, and what is no id', async () => {
      for (const recipientId of [bot.id, unknownId, 'x', '', 5, null, undefined]) {
        const { errors } = await refused(api, [400, 'invalid_request'], bot, 'POST', path, { recipientId });
        expect(errors?.map((one) => one.path)).to.deep.equal(['/recipientId']);
      }
    });

    it('403 no_shared_server for a stranger, and nothing is made', async () => {
      const [stranger, alien] = [await makePerson(api), await makeApplication(api, owner)];
      await makeServer(api, stranger);
      for (const [as, to] of [
        [bot, stranger],
        [stranger, bot],
        [stranger, member],
        [alien, bot],
        [bot, alien],
      ] as const)
        await refused(api, [403, 'no_shared_server'], as, 'POST', path, { recipientId: to.id });
      expect(await api.platform.db.dms.countDocuments({ userIds: stranger.id })).to.equal(0);
    });

    it('any one of many servers is enough', async () => {
      const other = await makeServer(api, member);
      const far = await makeApplication(api, owner, 'far', true);
      for (let n = 0; n < 5; n++) await authorize(api, owner, far, (await makeServer(api, owner)).id);
      await refused(api, [403, 'no_shared_server'], far, 'POST', path, { recipientId: member.id });
      await authorize(api, member, far, other.id);
      await open(far, member);
    });

    it('200 without a shared server when it stands already', async () => {
      const dm = await open(bot, member);
      await leave(member);
      expect((await open(bot, member, 200)).id).to.equal(dm.id);
      expect((await open(member, bot, 200)).id).to.equal(dm.id);
    });
  });

  describe('GET /api/users/@me/channels', () => {
    it('newest activity first: a post moves a DM up, as opening one does', async () => {
      const others = [await makeMember(api, owner, server.id), await makeMember(api, owner, server.id)];
      const [a, b] = await Promise.all(others.map((other) => open(member, other)));
      const c = await open(member, bot);
      if (!a || !b) throw new Error('no DMs');
      await post(member, b);
      const last = await post(others[0] as Caller, a);
      const d = await open(member, owner);
      const listed = await list(member);
      expect(listed.map(({ id }) => id)).to.deep.equal([d.id, a.id, b.id, c.id]);
      expect(listed[1]).to.deep.equal({ id: a.id, recipient: seen(others[0] as Caller), lastMessageId: last.id });
      expect((await list(others[0] as Caller)).map(({ id }) => id)).to.deep.equal([a.id]);
      expect(await list(await makePerson(api))).to.deep.equal([]);
    });

    it('shows who is connected in their chosen status, the invisible as offline, and custom statuses', async () => {
      const { config, db, versions } = api.platform;
      const redis = await openRedis(config, api.platform.log, 'test');
      const sessions = createSessions(redis, createKeys(config.REDIS_PREFIX, config.LOG_PARTITIONS));
      await sessions.renewLease('node');
      await sessions.open({ id: `s${bot.id}`, accountId: bot.id, events: [], node: 'node', owner: 'socket' });
      await open(member, bot);
      const rows = [
        ['idle', 'idle'],
        ['invisible', 'offline'],
        ['online', 'online'],
      ] as const;
      for (const [status, shown] of rows) {
        const set = { status, customStatus: `is ${status}` };
        await versions.changing({ accounts: [bot.id] }, () => db.accounts.updateOne({ _id: bot.id }, { $set: set }));
        const [dm] = await list(member);
        expect(dm?.recipient).to.deep.include({ status: shown, customStatus: `is ${status}` });
      }
      await sessions.leave({ id: `s${bot.id}`, accountId: bot.id, owner: 'socket' }, 'end');
      expect((await list(member))[0]?.recipient.status).to.equal('offline');
      redis.disconnect();
    });

    it('an account that is gone is shown as a deleted one', async () => {
      const gone = await makeApplication(api, owner);
      await authorize(api, owner, gone, server.id);
      const dm = await open(member, gone);
      await post(gone, dm);
      await send(api, 204, owner, 'DELETE', `/api/applications/${gone.applicationId}`);
      const [shown] = await list(member);
      expect(shown?.recipient).to.deep.equal({
        id: gone.id,
        username: 'deleted',
        displayName: 'Deleted account',
        status: 'offline',
        customStatus: null,
      });
      await open(member, gone, 200);
      await refused(api, [403, 'no_shared_server'], member, 'POST', `/api/channels/${dm.id}/messages`, { content: 'x' });
      await refused(api, [400, 'invalid_request'], await makeMember(api, owner, server.id), 'POST', path, { recipientId: gone.id });
    });

    it(`at most ${limits.dmsListed}, and it asks for no more`, async () => {
      const { db, ids } = api.platform;
      const ago = (n: number): DmDoc => {
        const [_id, other] = [ids.next(), ids.next()];
        const activeId = String(BigInt(_id) - BigInt(n)).padStart(19, '0');
        return {
          _id,
          pair: `${member.id}:${other}`,
          userIds: [member.id, other],
          bots: [],
          lastMessageId: null,
          activeId,
          createdAt: new Date(),
        };
      };
      const made = Array.from({ length: limits.dmsListed + 5 }, (_, n) => ago(n * 2 ** 26));
      await db.dms.collection.insertMany(made as never);
      const newest = made.toSorted((a, b) => (a.activeId < b.activeId ? 1 : -1)).slice(0, limits.dmsListed);
      expect((await list(member)).map(({ id }) => id)).to.deep.equal(newest.map(({ _id }) => _id));
    });
  });
});
