import { expect } from 'chai';
import type { Channel } from '../../../lib/contract/channel.ts';
import { startRacingTestApi } from '../../harness/api.ts';
import { giveRole, makeChannel, makeMember, makeRole, setOverwrite, unknownId } from '../../harness/factories.ts';
import { holdNext } from '../../harness/intercept.ts';
import { type Caller, inParallel, refused, refusedWithout, send, tally } from '../../harness/requests.ts';
import { fillServer } from '../../harness/seed.ts';
import { make, newMember, newPerson, useServer } from '../../harness/use.ts';

const [view, post, manageChannels, manageRoles] = [1, 2, 1 << 6, 1 << 7];

describe('overwrites', () => {
  const { api, owner, server, member, outsider } = useServer({ member: newMember(), outsider: newPerson() }, { start: startRacingTestApi });
  const read = (as: Caller, id: string): Promise<Channel> => send(api, 200, as, 'GET', `/api/channels/${id}`);

  describe('PUT /api/channels/{channelId}/overwrites/{roleOrUserId}', () => {
    // Roles, lowest first: @everyone, low, the moderator's.
    const moderator = make(() => makeMember(api, owner, server.id, view | post | manageRoles));
    const low = make(() => makeRole(api, owner, server.id));
    const channel = make(() => makeChannel(api, owner, server.id), { each: true });
    const path = (target: string, id = channel.id): string => `/api/channels/${id}/overwrites/${target}`;

    it('200 with the channel; a second PUT replaces the overwrite, and DELETE is 204, also when repeated', async () => {
      const first = await setOverwrite(api, moderator, channel.id, low.id, view, post);
      expect(first.overwrites).to.deep.equal([{ id: low.id, allow: view, deny: post }]);
      expect((await setOverwrite(api, moderator, channel.id, low.id, post, 0)).overwrites).to.deep.equal([
        { id: low.id, allow: post, deny: 0 },
      ]);
      for (const status of [204, 204]) await send(api, status, moderator, 'DELETE', path(low.id));
      expect((await read(owner, channel.id)).overwrites).to.deep.equal([]);
    });

    for (const method of ['PUT', 'DELETE'] as const)
      it(`403 for a ${method} that would revert permissions that the caller lacks and the owner sets at the same moment`, async () => {
        await setOverwrite(api, owner, channel.id, low.id, view, post);
        const holding = holdNext([api.platform.db.channels], ['findOneAndUpdate']);
        const body = method === 'PUT' ? { body: { allow: 0, deny: 0 } } : {};
        const late = api.call(method, path(low.id), { as: moderator.as, ...body });
        const go = await holding;
        await setOverwrite(api, owner, channel.id, low.id, view | manageChannels, post);
        go();
        const { status, body: answer } = await late;
        expect([status, answer.code]).to.deep.equal([403, 'missing_permission']);
        expect((await read(owner, channel.id)).overwrites).to.deep.equal([{ id: low.id, allow: view | manageChannels, deny: post }]);
      });

    it('403 for a PUT of a permission that the caller loses at the same moment', async () => {
      await setOverwrite(api, owner, channel.id, moderator.id, manageChannels, 0);
      const holding = holdNext([api.platform.db.channels], ['findOneAndUpdate']);
      const late = refused(api, [403, 'missing_permission'], moderator, 'PUT', path(low.id), { allow: manageChannels, deny: 0 });
      const go = await holding;
      await setOverwrite(api, owner, channel.id, moderator.id, 0, 0);
      go();
      await late;
    });

    it('a change has effect on the next request', async () => {
      await send(api, 201, member, 'POST', `/api/channels/${channel.id}/messages`, { content: 'x' });
      await setOverwrite(api, moderator, channel.id, server.id, 0, post);
      await refused(api, [403, 'missing_permission'], member, 'POST', `/api/channels/${channel.id}/messages`, { content: 'x' });
      await setOverwrite(api, moderator, channel.id, member.id, post, 0);
      await send(api, 201, member, 'POST', `/api/channels/${channel.id}/messages`, { content: 'x' });
      await send(api, 204, moderator, 'DELETE', path(member.id));
      await refused(api, [403, 'missing_permission'], member, 'POST', `/api/channels/${channel.id}/messages`, { content: 'x' });
    });

    it('keeps all of 20 overwrites that are set at once', async () => {
      const roles = await inParallel(20, () => makeRole(api, owner, server.id));
      await Promise.all(roles.map((role) => setOverwrite(api, owner, channel.id, role.id, 0, view)));
      const { overwrites } = await read(owner, channel.id);
      expect(overwrites.map((one) => one.id)).to.have.members(roles.map((one) => one.id));
    });

    it('403 missing_permission for allowing, denying or resetting a permission that the caller lacks', async () => {
      for (const [allow, deny] of [
        [manageChannels, 0],
        [0, manageChannels],
      ])
        await refusedWithout(api, 'Manage Channels', moderator, 'PUT', path(low.id), { allow, deny });
      await setOverwrite(api, owner, channel.id, low.id, 0, manageChannels);
      await refused(api, [403, 'missing_permission'], moderator, 'PUT', path(low.id), { allow: 0, deny: 0 });
      await refused(api, [403, 'missing_permission'], moderator, 'DELETE', path(low.id));
      await setOverwrite(api, moderator, channel.id, low.id, view, manageChannels);
    });

    it('404 for an unknown target and a person outside of the server, 400 for another body', async () => {
      for (const target of [unknownId, outsider.id])
        await refused(api, [404, 'not_found'], moderator, 'PUT', path(target), { allow: 0, deny: 0 });
      for (const body of [{ allow: 1 }, { allow: -1, deny: 0 }, { allow: 8192, deny: 0 }, { allow: '1', deny: 0 }, { allow: 1, deny: 1 }])
        await refused(api, [400, 'invalid_request'], moderator, 'PUT', path(low.id), body);
    });
  });

  it('400 too_many_overwrites beyond 200, also of 10 at once; an existing one can be changed', async () => {
    const { id } = await makeChannel(api, owner, server.id);
    const targets = await fillServer(api.platform, server.id, 209, 'target');
    const overwrites = targets.slice(0, 199).map((target) => ({ id: target, allow: 0, deny: post }));
    await api.platform.accessVersions.runChange({ servers: [server.id] }, () =>
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

    it('201 stores the overwrites with the channel, which is hidden from the start', async () => {
      const role = await makeRole(api, owner, server.id);
      const overwrites = [
        { id: server.id, allow: 0, deny: view },
        { id: role.id, allow: view, deny: 0 },
      ];
      const made = await send<Channel>(api, 201, owner, 'POST', path(), input(...overwrites));
      expect(made.overwrites).to.deep.equal(overwrites);
      expect((await api.platform.db.channels.findOne({ _id: made.id }))?.overwrites).to.deep.equal(overwrites);
      await refused(api, [403, 'missing_permission'], member, 'GET', `/api/channels/${made.id}`);
      await giveRole(api, owner, server.id, member.id, role.id);
      await send(api, 200, member, 'GET', `/api/channels/${made.id}`);
    });

    it('403 without Manage Roles, 400 for 201 overwrites, and no channel is made', async () => {
      const maker = await makeMember(api, owner, server.id, view | manageChannels);
      const before = await api.platform.db.channels.countDocuments({ serverId: server.id });
      const everyone = { id: server.id, allow: 0, deny: view };
      await refused(api, [403, 'missing_permission'], maker, 'POST', path(), input(everyone));
      await refused(api, [400, 'invalid_request'], owner, 'POST', path(), input(...Array.from({ length: 201 }, () => everyone)));
      expect(await api.platform.db.channels.countDocuments({ serverId: server.id })).to.equal(before);
    });
  });
});
