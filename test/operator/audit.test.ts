import { expect } from 'chai';
import { type PlatformCommand, parseCommandLine } from '../../apps/operator/commands.ts';
import { executeCommand } from '../../apps/operator/execute.ts';
import type { Server } from '../../lib/contract/server.ts';
import { finishRemoval } from '../../lib/domain/jobs/finish-removal.ts';
import { listOperatorAudit } from '../../lib/domain/operators/audit.ts';
import { startTestApiWithWorker } from '../harness/api.ts';
import { leave, makeServer, unknownId } from '../harness/factories.ts';
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
    const { ownerId, outbox } = (await api.platform.db.servers.findOne({ _id: server.id })) ?? {};
    expect([ownerId, outbox?.map(({ name, was }) => [name, was])]).to.deep.equal([member.id, [['SERVER_UPDATE', { owner: owner.id }]]]);
  });

  it('transfer-server is refused if the new owner leaves, or the owner changes, at the same moment', async () => {
    const { servers } = api.platform.db;
    const transfer = { command: 'transfer-server' as const, serverId: server.id, userId: member.id };
    beforeNextQuery(servers, 'updateOne', () => send(api, 200, owner, 'PATCH', `/api/servers/${server.id}`, { ownerId: peer.id }));
    expect(await codeOf(run(transfer))).to.equal('unavailable');
    expect((await servers.findOne({ _id: server.id }))?.ownerId).to.equal(peer.id);
    beforeNextQuery(servers, 'updateOne', () => leave(api, member, server.id));
    expect(await codeOf(run(transfer))).to.equal('invalid_request');
    expect((await servers.findOne({ _id: server.id }))?.ownerId).to.equal(peer.id);
  });

  it('delete-server hides the server at once, and stores a removal for the workers', async () => {
    expect(await json({ command: 'delete-server', serverId: server.id })).to.include({ changed: true, name: server.name });
    await send(api, 404, owner, 'GET', `/api/servers/${server.id}`);
    expect(await api.platform.db.members.countDocuments({ serverId: server.id })).to.equal(0);
    expect(await api.platform.db.removals.countDocuments({ _id: server.id, kind: 'server' })).to.equal(1);
    expect(await codeOf(run({ command: 'delete-server', serverId: server.id }))).to.equal('not_found');
  });

  it('create-server creates a server of a person once, also in 10 concurrent commands, and completes one whose process died', async () => {
    const create = { command: 'create-server' as const, name: ' At once ', owner: stranger.id };
    const { servers, members } = api.platform.db;
    const made = await Promise.all(Array.from({ length: 10 }, () => json(create)));
    expect(made.filter(({ changed }) => changed)).to.have.length(1);
    const [id, ...others] = new Set(made.map((one) => String(one.id)));
    expect(others).to.deep.equal([]);
    const { ownerId, name, channels } = await send<Server>(api, 200, stranger, 'GET', `/api/servers/${id}`);
    expect([ownerId, name, channels.map((channel) => channel.name)]).to.deep.equal([stranger.id, 'At once', ['general']]);
    expect(await json(create)).to.include({ changed: false, id });
    expect(await servers.countDocuments({ ownerId: stranger.id, name: 'At once' })).to.equal(1);
    expect(await codeOf(run({ ...create, owner: unknownId }))).to.equal('not_found');
    expect(await newest()).to.deep.include({ command: 'create-server', outcome: 'not_found' });
    beforeNextQuery(members, 'insertOne', () => Promise.reject(new Error('died')));
    expect(await codeOf(run({ ...create, name: 'Died' }))).to.equal('undefined');
    const completed = await json({ ...create, name: 'Died' });
    await send(api, 200, stranger, 'GET', `/api/servers/${String(completed.id)}`);
    expect(await servers.countDocuments({ ownerId: stranger.id, name: 'Died' })).to.equal(1);
  });

  it('create-server creates another one after the first was renamed, transferred or deleted', async () => {
    const create = { command: 'create-server' as const, name: 'Again', owner: owner.id };
    const make = async (): Promise<string> => {
      const made = await json(create);
      expect(made).to.include({ changed: true });
      return String(made.id);
    };
    const renamed = await make();
    await send(api, 200, owner, 'PATCH', `/api/servers/${renamed}`, { name: 'Other' });
    const moved = await make();
    await api.platform.db.servers.updateOne({ _id: moved }, { $set: { ownerId: member.id } });
    await json({ command: 'delete-server', serverId: await make() });
    await finishRemoval(api.worker, String((await newest())?.targetId));
    await make();
  });

  const ids = ({ items }: Record<string, unknown>) => (items as { id: string }[]).map(({ id }) => id);
  /** The ids of all pages of a list, with two entries each. */
  const idsOfPages = async (command: { command: 'servers'; query: string } | { command: 'storage' }): Promise<string[]> => {
    const found: string[] = [];
    for (let after: string | null = null; ; ) {
      const page: Record<string, unknown> = await json({ ...command, limit: 2, ...(after === null ? {} : { after }) });
      found.push(...ids(page));
      after = page.next as string | null;
      if (after === null) return found;
    }
  };

  it('servers finds by id and by the beginning of the name in any case, in pages, also of servers of the same name', async () => {
    const name = `Überblick ${server.id}`;
    const made: string[] = [];
    for (const end of ['a', 'b', 'b', 'b', 'c']) made.push((await makeServer(api, owner, `${name} ${end}`)).id);
    expect(ids(await json({ command: 'servers', query: name.toUpperCase() }))).to.deep.equal(made);
    expect(await idsOfPages({ command: 'servers', query: name })).to.deep.equal(made);
    expect((await json({ command: 'servers', query: name, limit: 5 })).next).to.equal(null);
    expect(ids(await json({ command: 'servers', query: made[1] ?? '' }))).to.deep.equal([made[1]]);
    expect(await codeOf(run({ command: 'servers', query: name, after: unknownId }))).to.equal('not_found');
    const all = await json({ command: 'servers', limit: 1 });
    expect(ids(await json({ command: 'servers', after: String(all.next), limit: 100 }))).to.include.members(made);
  });

  it('storage lists the servers that store files in pages, largest first', async () => {
    const { servers } = api.platform.db;
    await servers.updateMany({ storedBytes: { $exists: true } }, { $unset: { storedBytes: 1 } });
    const made: string[] = [];
    for (const storedBytes of [30_000_000, 20_000_000, 20_000_000, 20_000_000, 10_000_000, 0]) {
      const { id } = await makeServer(api, owner, `stores ${storedBytes}`);
      await servers.updateOne({ _id: id }, { $set: { storedBytes } });
      made.push(id);
    }
    expect(await idsOfPages({ command: 'storage' })).to.deep.equal(made.slice(0, 5));
    expect((await run({ command: 'storage', limit: 1 })).text).to.match(
      /^\d{19} {2}“stores 30000000” {2}owner \d{19}, members: 1, files: 28\.\d MiB\nThere are more: --after \d{19}$/,
    );
    expect(await codeOf(run({ command: 'storage', after: unknownId }))).to.equal('not_found');
  });

  it('retention sets, keeps and removes the retention of a server', async () => {
    const set = (days: number | 'off' | 'default') => run({ command: 'retention', serverId: server.id, days });
    const base = { ok: true, command: 'retention', changed: true, id: server.id, name: server.name };
    expect((await set(30)).json).to.deep.equal({ ...base, messageRetentionDays: 30 });
    expect((await set(30)).text).to.equal(`“${server.name}” (${server.id}): unchanged: messages are deleted after 30 days.`);
    expect((await set('off')).text).to.match(/: messages are kept\.$/);
    expect((await api.platform.db.servers.findOne({ _id: server.id }))?.messageRetentionDays).to.equal(0);
    expect((await set('default')).json).to.deep.equal({ ...base, messageRetentionDays: null });
    expect(await api.platform.db.servers.findOne({ _id: server.id })).not.to.have.property('messageRetentionDays');
    expect(await codeOf(run({ command: 'retention', serverId: unknownId, days: 1 }))).to.equal('not_found');
    for (const days of ['0', '3651', '-1', '1.5', 'never', ''])
      expect(parseCommandLine(['retention', server.id, '--', days]).kind).to.equal('usage');
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

  it('OPERATOR_AUDIT_RETENTION_DAYS says when an entry is deleted', async () => {
    const config = { ...api.platform.config, OPERATOR_AUDIT_RETENTION_DAYS: 30 };
    const command = { command: 'early-access' as const, userId: member.id };
    await executeCommand({ ...api.platform, config, wake: () => undefined }, command, { operator: 'test' });
    const entry = await newest();
    expect((entry?.expiresAt.getTime() ?? 0) - (entry?.at.getTime() ?? 0)).to.equal(30 * 24 * 3_600_000);
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
