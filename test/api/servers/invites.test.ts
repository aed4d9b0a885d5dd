import { expect } from 'chai';
import type { Invite, InvitePreview } from '../../../lib/contract/member.ts';
import { expireInvite, grantTypes, loseAnswers, makeInvite, makeMember, makePeople, makePerson } from '../../harness/factories.ts';
import { inParallel, refused, send, tally } from '../../harness/requests.ts';
import { newMember, newPerson, useServer } from '../../harness/use.ts';

const administrator = 1 << 12;

describe('invites', () => {
  const { api, owner, server, member, outsider } = useServer({ member: newMember(), outsider: newPerson() }, { each: true });
  const path = (): string => `/api/servers/${server.id}/invites`;

  describe('POST /api/servers/{serverId}/invites', () => {
    it('201 by any member, valid for a day without a limit of uses by default, also without a body', async () => {
      const made = await send<Invite>(api, 201, member, 'POST', path());
      expect(made).to.deep.include({ serverId: server.id, maxAgeSecs: 86_400, maxUses: 0, uses: 0 });
      expect(Date.parse(made.expiresAt as string) - Date.parse(made.createdAt)).to.equal(86_400_000);
      expect(made.code).to.match(/^[A-Za-z0-9]{10}$/);
      const forever = await makeInvite(api, member, server.id, { maxAgeSecs: 0, maxUses: 100 });
      expect(forever).to.deep.include({ expiresAt: null, maxUses: 100 });
      expect(forever.code).to.not.equal(made.code);
    });

    it('400 invalid_request for values out of range and of another type', async () => {
      const numbers = [{ maxAgeSecs: -1 }, { maxAgeSecs: 604_801 }, { maxUses: 101 }];
      for (const body of [...numbers, { maxAgeSecs: '60' }, { maxUses: 1.5 }, { maxUses: null }, []])
        await refused(api, [400, 'invalid_request'], member, 'POST', path(), body);
    });

    it('in a developer server they are for one use in at most an hour; 400 for a value that is no whole number', async () => {
      const admin = await makeMember(api, owner, server.id, administrator);
      await grantTypes(api, server.id, ['developer']);
      for (const input of [
        {},
        { maxAgeSecs: 0, maxUses: 0 },
        { maxAgeSecs: 604_800, maxUses: 100 },
        { maxAgeSecs: 604_801, maxUses: 101 },
        { maxAgeSecs: -1, maxUses: -1 },
      ])
        expect(await makeInvite(api, admin, server.id, input)).to.deep.include({ maxAgeSecs: 3_600, maxUses: 1 });
      expect(await makeInvite(api, owner, server.id, { maxAgeSecs: 60 })).to.deep.include({ maxAgeSecs: 60, maxUses: 1 });
      for (const body of [{ maxAgeSecs: 1.5 }, { maxUses: '1' }, { maxUses: null }])
        await refused(api, [400, 'invalid_request'], owner, 'POST', path(), body);
    });

    it('invites made before a server became a developer server work once, in their first hour', async () => {
      const [fresh, used, old] = await inParallel(3, () => makeInvite(api, owner, server.id, { maxAgeSecs: 0, maxUses: 0 }));
      const at = (one?: Invite): string => `/api/invites/${one?.code}`;
      await send(api, 200, await makePerson(api), 'POST', at(used));
      await api.platform.db.invites.updateOne({ _id: String(old?.code) }, { $set: { createdAt: new Date(Date.now() - 3_600_001) } });
      await grantTypes(api, server.id, ['developer']);
      for (const one of [used, old]) {
        await refused(api, [404, 'not_found'], null, 'GET', at(one));
        await refused(api, [404, 'not_found'], outsider, 'POST', at(one));
      }
      const people = await makePeople(api, 10);
      const answers = await Promise.all(people.map(({ as }) => api.call('POST', at(fresh), { as })));
      expect(tally(answers)).to.deep.equal({ 200: 1, 404: 9 });
      expect((await send<Invite[]>(api, 200, owner, 'GET', path())).map(({ code }) => code)).to.not.include.members([
        used?.code,
        old?.code,
      ]);
      await grantTypes(api, server.id, []);
      await send(api, 200, null, 'GET', at(old));
    });

    it('400 too_many_invites beyond 1,000, also of 30 at once; expired and used ones do not count', async () => {
      const rows = Array.from({ length: 990 }, (_, slot) => ({
        _id: `${server.id}${slot}`,
        serverId: server.id,
        creatorId: owner.id,
        slot,
        maxAgeSecs: 0,
        maxUses: 1,
        uses: 0,
        expiresAt: null,
        createdAt: new Date(),
      }));
      await api.platform.db.invites.deleteMany({ serverId: server.id });
      await api.platform.db.invites.insertMany(rows);
      const create = () => api.call('POST', path(), { as: owner.as, body: {} });
      const answers = await inParallel(30, create);
      expect(tally(answers)).to.deep.equal({ 201: 10, 400: 20 });
      expect(answers.find((one) => one.status === 400)?.body.code).to.equal('too_many_invites');
      await expireInvite(api, `${server.id}0`);
      await api.platform.db.invites.updateOne({ _id: `${server.id}1` }, { $set: { uses: 1 } });
      expect(tally(await inParallel(3, create))).to.deep.equal({ 201: 2, 400: 1 });
    });

    it('the same Idempotency-Key makes one invite, also after a crash', async () => {
      const options = { as: member.as, body: {}, headers: { 'Idempotency-Key': 'k' } };
      const first = await api.call<Invite>('POST', path(), options);
      await loseAnswers(api);
      expect((await api.call<Invite>('POST', path(), options)).body).to.deep.equal(first.body);
    });
  });

  describe('GET /api/servers/{serverId}/invites, DELETE /api/invites/{code}', () => {
    it('200 with the valid invites, oldest first; 404 for a deleted one', async () => {
      const made = [await makeInvite(api, owner, server.id), await makeInvite(api, member, server.id, { maxUses: 1 })];
      const spent = await makeInvite(api, owner, server.id, { maxUses: 1 });
      await send(api, 200, await makePerson(api), 'POST', `/api/invites/${spent.code}`);
      const old = await makeInvite(api, owner, server.id);
      await expireInvite(api, old.code);
      const list = (await send<Invite[]>(api, 200, owner, 'GET', path())).filter((one) => one.uses === 0);
      expect(list).to.deep.equal(made);
      await send(api, 204, owner, 'DELETE', `/api/invites/${made[0]?.code}`);
      for (const method of ['GET', 'POST', 'DELETE'])
        await refused(api, [404, 'not_found'], owner, method, `/api/invites/${made[0]?.code}`);
    });
  });

  describe('GET /api/invites/{code}', () => {
    it('200 without a login; 404 for an unknown code', async () => {
      const { code, expiresAt } = await makeInvite(api, owner, server.id);
      expect(await send<InvitePreview>(api, 200, null, 'GET', `/api/invites/${code}`)).to.deep.equal({
        code,
        server: { id: server.id, name: server.name, iconUrl: null, memberCount: 2 },
        expiresAt,
      });
      for (const unknown of ['nosuchcode', '%F0%9F%98%80']) await refused(api, [404, 'not_found'], null, 'GET', `/api/invites/${unknown}`);
    });
  });
});
