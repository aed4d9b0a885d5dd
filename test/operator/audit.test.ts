import { expect } from 'chai';
import type { PlatformCommand } from '../../apps/operator/commands.ts';
import { executeCommand } from '../../apps/operator/execute.ts';
import type { Server } from '../../lib/contract/server.ts';
import { listOperatorAudit } from '../../lib/domain/operators/audit.ts';
import { startTestApiWithWorker } from '../harness/api.ts';
import { makeServer, unknownId } from '../harness/factories.ts';
import { beforeNextQuery } from '../harness/intercept.ts';
import { send } from '../harness/requests.ts';
import { newMember, newPerson, useServer } from '../harness/use.ts';
import { codeOf } from './refusals.ts';

describe('operators’ commands for servers, and their audit log', () => {
  const { api, owner, server, member, peer, stranger } = useServer(
    { member: newMember(), peer: newMember(), stranger: newPerson() },
    { each: true, start: startTestApiWithWorker },
  );
  const run = (command: PlatformCommand, operator = 'test') =>
    executeCommand({ ...api.platform, wake: () => undefined }, command, { operator });
  const json = async (command: PlatformCommand): Promise<Record<string, unknown>> => (await run(command)).json;
  const newest = async () => (await listOperatorAudit(api.platform, { limit: 1 })).items[0];

  it('transfer-server makes a member the owner, with an entry in the server’s audit log', async () => {
    const transfer = { command: 'transfer-server' as const, serverId: server.id, userId: member.id };
    expect(await json(transfer)).to.include({ changed: true, id: server.id, name: server.name });
    expect((await send<Server>(api, 200, owner, 'GET', `/api/servers/${server.id}`)).ownerId).to.equal(member.id);
    expect(await json(transfer)).to.include({ changed: false });
    const entries = await api.platform.db.audit.find({ serverId: server.id, 'changes.ownerId.to': member.id }).toArray();
    expect(entries).to.have.length(1);
    expect(await codeOf(run({ ...transfer, userId: stranger.id }))).to.equal('invalid_request');
    expect(await codeOf(run({ ...transfer, userId: unknownId }))).to.equal('not_found');
    expect(await codeOf(run({ ...transfer, serverId: unknownId }))).to.equal('not_found');
    await run({ command: 'suspend', userId: peer.id });
    expect(await codeOf(run({ ...transfer, userId: peer.id }))).to.equal('invalid_request');
    expect((await api.platform.db.servers.findOne({ _id: server.id }))?.ownerId).to.equal(member.id);
  });

  it('create-server creates a server of a person once', async () => {
    const create = { command: 'create-server' as const, name: ' Made here ', owner: stranger.id };
    const made = await json(create);
    expect(made).to.include({ changed: true, name: 'Made here' });
    const { ownerId, channels } = await send<Server>(api, 200, stranger, 'GET', `/api/servers/${String(made.id)}`);
    expect([ownerId, channels.map(({ name }) => name)]).to.deep.equal([stranger.id, ['general']]);
    expect(await json(create)).to.include({ changed: false, id: made.id });
    expect(await codeOf(run({ ...create, owner: unknownId }))).to.equal('not_found');
    expect(await newest()).to.deep.include({ command: 'create-server', outcome: 'not_found' });
  });

  it('delete-server hides the server at once, and stores a removal for the workers', async () => {
    expect(await json({ command: 'delete-server', serverId: server.id })).to.include({ changed: true, name: server.name });
    await send(api, 404, owner, 'GET', `/api/servers/${server.id}`);
    expect(await api.platform.db.members.countDocuments({ serverId: server.id })).to.equal(0);
    expect(await api.platform.db.removals.countDocuments({ _id: server.id, kind: 'server' })).to.equal(1);
    expect(await codeOf(run({ command: 'delete-server', serverId: server.id }))).to.equal('not_found');
  });

  it('servers finds by id and by the beginning of the name in any case; storage lists the largest first', async () => {
    const name = `Überblick ${server.id}`;
    const [a, b] = [await makeServer(api, owner, `${name} a`), await makeServer(api, owner, `${name} b`)];
    const ids = ({ items }: Record<string, unknown>) => (items as { id: string }[]).map(({ id }) => id);
    expect(ids(await json({ command: 'servers', query: name.toUpperCase() }))).to.deep.equal([a.id, b.id]);
    expect(await json({ command: 'servers', query: name, limit: 1 })).to.include({ hasMore: true, next: null });
    expect(ids(await json({ command: 'servers', query: b.id }))).to.deep.equal([b.id]);
    const all = await json({ command: 'servers', limit: 1 });
    expect(ids(await json({ command: 'servers', after: String(all.next), limit: 100 }))).to.include.members([a.id, b.id]);
    const { servers } = api.platform.db;
    await servers.updateOne({ _id: a.id }, { $set: { storedBytes: 10_000_000 } });
    await servers.updateOne({ _id: b.id }, { $set: { storedBytes: 20_000_000 } });
    const stored = await run({ command: 'storage' });
    expect(ids(stored.json)).to.deep.equal([b.id, a.id]);
    expect(stored.text).to.match(/^\d{19} {2}“Überblick \d+ b” {2}owner \d{19}, members: 1, files: 19\.\d MiB\n/);
  });

  it('every changing command has one entry with who, what and the outcome; lists have none', async () => {
    const before = await api.platform.db.operatorAudit.countDocuments({});
    await run({ command: 'tag', userId: member.id, tag: 'official' }, 'ada');
    const { _id: _tag, at, expiresAt, ...entry } = (await newest()) ?? { at: new Date(0), expiresAt: new Date(0) };
    const given = { userId: member.id, tag: 'official' };
    expect(entry).to.deep.equal({ operator: 'ada', command: 'tag', given, outcome: 'done', targetId: member.id });
    expect(expiresAt.getTime() - at.getTime()).to.equal(365 * 24 * 3_600_000);
    await run({ command: 'tag', userId: member.id, tag: 'official' });
    expect(await newest()).to.include({ outcome: 'unchanged' });
    expect(await codeOf(run({ command: 'early-access', userId: unknownId }))).to.equal('not_found');
    expect(await newest()).to.include({ command: 'early-access', outcome: 'not_found' });
    for (const command of ['accounts', 'servers', 'storage', 'audit'] as const) await run({ command });
    expect(await api.platform.db.operatorAudit.countDocuments({})).to.equal(before + 3);
    const first = await json({ command: 'audit', limit: 2 });
    expect(first.items).to.have.length(2);
    const [next] = (await json({ command: 'audit', before: String(first.next), limit: 1 })).items as { command: string; outcome: string }[];
    expect([next?.command, next?.outcome]).to.deep.equal(['tag', 'done']);
  });

  it('a command whose process died keeps the outcome started, and is not run without an entry', async () => {
    beforeNextQuery(api.platform.db.accounts, 'findOne', () => Promise.reject(new Error('died')));
    expect(await codeOf(run({ command: 'suspend', userId: member.id }))).to.equal('undefined');
    expect(await newest()).to.include({ command: 'suspend', outcome: 'started' });
    beforeNextQuery(api.platform.db.operatorAudit, 'insertOne', () => Promise.reject(new Error('away')));
    await codeOf(run({ command: 'suspend', userId: member.id }));
    expect((await api.platform.db.accounts.findOne({ _id: member.id }))?.suspendedAt).to.equal(undefined);
  });
});
