import { expect } from 'chai';
import { parseCommandLine } from '../../apps/operator/commands.ts';
import { executeCommand } from '../../apps/operator/execute.ts';
import { recountThreads } from '../../lib/domain/channels/thread-activity.ts';
import { recountBotServers } from '../../lib/domain/counts/bot-servers.ts';
import { recountMembers } from '../../lib/domain/members/changes.ts';
import { type Reindexed, reindex } from '../../lib/domain/operators/reindex.ts';
import { relayEvents } from '../../lib/domain/relay/relay.ts';
import { toMemberKey } from '../../lib/store/mongo/models/server.ts';
import { formOf, sendBody } from '../files/fixture.ts';
import { startTestApiWithWorker } from '../harness/api.ts';
import { join, leave, makePerson, makeThread, openDm, postMessage } from '../harness/factories.ts';
import { beforeNextQuery } from '../harness/intercept.ts';
import { send } from '../harness/requests.ts';
import { make, newBot, newMember, useServer } from '../harness/use.ts';

const none = { servers: 0, applications: 0, members: 0, memberships: 0, threads: 0, dms: 0, storage: 0 };

describe('operator reindex', () => {
  const { api, owner, server, peer, bot } = useServer({ peer: newMember(), bot: newBot() }, { each: true, start: startTestApiWithWorker });
  const thread = make(() => makeThread(api, owner, server.general, { name: 'x' }), { each: true });
  const dm = make(() => openDm(api, owner, peer), { each: true });
  const newest = make(() => postMessage(api, owner, dm.id), { each: true });

  const run = (waitForWrites = (): Promise<unknown> => Promise.resolve()): Promise<Reindexed> =>
    reindex(api.platform, () => undefined, undefined, waitForWrites);
  /** Makes the recounts that are due, as if nothing had changed for a minute. */
  const recount = async (): Promise<void> => {
    const later = { ...api.worker, now: () => Date.now() + 60_000 };
    await recountMembers(later);
    await recountBotServers(later);
    await recountThreads(later);
  };
  beforeEach(async () => {
    await postMessage(api, owner, thread.id);
    const files = [{ name: 'a.bin', bytes: Buffer.alloc(1000), type: 'application/octet-stream' }];
    await sendBody(`${api.url}/api/channels/${server.general}/messages`, owner.as, formOf({ content: 'x' }, files));
    await send(api, 200, owner, 'PUT', `/api/servers/${server.id}/discovery`, {
      listed: false,
      description: 'Für Alle',
      tags: ['Eins', 'Zwei'],
    });
    for (const channelId of [thread.id, dm.id, server.general]) await relayEvents(api.worker, 'channel', channelId);
    await recount();
    await run();
  });

  it('corrects nothing where everything is right', async () => {
    expect(await run(() => Promise.reject(new Error('counts a second time')))).to.deep.equal({ corrected: none, busy: [] });
  });

  it('corrects texts, counts, memberships, newest messages and storage', async () => {
    const { servers, applications, members, memberships, channels, dms, accounts } = api.platform.db;
    const read = () =>
      Promise.all([
        servers.findOne({ _id: server.id }),
        applications.findOne({ _id: bot.applicationId }),
        members.findOne(toMemberKey(server.id, peer.id)).then((one) => one?.search),
        memberships.findOne({ userId: peer.id, serverId: server.id }, { projection: { slot: 0 } }),
        channels.findOne({ _id: thread.id }),
        dms.findOne({ _id: dm.id }),
        accounts.findOne({ _id: owner.id }),
      ]);
    const before = await read();
    const stray = { _id: `${owner.id}:1`, userId: owner.id, serverId: '1', bot: false, joinedAt: new Date() };
    await servers.updateOne({ _id: server.id }, { $set: { search: { name: 'other', tags: 'other' }, memberCount: 7, storedBytes: 7 } });
    await applications.updateOne({ _id: bot.applicationId }, { $set: { 'search.name': 'other', serverCount: 7 } });
    await members.updateOne(toMemberKey(server.id, peer.id), { $set: { 'search.displayName': 'other' } });
    await memberships.deleteOne({ userId: peer.id, serverId: server.id });
    await memberships.insertOne(stray);
    await channels.updateOne({ _id: thread.id }, { $set: { messageCount: 7 } });
    await dms.updateOne({ _id: dm.id }, { $set: { lastMessageId: null } });
    await accounts.updateOne({ _id: owner.id }, { $unset: { storedBytes: 1 } });
    const corrected = { servers: 1, applications: 1, members: 2, memberships: 1, threads: 1, dms: 1, storage: 2 };
    expect(await run()).to.deep.equal({ corrected, busy: [] });
    expect(await read()).to.deep.equal(before);
    expect(await memberships.countDocuments({ _id: stray._id })).to.equal(0);
    expect(before[5]?.lastMessageId).to.equal(newest.id);
    expect((await run()).corrected).to.deep.equal(none);
  });

  it('does not overwrite what changes meanwhile', async () => {
    const { servers, members, channels, dms } = api.platform.db;
    await servers.updateOne({ _id: server.id }, { $set: { 'search.name': 'other', memberCount: 7 } });
    await channels.updateOne({ _id: thread.id }, { $set: { messageCount: 7 } });
    await dms.updateOne({ _id: dm.id }, { $set: { lastMessageId: null } });
    beforeNextQuery(servers, 'updateOne', () => send(api, 200, owner, 'PATCH', `/api/servers/${server.id}`, { name: 'Renamed' }));
    const joiner = await makePerson(api);
    beforeNextQuery(members, 'countDocuments', () => join(api, owner, server.id, joiner));
    beforeNextQuery(channels, 'updateOne', () => postMessage(api, owner, thread.id));
    let last = '';
    beforeNextQuery(dms, 'updateOne', async () => {
      last = (await postMessage(api, peer, dm.id)).id;
    });
    await run();
    // The join has counted its member, and requested a recount: the workers correct it, and nobody else.
    expect((await servers.findOne({ _id: server.id }))?.memberCount).to.equal(8);
    expect((await run()).corrected.servers).to.equal(0);
    expect((await servers.findOne({ _id: server.id }))?.memberCount).to.equal(8);
    await recount();
    expect(await servers.findOne({ _id: server.id })).to.deep.include({ name: 'Renamed', memberCount: 4 });
    expect((await servers.findOne({ _id: server.id }))?.search?.name).to.equal('renamed');
    expect((await channels.findOne({ _id: thread.id }))?.messageCount).to.equal(2);
    expect((await dms.findOne({ _id: dm.id }))?.lastMessageId).to.equal(last);
  });

  it('does not give a member that leaves meanwhile a membership', async () => {
    const { memberships } = api.platform.db;
    await memberships.deleteOne({ userId: peer.id, serverId: server.id });
    beforeNextQuery(memberships, 'insertOne', () => leave(api, peer, server.id));
    await run();
    expect(await memberships.countDocuments({ userId: peer.id, serverId: server.id })).to.equal(0);
  });

  it('corrects the storage only if it is the same a second time', async () => {
    const { accounts, files } = api.platform.db;
    const stored = async () => (await accounts.findOne({ _id: owner.id }))?.storedBytes;
    const before = (await stored()) ?? 0;
    const [file] = await files.find({ 'charge.accountId': owner.id } as object).toArray();
    if (!file) throw new Error('no file');
    // An upload has counted its bytes, and stores the document of its file a moment later.
    await accounts.updateOne({ _id: owner.id }, { $inc: { storedBytes: 500 } });
    const late = { ...file, _id: api.platform.ids.next(), key: 'late', charge: { accountId: owner.id, serverId: null, bytes: 500 } };
    expect((await run(() => files.insertOne(late))).corrected.storage).to.equal(0);
    expect(await stored()).to.equal(before + 500);
    // It changes while it is counted, and is wrong.
    await accounts.updateOne({ _id: owner.id }, { $inc: { storedBytes: 7 } });
    const busy = await run(() => accounts.updateOne({ _id: owner.id }, { $inc: { storedBytes: 1 } }));
    expect([busy.corrected.storage, busy.busy, await stored()]).to.deep.equal([0, [owner.id], before + 508]);
    await run();
    expect(await stored()).to.equal(before + 500);
  });

  it('goes on from a position, and is in the operators’ audit log', async () => {
    const { servers, dms, operatorAudit } = api.platform.db;
    await servers.updateOne({ _id: server.id }, { $set: { memberCount: 7 } });
    await dms.updateOne({ _id: dm.id }, { $set: { lastMessageId: null } });
    const parsed = parseCommandLine(['reindex', '--after', `threads:${server.id}`]);
    if (parsed.kind !== 'command' || parsed.command.command !== 'reindex') throw new Error('not parsed');
    expect(parsed.command).to.deep.equal({ command: 'reindex', after: { part: 'threads', after: server.id } });
    const lines: string[] = [];
    const { json, text } = await executeCommand(api.worker, parsed.command, { operator: 'ada', report: (line) => lines.push(line) });
    expect(json).to.deep.equal({ ok: true, command: 'reindex', changed: true, corrected: { threads: 0, dms: 1, storage: 0 }, busy: [] });
    expect(text).to.equal('Corrected: threads 0, dms 1, storage 0.');
    expect(lines[1]).to.match(/^dms: done, \d+ checked, 1 corrected$/);
    const [entry] = await operatorAudit.find({ command: 'reindex' }).toArray();
    expect(entry).to.deep.include({ operator: 'ada', outcome: 'done' });
    for (const wrong of ['threads', 'x:1', 'threads:$ne', ''])
      expect(parseCommandLine(['reindex', '--after', wrong]).kind).to.equal('usage');
  });
});
