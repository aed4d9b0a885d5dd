import { expect } from 'chai';
import { limits } from '../../../lib/base/limits.ts';
import { permissionBits } from '../../../lib/base/permissions.ts';
import type { Server } from '../../../lib/contract/server.ts';
import { type Answer, startTestApi } from '../../harness/api.ts';
import { makeFollowing } from '../../harness/crosspost.ts';
import { giveRole, makeMember, makePerson, makeRole, makeServer, type Place, postMessage } from '../../harness/factories.ts';
import { type Caller, inParallel, send } from '../../harness/requests.ts';
import { botOf, channelOf, fillServer, insertMembers, memberOf, ownerOf, seedServer } from '../../harness/seed.ts';
import { make, use } from '../../harness/use.ts';

describe('limits of creations', () => {
  const api = use(() => startTestApi({ RATE_LIMIT: '100000/100000' }));
  const seeded = make(() => seedServer(api.platform, { bots: limits.newDmsBurst + 12, channels: 2 }));
  // What the buckets regain while the calls run: at most one in six seconds.
  const slack = 3;

  const countLimited = (answers: readonly Answer<Record<string, unknown>>[]): number => {
    const limited = answers.filter(({ status }) => status === 429);
    for (const { body, headers } of limited)
      expect([body.code, Number(headers.get('retry-after')) > 0]).to.deep.equal(['rate_limited', true]);
    return limited.length;
  };
  const botToken = (slot: number): string => `Bot ${seeded.bots[slot]?.token}`;

  const createThread = (channel: number, slot: number) =>
    api.call('POST', `/api/channels/${seeded.channelIds[channel]}/threads`, { as: botToken(slot), body: { name: 'a' } });
  /** Makes `count` threads at once as one bot; returns how many were made. */
  const createThreads = async (count: number, channel: number, slot: number): Promise<number> => {
    const answers = await inParallel(count, () => createThread(channel, slot));
    expect(answers.every(({ status }) => [201, 429].includes(status))).to.equal(true);
    return count - countLimited(answers);
  };

  it('ten threads of one account in a channel, not for other accounts and channels', async () => {
    expect(await createThreads(30, 0, 0)).to.be.within(limits.threadsPerMinute, limits.threadsPerMinute + slack);
    expect((await createThread(0, 1)).status).to.equal(201);
    expect((await createThread(1, 0)).status).to.equal(201);
  });

  it('sixty threads of all accounts in a server', async () => {
    for (let slot = 1; slot < 7; slot++) await createThreads(15, 1, slot);
    expect((await createThreads(10, 0, 6)) + (await createThreads(10, 0, 5))).to.be.below(20);
    expect(await api.platform.db.channels.countDocuments({ kind: 'thread' })).to.be.at.most(limits.threadsPerServerPerMinute + 20);
  });

  it('200 attempts to create a server, of which a person keeps 100', async () => {
    const { as } = await makePerson(api);
    const create = () => api.call('POST', '/api/servers', { as, body: { name: 'Harbour' } });
    const answers = await inParallel(limits.newServersBurst + 10, create);
    expect(answers.filter(({ status }) => status === 201)).to.have.length(limits.serversPerPerson);
    expect(countLimited(answers)).to.be.within(10 - slack, 10);
    expect(await api.platform.db.servers.countDocuments({ ownerId: { $ne: seeded.ownerId } })).to.equal(limits.serversPerPerson);
  });

  it('100 new direct message channels of an account, and existing ones without limit', async () => {
    const open = (recipient: number) =>
      api.call('POST', '/api/users/@me/channels', { as: botToken(0), body: { recipientId: seeded.bots[recipient]?.id } });
    const answers = await inParallel(limits.newDmsBurst + 10, (index) => open(index + 1));
    expect(countLimited(answers)).to.be.within(10 - slack, 10);
    const made = answers.findIndex(({ status }) => status === 201);
    expect((await open(made + 1)).status).to.equal(200);
  });

  describe('changes of who can view channels, by the number of channels', () => {
    const channels = 400;
    const allowed = Math.floor(limits.viewChangesBurst / (channels + 1));
    const owner = make(() => makePerson(api), { each: true });
    const makeLargeServer = async (by: Caller): Promise<Place> => {
      const made = await makeServer(api, by);
      const positions = Array.from({ length: channels }, (_, at) => at + 1);
      await api.platform.db.channels.insertMany(positions.map((at) => channelOf(api.platform.ids.next(), made.id, at)));
      return made;
    };
    const server = make(() => makeLargeServer(owner), { each: true });
    const role = make(() => makeRole(api, owner, server.id, { permissions: permissionBits.Administrator }), { each: true });
    const member = make(() => makeMember(api, owner, server.id), { each: true });

    /** Makes calls until one is limited, and expects that `most` were not, or some more that the bucket regained. */
    const expectLimit = async (most: number, run: (at: number) => Promise<Answer<Record<string, unknown>>>): Promise<void> => {
      const answers: Answer<Record<string, unknown>>[] = [];
      while (answers.length <= most + slack && answers.at(-1)?.status !== 429) answers.push(await run(answers.length));
      expect(countLimited(answers)).to.equal(1);
      expect(answers.length - 1).to.be.within(most, most + slack);
    };
    const roles = (): string => `/api/servers/${server.id}/roles`;
    const changes: readonly [what: string, change: (at: number) => readonly [method: string, path: string, body?: unknown]][] = [
      ['View Channel of @everyone', (at) => ['PATCH', `${roles()}/${server.id}`, { permissions: at % 2 }]],
      ['Administrator of a role', (at) => ['PATCH', `${roles()}/${role.id}`, { permissions: at % 2 ? permissionBits.Administrator : 0 }]],
      ['the role of a member', (at) => [at % 2 ? 'DELETE' : 'PUT', `/api/servers/${server.id}/members/${member.id}/roles/${role.id}`]],
    ];
    for (const [what, change] of changes)
      it(what, async () => {
        await expectLimit(allowed, (at) => {
          const [method, path, body] = change(at);
          return api.call(method, path, { as: owner.as, body });
        });
        await send(api, 200, owner, 'PATCH', `${roles()}/${role.id}`, { name: 'renamed' });
      });

    it('the role of one member after another, for whoever gives it in a server', async () => {
      const givenAllowed = Math.floor(limits.givenViewsBurst / (channels + 1));
      const memberIds = await fillServer(api.platform, server.id, givenAllowed + 2 * slack, 'guest');
      await expectLimit(givenAllowed, (at) =>
        api.call('PUT', `/api/servers/${server.id}/members/${memberIds[at]}/roles/${role.id}`, { as: owner.as }),
      );
      await send(api, 200, owner, 'PATCH', `${roles()}/${server.id}`, { permissions: 0 });
      const second = await makeServer(api, owner);
      const secondRole = await makeRole(api, owner, second.id, { permissions: permissionBits.Administrator });
      const person = await makeMember(api, owner, second.id);
      await giveRole(api, owner, second.id, person.id, secondRole.id);
    });

    for (const isAbove of [true, false])
      it(`not refused changes: a ${isAbove ? 'role above that of the caller' : 'permission that the caller lacks'}`, async () => {
        const manager = await makeMember(api, owner, server.id, permissionBits['Manage Roles']);
        const low = await makeRole(api, owner, server.id, { permissions: 0 });
        const { roles: all } = await send<Server>(api, 200, owner, 'GET', `/api/servers/${server.id}`);
        const highest = isAbove ? await makeRole(api, owner, server.id, { permissions: 0, position: all.length }) : low;
        for (let at = 0; at <= allowed + slack; at++) {
          const { status } = await api.call('PATCH', `${roles()}/${highest.id}`, {
            as: manager.as,
            body: { permissions: permissionBits.Administrator },
          });
          expect(status).to.equal(403);
        }
        await send(api, 200, owner, 'PATCH', `${roles()}/${server.id}`, { permissions: 0 });
      });

    it('of an account before the server, which others can then change', async () => {
      const admin = await makeMember(api, owner, server.id, permissionBits.Administrator);
      let changed = 0;
      const toggle = async (as: Caller): Promise<Answer<Record<string, unknown>>> => {
        const body = { permissions: changed % 2 };
        const answer = await api.call<Record<string, unknown>>('PATCH', `${roles()}/${server.id}`, { as: as.as, body });
        if (answer.status === 200) changed++;
        return answer;
      };
      const second = await makeLargeServer(admin);
      for (let at = 0; at < allowed; at++)
        await send(api, 200, admin, 'PATCH', `/api/servers/${second.id}/roles/${second.id}`, { permissions: at % 2 });
      const refused: Answer<Record<string, unknown>>[] = [];
      for (let at = 0; at <= allowed + slack; at++) refused.push(await toggle(admin));
      expect(countLimited(refused)).to.be.at.least(allowed + 1);
      expect((await toggle(owner)).status).to.equal(200);
    });
  });

  it('crossposts of a server and of an account, by the number of copies', async () => {
    const followers = 1_000;
    const allowed = limits.copiesBurst / followers;
    const [busy, second] = [await makeFollowing(api.platform, followers), await makeFollowing(api.platform, followers)];
    const owner = ownerOf(busy.from);
    await insertMembers(api.platform, [memberOf(second.from.serverId, owner.id, false)]);
    /** Crossposts new messages until one is refused; returns how many were not. */
    const crosspostAll = async (as: Caller, channelId: string): Promise<number> => {
      for (let done = 0; done <= allowed + slack; done++) {
        const { id } = await postMessage(api, as, channelId);
        const answer = await api.call<Record<string, unknown>>('POST', `/api/channels/${channelId}/messages/${id}/crosspost`, {
          as: as.as,
        });
        if (countLimited([answer]) === 1) return done;
        expect(answer.status, JSON.stringify(answer.body)).to.equal(200);
      }
      return Number.POSITIVE_INFINITY;
    };
    expect(await crosspostAll(owner, busy.news)).to.be.within(allowed, allowed + slack);
    expect(await crosspostAll(botOf(busy.from), busy.news), 'another account in the server').to.be.at.most(slack);
    expect(await crosspostAll(owner, second.news), 'the account in another server').to.be.at.most(slack);
    expect(await crosspostAll(ownerOf(second.from), second.news), 'another account in another server').to.be.above(slack);
  });
});
