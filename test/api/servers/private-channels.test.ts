// Private channels: who makes one can use it, entries for oneself, and the overwrites of a category.
import { expect } from 'chai';
import type { Channel } from '../../../lib/contract/channel.ts';
import { makeBot, makeChannel, makeMember, makeRole, setOverwrite, unknownId } from '../../harness/factories.ts';
import { type Caller, refused, send } from '../../harness/requests.ts';
import { make, newMember, useServer } from '../../harness/use.ts';

const [view, post, manageMessages, manageChannels, manageRoles, kick] = [1, 2, 1 << 5, 1 << 6, 1 << 7, 1 << 10];
const staff = view | post | manageMessages | manageChannels | manageRoles;

interface Refused {
  errors?: { path: string; message: string }[];
}
const toPaths = ({ errors = [] }: Refused): string[] => errors.map(({ path }) => path);

describe('private channels', () => {
  const { api, owner, server, member } = useServer({ member: newMember() });
  const high = make(() => makeRole(api, owner, server.id));
  const bot = make(() => makeBot(api, owner, server.id, staff));
  const person = make(async () => {
    const made = await makeMember(api, owner, server.id, staff);
    const { roles = [] } = await send<{ roles?: string[] }>(api, 200, owner, 'GET', `/api/servers/${server.id}/members/${made.id}`);
    return { ...made, roleId: roles[0] as string };
  });
  before(() => send(api, 200, owner, 'PATCH', `/api/servers/${server.id}/roles/${high.id}`, { position: 250 }));
  const path = (): string => `/api/servers/${server.id}/channels`;
  const read = (as: Caller, id: string): Promise<Channel> => send(api, 200, as, 'GET', `/api/channels/${id}`);
  const input = (overwrites?: object[], more: object = {}) => ({
    name: 'private',
    kind: 'text',
    ...(overwrites ? { overwrites } : {}),
    ...more,
  });
  const hidden = () => ({ id: server.id, allow: 0, deny: view });
  const makers = [
    ['a bot', () => bot],
    ['a person', () => person],
  ] as const;

  for (const [who, maker] of makers)
    describe(`made by ${who}`, () => {
      it('201 adds an entry for who makes a channel that they could not see, and every request of theirs works', async () => {
        const made = await send<Channel>(api, 201, maker(), 'POST', path(), input([hidden()]));
        expect(made.overwrites).to.deep.equal([hidden(), { id: maker().id, allow: view, deny: 0 }]);
        await read(maker(), made.id);
        await send(api, 201, maker(), 'POST', `/api/channels/${made.id}/messages`, { content: 'x' });
        await setOverwrite(api, maker(), made.id, member.id, view | post, 0);
        await send(api, 200, member, 'GET', `/api/channels/${made.id}`);
        await send(api, 204, maker(), 'DELETE', `/api/channels/${made.id}`);
      });

      it('201 extends a given entry that says nothing about View Channel', async () => {
        const own = { id: maker().id, allow: post, deny: 0 };
        const made = await send<Channel>(api, 201, maker(), 'POST', path(), input([own, hidden()]));
        expect(made.overwrites).to.deep.equal([{ ...own, allow: view | post }, hidden()]);
      });

      it('201 adds nothing if the maker can see the channel', async () => {
        for (const id of [maker().id, maker().roleId]) {
          const overwrites = [hidden(), { id, allow: view | post, deny: 0 }];
          const made = await send<Channel>(api, 201, maker(), 'POST', path(), input(overwrites));
          expect(made.overwrites).to.deep.equal(overwrites);
        }
        const byOwner = await send<Channel>(api, 201, owner, 'POST', path(), input([hidden()]));
        expect(byOwner.overwrites).to.deep.equal([hidden()]);
      });

      it('an entry for a member does not depend on their highest role', async () => {
        const senior = await makeMember(api, owner, server.id, view);
        await send(api, 204, owner, 'PUT', `/api/servers/${server.id}/members/${senior.id}/roles/${high.id}`);
        const overwrites = [hidden(), ...[senior.id, owner.id].map((id) => ({ id, allow: view, deny: 0 }))];
        const made = await send<Channel>(api, 201, maker(), 'POST', path(), input(overwrites));
        await read(senior, made.id);
        await setOverwrite(api, maker(), made.id, senior.id, view, post);
        await send(api, 204, maker(), 'DELETE', `/api/channels/${made.id}/overwrites/${senior.id}`);
      });

      it('PUT and DELETE of entries for oneself and an own role with bits that one has', async () => {
        const { id } = await makeChannel(api, owner, server.id);
        for (const target of [maker().id, maker().roleId]) {
          await setOverwrite(api, maker(), id, target, view | post, 0);
          await setOverwrite(api, maker(), id, target, view, post);
          await setOverwrite(api, owner, id, target, view, 0);
          await send(api, 204, maker(), 'DELETE', `/api/channels/${id}/overwrites/${target}`);
        }
      });

      it('a denial to @everyone can be answered by an entry for oneself', async () => {
        const { id } = await makeChannel(api, owner, server.id);
        await setOverwrite(api, maker(), id, server.id, 0, post);
        await refused(api, [403, 'missing_permission'], maker(), 'POST', `/api/channels/${id}/messages`, { content: 'x' });
        await setOverwrite(api, maker(), id, maker().id, post, 0);
        await send(api, 201, maker(), 'POST', `/api/channels/${id}/messages`, { content: 'x' });
      });

      it('403 for a bit that the channel denies to oneself or to an own role: nobody lifts their own denial', async () => {
        for (const denied of [maker().id, maker().roleId]) {
          const { id } = await makeChannel(api, owner, server.id);
          await setOverwrite(api, owner, id, denied, 0, manageMessages);
          for (const target of [maker().id, maker().roleId]) {
            const at = `/api/channels/${id}/overwrites/${target}`;
            await refused(api, [403, 'missing_permission'], maker(), 'PUT', at, { allow: manageMessages, deny: 0 });
          }
          await refused(api, [403, 'missing_permission'], maker(), 'DELETE', `/api/channels/${id}/overwrites/${denied}`);
        }
      });

      it('400 for a change after which one could not see the channel', async () => {
        const { id } = await makeChannel(api, owner, server.id);
        const at = (target: string): string => `/api/channels/${id}/overwrites/${target}`;
        for (const target of [server.id, maker().roleId, maker().id]) {
          const body = await refused(api, [400, 'invalid_request'], maker(), 'PUT', at(target), { allow: 0, deny: view });
          expect(toPaths(body)).to.deep.equal(['/deny']);
        }
        await setOverwrite(api, maker(), id, maker().id, view, 0);
        await setOverwrite(api, maker(), id, server.id, 0, view);
        const body = await refused(api, [400, 'invalid_request'], maker(), 'PUT', at(maker().id), { allow: 0, deny: 0 });
        expect(toPaths(body)).to.deep.equal(['/allow']);
        await refused(api, [400, 'invalid_request'], maker(), 'DELETE', at(maker().id));
        await read(maker(), id);
        await send(api, 200, owner, 'PUT', at(server.id), { allow: 0, deny: view });
      });
    });

  it('`path` names the refused entry of a new channel, and no channel is made', async () => {
    const before = await api.platform.db.channels.countDocuments({ serverId: server.id });
    const rows: [readonly [number, string], object, string][] = [
      [[403, 'role_hierarchy'], { id: high.id, allow: view, deny: 0 }, '/overwrites/1/id'],
      [[404, 'not_found'], { id: unknownId, allow: view, deny: 0 }, '/overwrites/1/id'],
      [[403, 'missing_permission'], { id: member.id, allow: kick, deny: 0 }, '/overwrites/1/allow'],
      [[403, 'missing_permission'], { id: member.id, allow: 0, deny: kick }, '/overwrites/1/deny'],
      [[403, 'missing_permission'], { id: bot.id, allow: kick, deny: 0 }, '/overwrites/1/allow'],
      [[400, 'invalid_request'], { id: bot.id, allow: 0, deny: view }, '/overwrites/1/deny'],
    ];
    for (const [expected, entry, at] of rows)
      expect(toPaths(await refused(api, expected, bot, 'POST', path(), input([hidden(), entry]))), at).to.deep.equal([at]);
    expect(await api.platform.db.channels.countDocuments({ serverId: server.id })).to.equal(before);
  });

  it('`path` names the field of a refused PUT', async () => {
    const { id } = await makeChannel(api, owner, server.id);
    const put = (target: string, body: object, expected: readonly [number, string]) =>
      refused(api, expected, bot, 'PUT', `/api/channels/${id}/overwrites/${target}`, body);
    expect(toPaths(await put(member.id, { allow: kick, deny: 0 }, [403, 'missing_permission']))).to.deep.equal(['/allow']);
    expect(toPaths(await put(member.id, { allow: 0, deny: kick }, [403, 'missing_permission']))).to.deep.equal(['/deny']);
    expect(toPaths(await put(high.id, { allow: view, deny: 0 }, [403, 'role_hierarchy']))).to.deep.equal(['/roleOrUserId']);
  });

  it('400 for an entry too many if the maker has to be added', async () => {
    const roles = Array.from({ length: 199 }, (_, at) => String(4n * 10n ** 18n + BigInt(at)));
    const { roles: stored } = (await api.platform.db.servers.findOne({ _id: server.id })) as { roles: { id: string }[] };
    const [everyone, ...others] = stored;
    const low = roles.map((id) => ({ id, name: id, color: null, hoist: false, permissions: 0 }));
    const setRoles = (list: unknown[]) =>
      api.platform.accessVersions.runChange({ servers: [server.id] }, () =>
        api.platform.db.servers.updateOne({ _id: server.id }, { $set: { roles: list as never } }),
      );
    await setRoles([everyone, ...low, ...others]);
    const entries = [hidden(), ...roles.map((id) => ({ id, allow: view, deny: 0 }))];
    const body = await refused(api, [400, 'invalid_request'], bot, 'POST', path(), input(entries));
    expect(toPaths(body)).to.deep.equal(['/overwrites']);
    await send(api, 201, bot, 'POST', path(), input(entries.slice(0, 199)));
    await setRoles(stored);
  });

  describe('in a category', () => {
    const category = make(async () => {
      const made = await makeChannel(api, owner, server.id, { kind: 'category' });
      await setOverwrite(api, owner, made.id, server.id, 0, view);
      await setOverwrite(api, owner, made.id, high.id, view | kick, 0);
      return setOverwrite(api, owner, made.id, bot.roleId, view, 0);
    });
    const inCategory = () => ({ parentId: category.id });
    const sync = (as: Caller, id: string): Promise<Channel> => send(api, 200, as, 'POST', `/api/channels/${id}/sync-overwrites`);
    const refusedSync = (as: Caller, id: string, expected: readonly [number, string]) =>
      refused(api, expected, as, 'POST', `/api/channels/${id}/sync-overwrites`);

    it('a channel takes the overwrites of its category at creation, unless some are given', async () => {
      const manager = await makeMember(api, owner, server.id, view | manageChannels);
      await setOverwrite(api, owner, category.id, manager.id, view, 0);
      const { overwrites } = await read(owner, category.id);
      for (const kind of ['text', 'announcement', 'voice'])
        for (const as of [bot, manager])
          expect((await send<Channel>(api, 201, as, 'POST', path(), input(undefined, { ...inCategory(), kind }))).overwrites).to.deep.equal(
            overwrites,
          );
      expect((await send<Channel>(api, 201, bot, 'POST', path(), input([], inCategory()))).overwrites).to.deep.equal([]);
      await send(api, 204, owner, 'DELETE', `/api/channels/${category.id}/overwrites/${manager.id}`);
    });

    it('later changes of the category change no channel', async () => {
      const inside = await makeChannel(api, owner, server.id, inCategory());
      await setOverwrite(api, owner, category.id, member.id, view, 0);
      expect((await read(owner, inside.id)).overwrites).to.deep.equal(inside.overwrites);
      await send(api, 204, owner, 'DELETE', `/api/channels/${category.id}/overwrites/${member.id}`);
    });

    it('a channel that moves keeps its overwrites, and can be synchronised with the category', async () => {
      const { id } = await makeChannel(api, owner, server.id);
      await setOverwrite(api, owner, id, member.id, view, post);
      const moved = await send<Channel>(api, 200, owner, 'PATCH', `/api/channels/${id}`, inCategory());
      expect(moved.overwrites).to.deep.equal([{ id: member.id, allow: view, deny: post }]);
      for (const _ of [1, 2]) expect((await sync(owner, id)).overwrites).to.deep.equal(category.overwrites);
      expect((await read(owner, id)).overwrites).to.deep.equal(category.overwrites);
      const entries = await api.platform.db.audit.find({ targetId: id, action: 'channel_update' }).toArray();
      expect(entries.filter(({ changes }) => changes && 'overwrites' in changes)).to.have.length(1);
    });

    it('synchronising follows the rules of each entry that changes', async () => {
      const { id } = await makeChannel(api, owner, server.id, { ...inCategory(), overwrites: [] });
      expect(toPaths(await refusedSync(bot, id, [403, 'role_hierarchy']))).to.deep.equal(['/parentId']);
      const manager = await makeMember(api, owner, server.id, view | manageChannels);
      await refusedSync(manager, id, [403, 'missing_permission']);
      await setOverwrite(api, owner, id, high.id, view | kick, 0);
      expect((await sync(bot, id)).overwrites).to.deep.equal(category.overwrites);
      await setOverwrite(api, owner, id, member.id, kick, 0);
      expect((await refusedSync(bot, id, [403, 'missing_permission'])).missing).to.deep.equal(['Kick Members']);
    });

    it('400 outside a category, for kinds that are in none, and for what one could not see afterwards', async () => {
      const outside = await makeChannel(api, owner, server.id);
      const { id: threadId } = await send<Channel>(api, 201, owner, 'POST', `/api/channels/${outside.id}/threads`, { name: 'x' });
      for (const id of [outside.id, category.id, threadId]) await refusedSync(owner, id, [400, 'invalid_request']);
      const inside = await makeChannel(api, owner, server.id, inCategory());
      await setOverwrite(api, owner, inside.id, person.id, view, 0);
      expect(toPaths(await refusedSync(person, inside.id, [400, 'invalid_request']))).to.deep.equal(['/parentId']);
    });
  });
});
