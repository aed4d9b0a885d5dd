import { expect } from 'chai';
import { limits } from '../../../lib/base/limits.ts';
import type { DmChannel } from '../../../lib/contract/dm.ts';
import type { Message } from '../../../lib/contract/message.ts';
import type { DmDoc } from '../../../lib/store/mongo/models/dm.ts';
import {
  authorize,
  loseAnswers,
  makeApplication,
  makeBot,
  makeMember,
  makePerson,
  makeServer,
  unknownId,
} from '../../harness/factories.ts';
import { type Caller, inParallel, refused, send, tally } from '../../harness/requests.ts';
import { startSessions } from '../../harness/sessions.ts';
import { make, newBot, use, useServer } from '../../harness/use.ts';

const path = '/api/users/@me/channels';

describe('direct messages', () => {
  const { api, owner, server, bot } = useServer({ bot: newBot() });
  const member = make(() => makeMember(api, owner, server.id), { each: true });
  const sessions = use(() => startSessions(api));

  const open = (as: Caller, to: Caller, status = 201): Promise<DmChannel> => send(api, status, as, 'POST', path, { recipientId: to.id });
  const list = (as: Caller): Promise<DmChannel[]> => send(api, 200, as, 'GET', path);
  const post = (as: Caller, { id }: { id: string }, content = 'x'): Promise<Message> =>
    send(api, 201, as, 'POST', `/api/channels/${id}/messages`, { content });
  const leave = (as: Caller): Promise<void> => send(api, 204, as, 'DELETE', `/api/users/@me/servers/${server.id}`);
  const recipientOf = ({ id, username }: Caller) => ({ id, username, displayName: username, status: 'offline', customStatus: null });

  describe('POST /api/users/@me/channels', () => {
    it('201 with the DM channel the first time, then 200 with the same channel for both accounts', async () => {
      const dm = await open(bot, member);
      expect(dm).to.deep.equal({ id: dm.id, recipient: recipientOf(member), lastMessageId: null });
      expect(await open(bot, member, 200)).to.deep.equal(dm);
      const { displayName } = await send<{ displayName: string }>(api, 200, bot, 'GET', '/api/auth/me');
      expect(await open(member, bot, 200)).to.deep.equal({ ...dm, recipient: { ...recipientOf(bot), displayName, tag: 'bot' } });
    });

    const pairs: [what: string, pair: () => Promise<Caller[]>][] = [
      ['two people', async () => [owner, member]],
      ['two bots', async () => [bot, await makeBot(api, owner, server.id)]],
      ['a person and a bot', async () => [member, bot]],
    ];
    for (const [what, pair] of pairs)
      it(`50 calls of ${what} at once: one 201, and one DM`, async () => {
        const [one, other] = (await pair()) as [Caller, Caller];
        const answers = await inParallel(50, (n) => {
          const [as, to] = n % 2 ? [one, other] : [other, one];
          return api.call<DmChannel>('POST', path, { as: as.as, body: { recipientId: to.id } });
        });
        expect(tally(answers)).to.deep.equal({ 200: 49, 201: 1 });
        expect(new Set(answers.map(({ body }) => body.id)).size).to.equal(1);
        expect(await api.platform.db.dms.countDocuments({ pair: [one.id, other.id].toSorted().join(':') })).to.equal(1);
      });

    it('the same Idempotency-Key gets the first response again, also after a crash', async () => {
      const call = () =>
        api.call<DmChannel>('POST', path, { as: bot.as, body: { recipientId: member.id }, headers: { 'Idempotency-Key': 'k' } });
      const first = await call();
      expect([first.status, (await call()).body]).to.deep.equal([201, first.body]);
      await loseAnswers(api, { resourceId: first.body.id });
      expect(await call()).to.deep.include({ status: 201, body: first.body });
      await open(bot, member, 200);
    });

    it('400 for the caller, an unknown account and a malformed id', async () => {
      for (const recipientId of [bot.id, unknownId, 'x', '', 5, null, undefined]) {
        const { errors } = await refused(api, [400, 'invalid_request'], bot, 'POST', path, { recipientId });
        expect(errors?.map((one) => one.path)).to.deep.equal(['/recipientId']);
      }
    });

    it('403 no_shared_server for accounts without a common server, and no DM is made', async () => {
      const [stranger, otherBot] = [await makePerson(api), await makeApplication(api, owner)];
      await makeServer(api, stranger);
      for (const [as, to] of [
        [bot, stranger],
        [stranger, bot],
        [stranger, member],
        [otherBot, bot],
        [bot, otherBot],
      ] as const)
        await refused(api, [403, 'no_shared_server'], as, 'POST', path, { recipientId: to.id });
      expect(await api.platform.db.dms.countDocuments({ userIds: stranger.id })).to.equal(0);
    });

    it('201 when one of many servers is common', async () => {
      const other = await makeServer(api, member);
      const far = await makeApplication(api, owner, 'far', true);
      for (let n = 0; n < 5; n++) await authorize(api, owner, far, (await makeServer(api, owner)).id);
      await refused(api, [403, 'no_shared_server'], far, 'POST', path, { recipientId: member.id });
      await authorize(api, member, far, other.id);
      await open(far, member);
    });

    it('200 without a common server when the DM exists', async () => {
      const dm = await open(bot, member);
      await leave(member);
      expect((await open(bot, member, 200)).id).to.equal(dm.id);
      expect((await open(member, bot, 200)).id).to.equal(dm.id);
    });
  });

  describe('GET /api/users/@me/channels', () => {
    it('newest activity first: posting and opening move a DM up', async () => {
      const others = [await makeMember(api, owner, server.id), await makeMember(api, owner, server.id)];
      const [a, b] = await Promise.all(others.map((other) => open(member, other)));
      const c = await open(member, bot);
      if (!a || !b) throw new Error('no DMs');
      await post(member, b);
      const last = await post(others[0] as Caller, a);
      const d = await open(member, owner);
      const listed = await list(member);
      expect(listed.map(({ id }) => id)).to.deep.equal([d.id, a.id, b.id, c.id]);
      expect(listed[1]).to.deep.equal({ id: a.id, recipient: recipientOf(others[0] as Caller), lastMessageId: last.id });
      expect((await list(others[0] as Caller)).map(({ id }) => id)).to.deep.equal([a.id]);
      expect(await list(await makePerson(api))).to.deep.equal([]);
    });

    it('shows the chosen status of connected accounts, offline for invisible ones, and custom statuses', async () => {
      const { db, accessVersions } = api.platform;
      const session = await sessions.open(bot, 'a-node');
      await open(member, bot);
      for (const [status, shown] of [
        ['idle', 'idle'],
        ['invisible', 'offline'],
        ['online', 'online'],
      ] as const) {
        const set = { status, customStatus: `is ${status}` };
        await accessVersions.runChange({ accounts: [bot.id] }, () => db.accounts.updateOne({ _id: bot.id }, { $set: set }));
        const [dm] = await list(member);
        expect(dm?.recipient).to.deep.include({ status: shown, customStatus: `is ${status}` });
      }
      await sessions.release(session, 'end');
      expect((await list(member))[0]?.recipient.status).to.equal('offline');
    });

    it('shows a deleted bot as a deleted account', async () => {
      const deleted = await makeApplication(api, owner);
      await authorize(api, owner, deleted, server.id);
      const dm = await open(member, deleted);
      await post(deleted, dm);
      await send(api, 204, owner, 'DELETE', `/api/applications/${deleted.applicationId}`);
      const [shown] = await list(member);
      expect(shown?.recipient).to.deep.equal({
        id: deleted.id,
        username: 'deleted',
        displayName: 'Deleted account',
        status: 'offline',
        customStatus: null,
      });
      await open(member, deleted, 200);
      await refused(api, [403, 'no_shared_server'], member, 'POST', `/api/channels/${dm.id}/messages`, { content: 'x' });
      await refused(api, [400, 'invalid_request'], await makeMember(api, owner, server.id), 'POST', path, { recipientId: deleted.id });
    });

    it(`at most ${limits.dmsListed}, those with the newest activity`, async () => {
      const { db, ids } = api.platform;
      const dmOf = (n: number): DmDoc => {
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
      const made = Array.from({ length: limits.dmsListed + 5 }, (_, n) => dmOf(n * 2 ** 26));
      await db.dms.insertMany(made);
      const newest = made.toSorted((a, b) => (a.activeId < b.activeId ? 1 : -1)).slice(0, limits.dmsListed);
      expect((await list(member)).map(({ id }) => id)).to.deep.equal(newest.map(({ _id }) => _id));
    });
  });
});
