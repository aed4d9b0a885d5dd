import { expect } from 'chai';
import { limits } from '../../lib/base/limits.ts';
import type { Member } from '../../lib/contract/member.ts';
import { finishRemoval } from '../../lib/domain/jobs/finish-removal.ts';
import { recountMembers } from '../../lib/domain/members/changes.ts';
import { relayEvents } from '../../lib/domain/relay/relay.ts';
import { accountPlace } from '../../lib/store/redis/log/keys.ts';
import { makeBot, makeInvite, makeMember, makePerson, makeRole, makeServer } from '../harness/factories.ts';
import { startInteractionFixture } from '../harness/interaction-fixture.ts';
import { interceptNext, withLog } from '../harness/intercept.ts';
import { listOverdueKeys } from '../harness/overdue-keys.ts';
import { sendFatal, useOwnProcess } from '../harness/own-process.ts';
import { caughtUp, startNode, useRecorder } from '../harness/parlance.ts';
import { inParallel, refused, send, tally } from '../harness/requests.ts';
import { make, use } from '../harness/use.ts';

describe('Events: members who join and leave while processes die', () => {
  // A change counts as under way for 5 s after its process was killed.
  const fixture = use(() => startInteractionFixture({ STORE_TIMEOUT_FACTOR: '2' }));
  const node = use(() => startNode(fixture.worker.config));
  const start = useOwnProcess(() => fixture.worker.config);
  const owner = make(() => makePerson(fixture.api));
  const server = make(() => makeServer(fixture.api, owner), { each: true });
  /** A bot that opted in. */
  const bot = make(() => makeBot(fixture.api, owner, server.id), { each: true });
  const recorder = useRecorder(node, bot, ['MEMBER_ADD', 'MEMBER_REMOVE', 'SERVER_DELETE'], { each: true });

  const receivedEvents = async (): Promise<string[]> => {
    await caughtUp(fixture.worker, accountPlace(bot.id), bot.id, recorder);
    return recorder.received.map(({ t, d }) => `${t} ${String(d.userId ?? (d.member as Member | undefined)?.user.id ?? d.id)}`);
  };
  const stored = async () => (await fixture.api.platform.db.servers.findOne({ _id: server.id })) ?? expect.fail();
  /** Does what the sweep does after `ms`: relays pending events, then recounts. */
  const sweepAfter = async (ms: number): Promise<void> => {
    const { servers, members } = fixture.api.platform.db;
    const past = { $subtract: ['$$NOW', ms] };
    for (const documents of [servers, members]) await documents.updateMany({ outbox: { $exists: true } }, [{ $set: { outboxAt: past } }]);
    expect(await listOverdueKeys(fixture.worker, 'server')).to.include(server.id);
    await relayEvents(fixture.worker, 'server', server.id);
    await relayEvents(fixture.worker, 'server', server.id);
    await recount();
  };
  const recount = async (): Promise<void> => {
    await fixture.api.platform.db.servers.updateMany({ recountAt: { $exists: true } }, { $set: { recountAt: new Date(0) } });
    await recountMembers(fixture.worker);
  };

  for (const [when, failpoint, isStored] of [
    ['before', 'after-departure-intent', true],
    ['after', 'after-departure', false],
  ] as const)
    it(`api killed ${when} it removed the member: MEMBER_REMOVE is sent once, and the count is corrected`, async () => {
      const { id } = await makeMember(fixture.api, owner, server.id);
      const isMember = async () => (await fixture.api.platform.db.members.findOne({ _id: `${server.id}:${id}` })) !== null;
      await relayEvents(fixture.worker, 'server', server.id);
      await recount();
      await sendFatal(await start('api', failpoint), owner.as, 'DELETE', `/api/servers/${server.id}/members/${id}`);
      expect([await isMember(), (await stored()).memberCount]).to.deep.equal([isStored, 3]);
      await sweepAfter(2_500);
      expect(await isMember()).to.equal(false);
      expect(await stored())
        .to.include({ memberCount: 2 })
        .and.not.have.any.keys('outbox', 'outboxAt', 'recountAt');
      expect((await receivedEvents()).filter((one) => one.includes(id))).to.deep.equal([`MEMBER_ADD ${id}`, `MEMBER_REMOVE ${id}`]);
    });

  it('a join that dies before the count is sent and counted', async () => {
    const person = await makePerson(fixture.api);
    const { code } = await makeInvite(fixture.api, owner, server.id);
    await relayEvents(fixture.worker, 'server', server.id);
    await recount();
    interceptNext(fixture.api.platform.db.servers, 'updateOne', () => Promise.reject(new Error('died')));
    expect((await fixture.api.call('POST', `/api/invites/${code}`, { as: person.as })).status).to.equal(500);
    expect((await stored()).memberCount).to.equal(2);
    await sweepAfter(2_500);
    expect((await stored()).memberCount).to.equal(3);
    expect(await receivedEvents()).to.include(`MEMBER_ADD ${person.id}`);
  });

  it('20 parallel removals of one member give one 204 and one MEMBER_REMOVE', async () => {
    const { id } = await makeMember(fixture.api, owner, server.id);
    const path = `/api/servers/${server.id}/members/${id}`;
    const answers = tally(await inParallel(20, () => fixture.api.call('DELETE', path, { as: owner.as })));
    expect([answers[204], answers[404]]).to.deep.equal([1, 19]);
    await Promise.all([relayEvents(fixture.worker, 'server', server.id), relayEvents(fixture.worker, 'server', server.id)]);
    await recount();
    expect((await receivedEvents()).filter((one) => one === `MEMBER_REMOVE ${id}`)).to.have.length(1);
    expect((await stored()).memberCount).to.equal(2);
  });

  it('refuses changes of a server or member with 1,000 pending events with 503', async () => {
    const { id } = await makeMember(fixture.api, owner, server.id);
    const { id: roleId } = await makeRole(fixture.api, owner, server.id);
    const outbox = Array.from({ length: limits.pendingEvents }, () => ({ id: fixture.worker.ids.next(), name: 'SERVER_UPDATE' }));
    const { servers, members } = fixture.api.platform.db;
    const fillOutbox = { $set: { outbox, outboxAt: new Date() } } as never;
    await servers.updateOne({ _id: server.id }, fillOutbox);
    await members.updateOne({ _id: `${server.id}:${id}` as never }, fillOutbox);
    const at = (path = ''): string => `/api/servers/${server.id}${path}`;
    for (const [method, path, body] of [
      ['DELETE', at(`/members/${id}`)],
      ['PATCH', at(), { name: 'y' }],
      ['POST', at('/roles'), { name: 'y' }],
      ['PATCH', at(`/roles/${roleId}`), { name: 'y' }],
      ['DELETE', at(`/roles/${roleId}`)],
      ['PUT', at(`/members/${id}/roles/${roleId}`)],
    ] as const)
      await refused(fixture.api, [503, 'unavailable'], owner, method, path, body);
    await relayEvents(fixture.worker, 'server', server.id);
    await send(fixture.api, 204, owner, 'PUT', at(`/members/${id}/roles/${roleId}`));
    await send(fixture.api, 204, owner, 'DELETE', at(`/members/${id}`));
  });

  it('members of a deleted server receive SERVER_DELETE once, although the worker died and the job runs twice', async () => {
    const { id } = await makeMember(fixture.api, owner, server.id);
    await send(fixture.api, 204, owner, 'DELETE', `/api/servers/${server.id}/members/${bot.id}`);
    await send(fixture.api, 204, owner, 'DELETE', `/api/servers/${server.id}`);
    const { removals } = fixture.api.platform.db;
    const removal = (await removals.findOne({ serverId: server.id, kind: 'members' })) ?? expect.fail();
    expect(removal.userIds).to.have.members([owner.id, id, bot.id]);
    let appends = 0;
    const append: typeof fixture.worker.eventLog.append = (...args) =>
      appends++ > 1 ? Promise.reject(new Error('died')) : fixture.worker.eventLog.append(...args);
    const fault = await finishRemoval(withLog(fixture.worker, { append }), removal._id).catch((error: unknown) => error);
    expect(fault).to.be.an('error').with.property('message', 'died');
    await Promise.all([finishRemoval(fixture.worker, removal._id), finishRemoval(fixture.worker, removal._id)]);
    expect((await receivedEvents()).filter((one) => one === `SERVER_DELETE ${server.id}`)).to.have.length(1);
    expect(await removals.findOne({ _id: removal._id }, { projection: { _id: 1 } })).to.equal(null);
  });

  it('counts 10,000 members once', async () => {
    const { members } = fixture.api.platform.db;
    const many = Array.from({ length: 10_000 }, (_, n) => ({
      _id: `${server.id}:${n}`,
      serverId: server.id,
      userId: String(n),
      roles: [],
    }));
    await members.insertMany(many as never, { ordered: false });
    await fixture.api.platform.db.servers.updateMany({}, { $unset: { recountAt: 1 } });
    let counts = 0;
    const real = members.countDocuments.bind(members);
    Object.assign(members, {
      countDocuments: (...args: Parameters<typeof real>) => {
        counts++;
        return real(...args);
      },
    });
    await fixture.api.platform.db.servers.updateOne({ _id: server.id }, { $set: { recountAt: new Date(0) } });
    await recountMembers(fixture.api.platform);
    await recountMembers(fixture.api.platform);
    Object.assign(members, { countDocuments: real });
    expect([counts, (await stored()).memberCount]).to.deep.equal([1, 10_002]);
  });
});
