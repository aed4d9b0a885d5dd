import { expect } from 'chai';
import type { Channel } from '../../../lib/contract/channel.ts';
import { startRacingTestApi, type TestApi } from '../../harness/api.ts';
import { around } from '../../harness/around.ts';
import {
  type Caller,
  giveRole,
  makeChannel,
  makeMember,
  makePerson,
  makeRole,
  makeServer,
  type Place,
  refused,
  send,
  setOverwrite,
  tally,
} from '../../harness/factories.ts';
import { fillServer } from '../../harness/world.ts';

const [view, post, manageChannels, manageRoles] = [1, 2, 1 << 6, 1 << 7];
const unknownId = '1000000000000000000';

describe('overwrites', () => {
  let api: TestApi;
  let owner: Caller;
  let member: Caller;
  let outsider: Caller;
  let server: Place;
  before(async () => {
    api = await startRacingTestApi();
    owner = await makePerson(api);
    server = await makeServer(api, owner);
    member = await makeMember(api, owner, server.id);
    outsider = await makePerson(api);
  });
  after(() => api.close());
  const read = (as: Caller, id: string): Promise<Channel> => send(api, 200, as, 'GET', `/api/channels/${id}`);

  describe('PUT /api/channels/{channelId}/overwrites/{roleOrUserId}', () => {
    let keeper: Caller;
    let high: string;
    let low: string;
    let channel: Channel;
    const path = (target: string, id = channel.id): string => `/api/channels/${id}/overwrites/${target}`;
    before(async () => {
      high = (await makeRole(api, owner, server.id)).id;
      keeper = await makeMember(api, owner, server.id, view | post | manageRoles);
      low = (await makeRole(api, owner, server.id)).id;
      await send(api, 200, owner, 'PATCH', `/api/servers/${server.id}/roles/${high}`, { position: 3 });
    });
    beforeEach(async () => {
      channel = await makeChannel(api, owner, server.id);
    });

    it('200 with the channel; it is replaced, not doubled, and taken away by 204, twice', async () => {
      const first = await setOverwrite(api, keeper, channel.id, low, view, post);
      expect(first.overwrites).to.deep.equal([{ id: low, allow: view, deny: post }]);
      expect((await setOverwrite(api, keeper, channel.id, low, post, 0)).overwrites).to.deep.equal([{ id: low, allow: post, deny: 0 }]);
      for (const status of [204, 204]) await send(api, status, keeper, 'DELETE', path(low));
      expect((await read(owner, channel.id)).overwrites).to.deep.equal([]);
    });

    for (const method of ['PUT', 'DELETE'] as const)
      it(`403 for a ${method} that would undo bits which the caller lacks and the owner sets at the same moment`, async () => {
        await setOverwrite(api, owner, channel.id, low, view, post);
        const held = new Promise<() => void>((reached) => {
          around(api.platform.db.channels.collection, 'findOneAndUpdate', async (write) => {
            await new Promise<void>((go) => {
              reached(go);
            });
            return write();
          });
        });
        const body = method === 'PUT' ? { body: { allow: 0, deny: 0 } } : {};
        const late = api.call(method, path(low), { as: keeper.as, ...body });
        const go = await held;
        await setOverwrite(api, owner, channel.id, low, view | manageChannels, post);
        go();
        const { status, body: answer } = await late;
        expect([status, answer.code]).to.deep.equal([403, 'missing_permission']);
        expect((await read(owner, channel.id)).overwrites).to.deep.equal([{ id: low, allow: view | manageChannels, deny: post }]);
      });

    it('takes effect on the next request', async () => {
      await send(api, 201, member, 'POST', `/api/channels/${channel.id}/messages`, { content: 'x' });
      await setOverwrite(api, keeper, channel.id, server.id, 0, post);
      await refused(api, [403, 'missing_permission'], member, 'POST', `/api/channels/${channel.id}/messages`, { content: 'x' });
      await setOverwrite(api, keeper, channel.id, member.id, post, 0);
      await send(api, 201, member, 'POST', `/api/channels/${channel.id}/messages`, { content: 'x' });
      await send(api, 204, keeper, 'DELETE', path(member.id));
      await refused(api, [403, 'missing_permission'], member, 'POST', `/api/channels/${channel.id}/messages`, { content: 'x' });
    });

    it('20 at once for different members all stand', async () => {
      const roles = await Promise.all(Array.from({ length: 20 }, () => makeRole(api, owner, server.id)));
      await Promise.all(roles.map((role) => setOverwrite(api, owner, channel.id, role.id, 0, view)));
      const { overwrites } = await read(owner, channel.id);
      expect(overwrites.map((one) => one.id)).to.have.members(roles.map((one) => one.id));
    });

    it('403 role_hierarchy for a role or member that is not below the caller, 403 for the owner and oneself', async () => {
      for (const target of [high, owner.id, keeper.id])
        for (const [method, body] of [
          ['PUT', { allow: 0, deny: 0 }],
          ['DELETE', undefined],
        ] as const)
          await refused(api, [403, 'role_hierarchy'], keeper, method, path(target), body);
    });

    it('403 missing_permission for bits that the caller lacks, allowed, denied or taken back', async () => {
      for (const body of [
        { allow: manageChannels, deny: 0 },
        { allow: 0, deny: manageChannels },
      ]) {
        const { missing } = await refused(api, [403, 'missing_permission'], keeper, 'PUT', path(low), body);
        expect(missing).to.deep.equal(['Manage Channels']);
      }
      await setOverwrite(api, owner, channel.id, low, 0, manageChannels);
      await refused(api, [403, 'missing_permission'], keeper, 'PUT', path(low), { allow: 0, deny: 0 });
      await refused(api, [403, 'missing_permission'], keeper, 'DELETE', path(low));
      await setOverwrite(api, keeper, channel.id, low, view, manageChannels);
    });

    it('403 missing_permission without Manage Roles, 404 for an unknown target', async () => {
      const { missing } = await refused(api, [403, 'missing_permission'], member, 'PUT', path(low), { allow: 0, deny: 0 });
      expect(missing).to.deep.equal(['Manage Roles']);
      for (const target of [unknownId, 'x', '$one', outsider.id])
        await refused(api, [404, 'not_found'], keeper, 'PUT', path(target), { allow: 0, deny: 0 });
    });

    for (const body of [{ allow: 1 }, { allow: -1, deny: 0 }, { allow: 8192, deny: 0 }, { allow: '1', deny: 0 }, { allow: 1, deny: 1 }])
      it(`400 invalid_request for ${JSON.stringify(body)}`, () => refused(api, [400, 'invalid_request'], keeper, 'PUT', path(low), body));
  });

  it('400 too_many_overwrites beyond 200, also for 10 at once; one that stands can be changed', async () => {
    const { id } = await makeChannel(api, owner, server.id);
    const targets = await fillServer(api.platform, server.id, 209, 'target');
    const overwrites = targets.slice(0, 199).map((target) => ({ id: target, allow: 0, deny: post }));
    await api.platform.versions.changing({ servers: [server.id] }, () =>
      api.platform.db.channels.updateOne({ _id: id }, { $set: { overwrites } }),
    );
    const answers = await Promise.all(
      targets
        .slice(199)
        .map((target) => api.call('PUT', `/api/channels/${id}/overwrites/${target}`, { as: owner.as, body: { allow: 0, deny: post } })),
    );
    expect(tally(answers)).to.deep.equal({ 200: 1, 400: 9 });
    expect(answers.find(({ status }) => status === 400)?.body.code).to.equal('too_many_overwrites');
    await setOverwrite(api, owner, id, targets[0] as string, 0, view);
    expect((await read(owner, id)).overwrites).to.have.length(200);
  });

  describe('POST /api/servers/{serverId}/channels with overwrites', () => {
    const path = (): string => `/api/servers/${server.id}/channels`;
    const input = (...overwrites: object[]) => ({ name: 'hidden', kind: 'text', overwrites });

    it('201: the channel is hidden from the start, and its event goes to nobody who may not view it', async () => {
      const role = await makeRole(api, owner, server.id);
      const overwrites = [
        { id: server.id, allow: 0, deny: view },
        { id: role.id, allow: view, deny: 0 },
      ];
      const made = await send<Channel>(api, 201, owner, 'POST', path(), input(...overwrites));
      expect(made.overwrites).to.deep.equal(overwrites);
      expect((await api.platform.db.channels.findOne({ _id: made.id }).lean())?.overwrites).to.deep.equal(overwrites);
      await refused(api, [403, 'missing_permission'], member, 'GET', `/api/channels/${made.id}`);
      await giveRole(api, owner, server.id, member.id, role.id);
      await send(api, 200, member, 'GET', `/api/channels/${made.id}`);
    });

    it('refuses as setting them one by one does, and makes nothing', async () => {
      const high = await makeRole(api, owner, server.id);
      const maker = await makeMember(api, owner, server.id, view | manageChannels);
      const keeper = await makeMember(api, owner, server.id, view | manageChannels | manageRoles);
      await send(api, 200, owner, 'PATCH', `/api/servers/${server.id}/roles/${high.id}`, { position: 3 });
      const before = await api.platform.db.channels.countDocuments({ serverId: server.id });
      const everyone = { id: server.id, allow: 0, deny: view };
      const rows: [Caller, readonly [number, string], object[]][] = [
        [maker, [403, 'missing_permission'], [everyone]],
        [keeper, [403, 'missing_permission'], [{ ...everyone, deny: 1 << 10 }]],
        [keeper, [403, 'role_hierarchy'], [{ ...everyone, id: high.id }]],
        [keeper, [404, 'not_found'], [{ ...everyone, id: unknownId }]],
        [keeper, [400, 'invalid_request'], [{ ...everyone, allow: view }]],
        [keeper, [400, 'invalid_request'], [everyone, everyone]],
        [owner, [400, 'invalid_request'], Array.from({ length: 201 }, () => everyone)],
      ];
      for (const [as, expected, overwrites] of rows) await refused(api, expected, as, 'POST', path(), input(...overwrites));
      expect(await api.platform.db.channels.countDocuments({ serverId: server.id })).to.equal(before);
      await send(api, 201, keeper, 'POST', path(), input(everyone));
    });
  });
});
