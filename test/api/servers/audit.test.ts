// Tests of a server's routes: settings, members, roles, overwrites, invites, bans and the audit log; and of permissions that change while a write runs.
import { expect } from 'chai';
import { permissionBits } from '../../../lib/base/permissions.ts';
import type { AuditPage } from '../../../lib/contract/member.ts';
import {
  authorize,
  giveRole,
  makeApplication,
  makeChannel,
  makeInvite,
  makeMember,
  makeRole,
  setOverwrite,
} from '../../harness/factories.ts';
import { type Caller, refused, refusedWithout, send } from '../../harness/requests.ts';
import { newMember, useServer } from '../../harness/use.ts';

describe('GET /api/servers/{serverId}/audit-log', () => {
  const { api, owner, server, member } = useServer({ member: newMember() }, { each: true });
  const page = (query = ''): Promise<AuditPage> => send(api, 200, owner, 'GET', `/api/servers/${server.id}/audit-log${query}`);
  const newest = async () => (await page('?limit=1')).items[0];

  const writes: Record<string, () => Promise<{ target: string; changes: object }>> = {
    async server_update() {
      await send(api, 200, owner, 'PATCH', `/api/servers/${server.id}`, { name: 'Renamed', invitesPaused: false });
      return { target: server.id, changes: { name: { from: server.name, to: 'Renamed' } } };
    },
    async channel_create() {
      const { id } = await makeChannel(api, owner, server.id, { name: 'new' });
      return { target: id, changes: { name: { from: null, to: 'new' }, kind: { from: null, to: 'text' } } };
    },
    async channel_update() {
      await send(api, 200, owner, 'PATCH', `/api/channels/${server.general}`, { topic: 'talk', slowmodeSecs: 0 });
      return { target: server.general, changes: { topic: { from: null, to: 'talk' } } };
    },
    async channel_delete() {
      await send(api, 204, owner, 'DELETE', `/api/channels/${server.general}`);
      return { target: server.general, changes: { name: { from: 'general', to: null }, kind: { from: 'text', to: null } } };
    },
    async overwrite_set() {
      await setOverwrite(api, owner, server.general, server.id, 0, 2);
      const channelId = { from: server.general, to: server.general };
      return { target: server.id, changes: { deny: { from: 0, to: 2 }, channelId } };
    },
    async overwrite_delete() {
      await setOverwrite(api, owner, server.general, server.id, 0, 2);
      await send(api, 204, owner, 'DELETE', `/api/channels/${server.general}/overwrites/${server.id}`);
      const channelId = { from: server.general, to: server.general };
      return { target: server.id, changes: { deny: { from: 2, to: 0 }, channelId } };
    },
    async role_create() {
      const { id } = await makeRole(api, owner, server.id, { name: 'r', permissions: 3 });
      return { target: id, changes: { name: { from: null, to: 'r' }, permissions: { from: null, to: 3 } } };
    },
    async role_update() {
      await makeRole(api, owner, server.id);
      const { id } = await makeRole(api, owner, server.id, { name: 'r' });
      await send(api, 200, owner, 'PATCH', `/api/servers/${server.id}/roles/${id}`, { name: 'r', hoist: true, position: 2 });
      return { target: id, changes: { hoist: { from: false, to: true }, position: { from: 1, to: 2 } } };
    },
    async role_delete() {
      const { id } = await makeRole(api, owner, server.id, { name: 'r', permissions: 1 });
      await send(api, 204, owner, 'DELETE', `/api/servers/${server.id}/roles/${id}`);
      return { target: id, changes: { name: { from: 'r', to: null }, permissions: { from: 1, to: null } } };
    },
    async member_role_add() {
      const { id } = await makeRole(api, owner, server.id);
      await giveRole(api, owner, server.id, member.id, id);
      return { target: member.id, changes: { roles: { from: null, to: id } } };
    },
    async member_role_remove() {
      const { id } = await makeRole(api, owner, server.id);
      await giveRole(api, owner, server.id, member.id, id);
      await send(api, 204, owner, 'DELETE', `/api/servers/${server.id}/members/${member.id}/roles/${id}`);
      return { target: member.id, changes: { roles: { from: id, to: null } } };
    },
    async member_kick() {
      await send(api, 204, owner, 'DELETE', `/api/servers/${server.id}/members/${member.id}`);
      return { target: member.id, changes: {} };
    },
    async invite_create() {
      const { code } = await makeInvite(api, owner, server.id);
      return { target: code, changes: {} };
    },
    async invite_delete() {
      const { code } = await makeInvite(api, owner, server.id);
      await send(api, 204, owner, 'DELETE', `/api/invites/${code}`);
      return { target: code, changes: {} };
    },
    async bot_add() {
      const bot = await makeApplication(api, owner);
      await authorize(api, owner, bot, server.id, 7);
      return { target: bot.id, changes: { permissions: { from: null, to: 7 } } };
    },
  };
  for (const [action, write] of Object.entries(writes))
    it(`${action} adds an entry`, async () => {
      const before = (await page()).items.length;
      const { target, changes } = await write();
      const entry = await newest();
      expect(entry).to.deep.include({ actorId: owner.id, action, targetId: target, reason: null, changes });
      expect(entry?.createdAt).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      expect((await page()).items.length).to.be.greaterThan(before);
    });

  it('omits changes made in a channel while the reader could not view it, also after the channel is deleted', async () => {
    const reader = await makeMember(api, owner, server.id, permissionBits['Manage Server']);
    const admin = await makeMember(api, owner, server.id, permissionBits.Administrator);
    const hidden = await makeChannel(api, owner, server.id, { name: 'secret-plans' });
    const open = await makeChannel(api, owner, server.id, { name: 'open-plans' });
    await setOverwrite(api, owner, hidden.id, server.id, 0, permissionBits['View Channel']);
    for (const { id, name } of [hidden, open]) await send(api, 200, owner, 'PATCH', `/api/channels/${id}`, { name: `${name}-2` });
    await send(api, 201, owner, 'POST', `/api/channels/${hidden.id}/webhooks`, { name: 'secret-hook' });
    const read = async (as: Caller): Promise<string> =>
      JSON.stringify(await send<AuditPage>(api, 200, as, 'GET', `/api/servers/${server.id}/audit-log`));
    for (const gone of [false, true]) {
      if (gone) for (const { id } of [hidden, open]) await send(api, 204, owner, 'DELETE', `/api/channels/${id}`);
      const seen = await read(reader);
      for (const name of ['open-plans', 'open-plans-2']) expect(seen).to.include(`"${name}"`);
      expect(seen.includes('"secret-plans"')).to.equal(gone); // the channel could be viewed when it was made
      for (const name of ['secret-plans-2', 'secret-hook']) expect(seen).to.not.include(name);
      for (const as of [owner, admin]) for (const name of ['secret-plans-2', 'secret-hook']) expect(await read(as)).to.include(name);
    }
  });

  it('adds no entry for a request that changes nothing or is refused', async () => {
    const { id } = await makeRole(api, owner, server.id, { name: 'r' });
    await giveRole(api, owner, server.id, member.id, id);
    const before = await page();
    await giveRole(api, owner, server.id, member.id, id);
    await send(api, 200, owner, 'PATCH', `/api/servers/${server.id}`, {});
    await send(api, 200, owner, 'PATCH', `/api/servers/${server.id}/roles/${id}`, { name: 'r' });
    await send(api, 200, owner, 'PATCH', `/api/channels/${server.general}`, { name: 'general' });
    await send(api, 204, owner, 'DELETE', `/api/channels/${server.general}/overwrites/${id}`);
    await refusedWithout(api, 'Manage Server', member, 'PATCH', `/api/servers/${server.id}`, { name: 'x' });
    expect(await page()).to.deep.equal(before);
  });

  it('lists entries newest first, page by page', async () => {
    for (let i = 0; i < 5; i++) await makeRole(api, owner, server.id);
    const all = await page();
    expect(all.hasMore).to.equal(false);
    const ids = all.items.map(({ id }) => id);
    expect(ids).to.deep.equal(ids.toSorted().toReversed());
    const first = await page('?limit=3');
    expect(first).to.deep.equal({ items: all.items.slice(0, 3), hasMore: true });
    const rest = await page(`?limit=100&before=${first.items[2]?.id}`);
    expect(rest).to.deep.equal({ items: all.items.slice(3), hasMore: false });
  });

  it('400 for an invalid page', async () => {
    for (const query of ['limit=0', 'limit=101', 'limit=x', 'before=x', 'limit=1&limit=2'])
      await refused(api, [400, 'invalid_request'], owner, 'GET', `/api/servers/${server.id}/audit-log?${query}`);
  });
});
