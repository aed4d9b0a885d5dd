import { expect } from 'chai';
import { createLog } from '../../lib/base/log.ts';
import { type AuditPage } from '../../lib/contract/member.ts';
import { serverTypes } from '../../lib/contract/server.ts';
import { grantServerTypes } from '../../lib/domain/servers/grants.ts';
import { ensureSystemAccount } from '../../lib/domain/system-account.ts';
import { openOperatorPlatform } from '../../lib/store/platform.ts';
import { startTestApi } from '../harness/api.ts';
import { authorize, makeApplication, makeMember, makePerson, makeServer } from '../harness/factories.ts';
import { refused, send } from '../harness/requests.ts';
import { make, use } from '../harness/use.ts';
import { codeOf, unknownIds } from './refusals.ts';

describe('grantServerTypes', () => {
  const api = use(() => startTestApi());
  const open = () => openOperatorPlatform(api.platform.config, createLog('operator', 'error'));
  const [operator, other] = [use(open), use(open)];
  const owner = make(() => makePerson(api));
  const server = make(() => makeServer(api, owner), { each: true });

  const stored = (id: string) => api.platform.db.servers.findOne({ _id: id });
  const audit = async () => (await send<AuditPage>(api, 200, owner, 'GET', `/api/servers/${server.id}/audit-log`)).items;

  it('replaces the types, in a fixed order and without duplicates', async () => {
    const grant = await grantServerTypes(operator, server.id, ['partnered', 'official', 'partnered']);
    expect(grant).to.deep.equal({ id: server.id, name: server.name, before: [], after: ['official', 'partnered'], unlisted: false });
    expect((await grantServerTypes(operator, server.id, ['verified'])).before).to.deep.equal(['official', 'partnered']);
    expect((await stored(server.id))?.types).to.deep.equal(['verified']);
    await grantServerTypes(operator, server.id, []);
    expect((await stored(server.id))?.types).to.deep.equal([]);
    expect(serverTypes).to.deep.equal(['official', 'staff', 'developer', 'verified', 'partnered']);
  });

  it('applies and lifts the rules of staff and developer servers with the next request', async () => {
    const member = await makeMember(api, owner, server.id);
    const path = `/api/servers/${server.id}/invites`;
    const invite = (status: 201) => send<{ maxUses: number }>(api, status, member, 'POST', path, {});
    await invite(201);
    await grantServerTypes(operator, server.id, ['staff']);
    await refused(api, [403, 'missing_permission'], member, 'POST', path, {});
    await grantServerTypes(operator, server.id, ['developer']);
    await refused(api, [403, 'missing_permission'], member, 'POST', path, {});
    expect((await send<{ maxUses: number }>(api, 201, owner, 'POST', path, {})).maxUses).to.equal(1);
    await grantServerTypes(operator, server.id, []);
    expect((await invite(201)).maxUses).to.equal(0);
  });

  it('lets only the owner add bots to a developer server from the next request on', async () => {
    const manager = await makeMember(api, owner, server.id, 8191);
    const first = await makeApplication(api, manager);
    await authorize(api, manager, first, server.id);
    await grantServerTypes(operator, server.id, ['developer']);
    const second = await makeApplication(api, manager);
    await refused(api, [403, 'not_owner'], manager, 'POST', `/api/applications/${second.applicationId}/authorize`, {
      serverId: server.id,
      permissions: 0,
    });
  });

  for (const type of serverTypes) {
    const leaves = type === 'staff' || type === 'developer';
    it(`${leaves ? 'removes' : 'keeps'} a listed server that becomes ${type} ${leaves ? 'from' : 'in'} Discovery`, async () => {
      await api.platform.db.servers.updateOne({ _id: server.id }, { $set: { community: true, listed: true } });
      expect((await grantServerTypes(operator, server.id, [type])).unlisted).to.equal(leaves);
      expect(await stored(server.id)).to.include({ listed: !leaves, community: true });
      expect((await grantServerTypes(operator, server.id, [type])).unlisted).to.equal(false);
      const [entry, ...rest] = await audit();
      expect(rest).to.deep.equal([]);
      const listed = leaves ? { listed: { from: true, to: false } } : {};
      expect(entry).to.deep.include({
        action: 'server_update',
        targetId: server.id,
        changes: { types: { from: [], to: [type] }, ...listed },
      });
    });
  }

  it('a repeated grant removes a staff server that is still marked as listed from Discovery', async () => {
    await api.platform.db.servers.updateOne({ _id: server.id }, { $set: { community: true, listed: true, types: ['staff'] } });
    expect((await grantServerTypes(operator, server.id, ['staff'])).unlisted).to.equal(true);
    expect(await stored(server.id)).to.include({ listed: false });
    expect((await audit()).map(({ changes }) => changes)).to.deep.equal([{ listed: { from: true, to: false } }]);
  });

  it('is audited as the system account; a repeated grant changes nothing and adds no entry', async () => {
    await grantServerTypes(operator, server.id, ['official', 'verified']);
    const once = await stored(server.id);
    const again = await grantServerTypes(operator, server.id, ['verified', 'official']);
    expect(again.before).to.deep.equal(again.after);
    expect(await stored(server.id)).to.deep.equal(once);
    const entries = await audit();
    expect(entries.map(({ actorId }) => actorId)).to.deep.equal([(await ensureSystemAccount(operator))._id]);
  });

  it('applies two concurrent grants one after the other, as the audit log shows', async () => {
    await Promise.all([grantServerTypes(operator, server.id, ['official']), grantServerTypes(other, server.id, ['verified'])]);
    const changes = (await audit()).map((entry) => (entry.changes as { types: { from: string[]; to: string[] } }).types);
    expect(changes).to.have.length(2);
    const last = changes.find(({ from }) => from.length > 0);
    const first = changes.find(({ from }) => from.length === 0);
    expect(last?.from).to.deep.equal(first?.to);
    expect((await stored(server.id))?.types).to.deep.equal(last?.to);
  });

  it('refuses ids that match nothing with not_found, and changes no server', async () => {
    const before = await api.platform.db.servers.find().sort({ _id: 1 }).toArray();
    for (const id of unknownIds) expect(await codeOf(grantServerTypes(operator, id, ['staff'])), id).to.equal('not_found');
    expect(await api.platform.db.servers.find().sort({ _id: 1 }).toArray()).to.deep.equal(before);
  });
});
