import { expect } from 'chai';
import { relayEvents } from '../../lib/domain/relay/relay.ts';
import { withSharedFields } from '../../lib/store/mongo/database.ts';
import { insertNew } from '../../lib/store/mongo/insert.ts';
import { toMembership } from '../../lib/store/mongo/memberships.ts';
import { join, leave, makeBot, makeInvite, makePeople, makePerson, makeServer, storeBan } from '../harness/factories.ts';
import { startInteractionFixture } from '../harness/interaction-fixture.ts';
import { beforeNextQuery } from '../harness/intercept.ts';
import { fillMemberships } from '../harness/memberships.ts';
import { repeatMigrations } from '../harness/migrations.ts';
import { startNode } from '../harness/parlance.ts';
import { type Caller, inParallel, refused, send } from '../harness/requests.ts';
import { insertMembers, makeServers, memberOf } from '../harness/seed.ts';
import { make, use } from '../harness/use.ts';
import { expectMembers, finishAll, readServers, sweepAfter } from './membership-fixture.ts';

describe('memberships', () => {
  const fixture = use(startInteractionFixture);
  const node = use(() => startNode(fixture.worker.config));
  const owner = make(() => makePerson(fixture.api));
  const server = make(() => makeServer(fixture.api, owner), { each: true });
  const person = make(() => makePerson(fixture.api), { each: true });

  const joinServer = (as: Caller = person): Promise<unknown> => join(fixture.api, owner, server.id, as);
  const tryJoin = async (): Promise<number> => {
    const { code } = await makeInvite(fixture.api, owner, server.id);
    return (await fixture.api.call('POST', `/api/invites/${code}`, { as: person.as })).status;
  };
  const kick = ({ id }: Caller = person): Promise<void> =>
    send(fixture.api, 204, owner, 'DELETE', `/api/servers/${server.id}/members/${id}`);
  const deleteServer = (): Promise<void> => send(fixture.api, 204, owner, 'DELETE', `/api/servers/${server.id}`);
  const isReady = async (as: Caller = person): Promise<boolean> => {
    await relayEvents(fixture.worker, 'server', server.id); // a server is in READY from the SERVER_CREATE of the join on
    return (await readServers(node, as.token)).includes(server.id);
  };
  const membershipOf = (as: Caller = person) => fixture.worker.db.memberships.findOne({ _id: `${as.id}:${server.id}`, userId: as.id });

  describe('races', () => {
    it('a person who joins again before a kick deletes the membership keeps it', async () => {
      await joinServer();
      const { code } = await makeInvite(fixture.api, owner, server.id);
      beforeNextQuery(fixture.api.platform.db.memberships, 'bulkWrite', () =>
        send(fixture.api, 200, person, 'POST', `/api/invites/${code}`),
      );
      await kick();
      await expectMembers(fixture, server.id, [owner.id, person.id]);
      expect(await isReady()).to.equal(true);
    });

    it('a join that ends after another join and its kick gets its membership before SERVER_CREATE', async () => {
      beforeNextQuery(fixture.api.platform.db.members, 'insertOne', async () => {
        await joinServer();
        await kick();
      });
      await joinServer();
      expect(await membershipOf()).to.equal(null);
      expect(await isReady()).to.equal(true);
      await finishAll(fixture, server.id);
      await expectMembers(fixture, server.id, [owner.id, person.id]);
    });

    it('a person whose late join finds no free slot is removed before SERVER_CREATE', async () => {
      await fillMemberships(fixture.worker, person.id, 99);
      beforeNextQuery(fixture.api.platform.db.members, 'insertOne', async () => {
        await sweepAfter(fixture, 11_000);
        await makeServer(fixture.api, person);
      });
      await joinServer();
      expect(await isReady()).to.equal(false);
      await finishAll(fixture, server.id);
      await expectMembers(fixture, server.id, [owner.id]);
      expect(await fixture.worker.db.memberships.countDocuments({ userId: person.id })).to.equal(100);
    });

    for (const [name, act, status, left] of [
      ['its server is deleted', deleteServer, 404, []],
      ['a ban is stored', () => storeBan(fixture.api, server.id, person.id), 403, [owner]],
    ] as const)
      it(`a join leaves nothing if ${name} between its membership and its member`, async () => {
        beforeNextQuery(fixture.api.platform.db.members, 'insertOne', act);
        expect(await tryJoin()).to.equal(status);
        const leftIds = left.map(({ id }) => id);
        await expectMembers(fixture, server.id, leftIds);
        expect(await isReady()).to.equal(false);
      });

    it('a leave whose server is deleted meanwhile leaves nothing, even if its process dies before it deletes the membership', async () => {
      await joinServer();
      const { members, memberships } = fixture.api.platform.db;
      beforeNextQuery(fixture.api.platform.db.servers, 'updateOne', () => fixture.worker.db.servers.deleteOne({ _id: server.id }));
      beforeNextQuery(memberships, 'bulkWrite', () => Promise.reject(new Error('died')));
      expect((await fixture.api.call('DELETE', `/api/users/@me/servers/${server.id}`, { as: person.as })).status).to.equal(500);
      expect(await members.countDocuments({ userId: person.id })).to.equal(0);
      await sweepAfter(fixture, 11_000);
      expect(await membershipOf()).to.equal(null);
    });

    it('20 people who join, leave, are kicked and join again at once: members and memberships are equal in the end', async () => {
      const people = await makePeople(fixture.api, 20);
      const codes = await inParallel(3, () => makeInvite(fixture.api, owner, server.id));
      const path = `/api/servers/${server.id}/members`;
      await Promise.all(
        people.map(async ({ id, as }) => {
          const joins = () => Promise.all(codes.map(({ code }) => fixture.api.call('POST', `/api/invites/${code}`, { as })));
          await Promise.all([
            joins(),
            fixture.api.call('DELETE', `/api/users/@me/servers/${server.id}`, { as }),
            fixture.api.call('DELETE', `${path}/${id}`, { as: owner.as }),
            joins(),
          ]);
        }),
      );
      const userIds = (await fixture.worker.db.members.find({ serverId: server.id }).toArray()).map(({ userId }) => userId);
      await finishAll(fixture, server.id);
      await expectMembers(fixture, server.id, userIds);
    });
  });

  describe('slots', () => {
    it('a person in 100 servers may join another one as soon as a leave is answered', async () => {
      await joinServer();
      await fillMemberships(fixture.worker, person.id, 99);
      await refused(fixture.api, [400, 'too_many_servers'], person, 'POST', '/api/servers', { name: 'x' });
      await leave(fixture.api, person, server.id);
      await joinServer();
    });

    it('the owner of 100 servers may create another one as soon as a deletion is answered', async () => {
      await fillMemberships(fixture.worker, person.id, 99);
      const { id } = await makeServer(fixture.api, person);
      await send(fixture.api, 204, person, 'DELETE', `/api/servers/${id}`);
      await makeServer(fixture.api, person);
    });
  });

  describe('sweep', () => {
    const old = new Date(Date.now() - 11_000);
    const mark = (fields: object): Promise<unknown> =>
      fixture.worker.db.memberships.updateOne({ _id: `${person.id}:${server.id}`, userId: person.id }, { $set: fields });
    const store = (checkAt: Date): Promise<unknown> =>
      insertNew(fixture.worker.db.memberships, {
        ...toMembership({ ...memberOf(server.id, person.id, false), joinedAt: checkAt }),
        slot: 99,
        checkAt,
      });

    it('deletes a membership without a member after 10 s, so that its slot is free', async () => {
      await fillMemberships(fixture.worker, person.id, 99);
      await store(new Date());
      await sweepAfter(fixture, 0);
      expect(await tryJoin()).to.equal(400);
      await sweepAfter(fixture, 11_000);
      await joinServer();
    });

    it('takes the mark off a membership that has a member', async () => {
      await joinServer();
      await mark({ checkAt: old });
      await sweepAfter(fixture, 0);
      await expectMembers(fixture, server.id, [owner.id, person.id]);
    });

    it('gives a membership the joinedAt of its member first, and takes the mark off later', async () => {
      await joinServer();
      await mark({ checkAt: old, joinedAt: old });
      await sweepAfter(fixture, 0);
      expect(await membershipOf()).to.have.property('checkAt');
      await sweepAfter(fixture, 11_000);
      await expectMembers(fixture, server.id, [owner.id, person.id]);
    });

    it('keeps the membership of a join that takes it over at the same moment', async () => {
      await store(old);
      beforeNextQuery(fixture.worker.db.memberships, 'bulkWrite', () => joinServer());
      await sweepAfter(fixture, 0);
      await expectMembers(fixture, server.id, [owner.id, person.id]);
    });
  });

  it('a bot in 2,001 servers receives all of them in READY', async () => {
    const bot = await makeBot(fixture.api, owner, server.id);
    await relayEvents(fixture.worker, 'server', server.id);
    const members = Array.from({ length: 2_000 }, () => [{ id: bot.id, bot: true }]);
    const made = await makeServers(fixture.worker, members);
    expect(await readServers(node, bot.token)).to.have.members([server.id, ...made.map(({ serverId }) => serverId)]);
  });

  describe('migration of members of an earlier version', () => {
    const runMigrations = (): Promise<void> => repeatMigrations(fixture.worker);

    it('people and bots keep their servers and slots, also when it runs again', async () => {
      const { members, memberships } = fixture.worker.db;
      await joinServer();
      const bot = await makeBot(fixture.api, owner, server.id);
      const oldMembers = withSharedFields<{ slot?: number }>(members);
      await oldMembers.updateOne({ _id: `${server.id}:${person.id}` }, { $set: { slot: 41 } });
      await memberships.deleteMany({});
      for (let run = 0; run < 2; run++) {
        await runMigrations();
        await expectMembers(fixture, server.id, [owner.id, person.id, bot.id]);
        expect(await membershipOf()).to.include({ slot: 41 });
        expect(await membershipOf(bot)).to.not.have.property('slot');
        for (const as of [person, bot]) expect(await isReady(as)).to.equal(true);
      }
    });

    it('takes 1,200 members in pages', async () => {
      const { members, memberships } = fixture.worker.db;
      const others = Array.from({ length: 1_200 }, (_, n) => memberOf(server.id, String(n), false));
      await insertMembers(fixture.worker, others);
      await memberships.deleteMany({ serverId: server.id });
      await runMigrations();
      expect(await memberships.countDocuments({ serverId: server.id, checkAt: { $exists: false } })).to.equal(
        await members.countDocuments({ serverId: server.id }),
      );
    });

    it('stores no membership of a member that leaves meanwhile', async () => {
      await joinServer();
      await fixture.worker.db.memberships.deleteMany({ serverId: server.id });
      beforeNextQuery(fixture.worker.db.memberships, 'insertMany', () => kick());
      await runMigrations();
      await expectMembers(fixture, server.id, [owner.id]);
    });
  });
});
