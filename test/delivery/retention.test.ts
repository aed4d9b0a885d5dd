import { expect } from 'chai';
import { composeId } from '../../lib/base/ids.ts';
import type { Server } from '../../lib/contract/server.ts';
import { recountThreads } from '../../lib/domain/channels/thread-activity.ts';
import { decideMessageFiles } from '../../lib/domain/files/files.ts';
import { restartRetention, sweepRetention } from '../../lib/domain/jobs/retention-sweep.ts';
import { sweepReactions } from '../../lib/domain/messages/reaction-changes.ts';
import { setMessageRetention } from '../../lib/domain/operators/servers.ts';
import { relayEvents } from '../../lib/domain/relay/relay.ts';
import type { WorkerPlatform } from '../../lib/store/platform.ts';
import { formOf, sendBody } from '../files/fixture.ts';
import { startTestApiWithWorker } from '../harness/api.ts';
import { makeChannel, makeServer, makeThread, openDm, postMessage } from '../harness/factories.ts';
import { beforeNextQuery } from '../harness/intercept.ts';
import { sweepNewMessagesNow } from '../harness/new-messages.ts';
import { send } from '../harness/requests.ts';
import { newMember, newServer, useServer } from '../harness/use.ts';

const dayMs = 24 * 60 * 60_000;

describe('retention', () => {
  const fixture = useServer({ peer: newMember(), other: newServer() }, { each: true, start: startTestApiWithWorker });
  const { api, owner, server, peer, other } = fixture;

  /** A worker whose clock is `days` ahead, with other settings. */
  const later = (days: number, settings: Partial<WorkerPlatform['config']> = {}): WorkerPlatform => ({
    ...api.worker,
    config: { ...api.worker.config, ...settings },
    now: () => Date.now() + days * dayMs,
  });
  /** Runs the sweep until the workers have looked at everything. Returns how many runs that took. */
  const sweep = async (worker: WorkerPlatform): Promise<number> => {
    await restartRetention(worker);
    for (let runs = 1; ; runs++) {
      await sweepRetention(worker);
      if ((await worker.db.meta.findOne({ _id: 'retention' as 'app-key', nextAt: { $exists: true } } as object)) !== null) return runs;
    }
  };
  const relay = async (channelId: string): Promise<void> => {
    await relayEvents(api.worker, 'channel', channelId);
    await sweepNewMessagesNow(api.worker);
  };
  const post = async (channelId = server.general, as = owner): Promise<string> => {
    const { id } = await postMessage(api, as, channelId);
    await relay(channelId);
    return id;
  };
  const left = async (channelId = server.general): Promise<string[]> => {
    const found = await api.platform.db.messages
      .find({ channelId, deleted: { $exists: false } })
      .sort({ _id: 1 })
      .toArray();
    return found.map(({ _id }) => _id);
  };

  it('deletes messages of a server that are older than its retention, in channels and threads, and no others', async () => {
    const thread = await makeThread(api, owner, server.general, { name: 'x' });
    const [inThread, old, elsewhere] = [await post(thread.id), await post(), await post(other.general)];
    await setMessageRetention(api.platform, server.id, 2);
    await sweep(later(1.9));
    expect([await left(thread.id), await left()]).to.deep.equal([[inThread], [old]]);
    await recountThreads(later(1));
    await sweep(later(2.1));
    expect([await left(thread.id), await left(), await left(other.general)]).to.deep.equal([[], [], [elsewhere]]);
    await send(api, 404, owner, 'GET', `/api/channels/${server.general}/messages/${old}`);
    await recountThreads(later(3));
    expect((await api.platform.db.channels.findOne({ _id: thread.id }))?.messageCount).to.equal(0);
  });

  it('MESSAGE_RETENTION_DAYS applies to DMs and to servers without a retention of their own', async () => {
    const dm = await openDm(api, owner, peer);
    const off = await makeServerWith(0);
    const long = await makeServerWith(30);
    await post(dm.id);
    await post();
    await sweep(later(8, { MESSAGE_RETENTION_DAYS: 7 }));
    expect([await left(dm.id), await left()]).to.deep.equal([[], []]);
    expect((await left(off)).length + (await left(long)).length).to.equal(2);
    expect((await api.platform.db.dms.findOne({ _id: dm.id }))?.lastMessageId).to.equal(null);
    await sweep(later(31, { MESSAGE_RETENTION_DAYS: 7 }));
    expect([(await left(off)).length, (await left(long)).length]).to.deep.equal([1, 0]);
  });
  const makeServerWith = async (days: number): Promise<string> => {
    const { id, general } = await makeServer(api, owner);
    await setMessageRetention(api.platform, id, days);
    await post(general);
    return general;
  };

  it('deletes pinned messages, files with their storage, and reactions', async () => {
    const files = [{ name: 'a.bin', bytes: Buffer.alloc(1000), type: 'application/octet-stream' }];
    const sent = await sendBody(`${api.url}/api/channels/${server.general}/messages`, owner.as, formOf({ content: 'x' }, files));
    const { id } = sent.body;
    const path = `/api/channels/${server.general}`;
    await send(api, 204, owner, 'PUT', `${path}/pins/${id}`);
    await send(api, 204, owner, 'PUT', `${path}/messages/${id}/reactions/👍`);
    await relay(server.general);
    const { db } = api.platform;
    expect((await db.servers.findOne({ _id: server.id }))?.storedBytes).to.equal(1000);
    await setMessageRetention(api.platform, server.id, 1);
    await sweep(later(2));
    expect(await send(api, 200, owner, 'GET', `${path}/pins`)).to.deep.equal([]);
    await decideMessageFiles(api.worker, id);
    await sweepReactions(api.worker);
    expect([await db.files.countDocuments({ messageId: id }), await db.reactions.countDocuments({ messageId: id })]).to.deep.equal([0, 0]);
    expect(await db.messages.countDocuments({ _id: id })).to.equal(0);
    expect((await db.servers.findOne({ _id: server.id }))?.storedBytes).to.equal(0);
  });

  it('leaves a message with pending events or copies, or that gets a reaction at this moment, for the next round', async () => {
    const { id: pending } = await postMessage(api, owner, server.general);
    await setMessageRetention(api.platform, server.id, 1);
    await sweep(later(2));
    expect(await left()).to.deep.equal([pending]);
    await relay(server.general);
    const react = () => send(api, 204, owner, 'PUT', `/api/channels/${server.general}/messages/${pending}/reactions/👍`);
    beforeNextQuery(api.worker.db.messages, 'deleteMany', () => react().then(() => relay(server.general)));
    await sweep(later(2));
    expect(await left()).to.deep.equal([pending]);
    await relay(server.general);
    const { messages } = api.platform.db;
    await messages.updateOne({ _id: pending, channelId: server.general }, { $set: { crosspostAt: new Date() } });
    await sweep(later(2));
    expect(await left()).to.deep.equal([pending]);
    await messages.updateOne({ _id: pending, channelId: server.general }, { $unset: { crosspostAt: 1 } });
    await sweep(later(2));
    expect(await left()).to.deep.equal([]);
  });

  it('one run deletes a bounded number, and the next goes on where it stopped', async () => {
    const { db } = api.platform;
    await post();
    const doc = (await db.messages.findOne({ channelId: server.general })) ?? expect.fail();
    const { id: second } = await makeChannel(api, owner, server.id, { name: 'second' });
    const copies = (channelId: string, node: number) =>
      Array.from({ length: 250 }, (_, at) => ({ ...doc, _id: composeId(Date.now() - 10 * dayMs + at, node, 0), channelId }));
    await db.messages.insertMany([...copies(server.general, 1), ...copies(second, 2)]);
    await setMessageRetention(api.platform, server.id, 3);
    const counts: number[] = [];
    for (let run = 0; run < 4; run++) {
      await sweepRetention(api.worker);
      counts.push(await db.messages.countDocuments({ serverId: server.id }));
    }
    expect(counts.slice(0, 3)).to.deep.equal([301, 101, 1]);
    expect(await left()).to.deep.equal([doc._id]);
  });

  it('waits for an hour after a round, and begins at once when a retention changes', async () => {
    const { servers } = api.platform.db;
    await post();
    await sweep(later(2));
    await servers.updateOne({ _id: server.id }, { $set: { messageRetentionDays: 1 } });
    await sweepRetention(later(2 + 0.9 / 24));
    expect(await left()).to.have.length(1);
    await sweepRetention(later(2 + 1.1 / 24));
    expect(await left()).to.have.length(0);
    await servers.updateOne({ _id: server.id }, { $unset: { messageRetentionDays: 1 } });
    await post();
    await sweep(later(2));
    await setMessageRetention(api.platform, server.id, 1);
    await sweepRetention(later(2));
    expect(await left()).to.have.length(0);
  });

  it('AUDIT_RETENTION_DAYS deletes old entries of servers’ audit logs, page by page', async () => {
    const { db, ids } = api.platform;
    const entry = { serverId: server.id, actorId: owner.id, action: 'server_update' as const, targetId: null, reason: null, changes: {} };
    const old = Array.from({ length: 450 }, (_, at) => ({
      ...entry,
      _id: composeId(Date.now() - 10 * dayMs + at, 0, 0),
      createdAt: new Date(),
    }));
    await db.audit.insertMany([...old, { ...entry, _id: ids.next(), createdAt: new Date() }]);
    await sweep(later(0));
    const { length: recent } = await db.audit.find({ serverId: server.id, _id: { $gt: old.at(-1)?._id ?? '' } }).toArray();
    expect(await db.audit.countDocuments({ serverId: server.id })).to.equal(450 + recent);
    expect(await sweep(later(0, { AUDIT_RETENTION_DAYS: 5 }))).to.be.greaterThan(2);
    expect(await db.audit.countDocuments({ serverId: server.id })).to.equal(recent);
  });

  it('members see the retention of their server, and its audit log has the change', async () => {
    const read = async () => (await send<Server>(api, 200, peer, 'GET', `/api/servers/${server.id}`)).messageRetentionDays;
    expect(await read()).to.equal(null);
    expect(await setMessageRetention(api.platform, server.id, 90)).to.include({ isChanged: true });
    expect(await read()).to.equal(90);
    expect(await setMessageRetention(api.platform, server.id, 90)).to.include({ isChanged: false });
    await setMessageRetention(api.platform, server.id, null);
    const isOfRetention = { serverId: server.id, 'changes.messageRetentionDays': { $exists: true } };
    const entries = await api.platform.db.audit.find(isOfRetention).sort({ _id: 1 }).toArray();
    expect(entries.map(({ changes }) => changes)).to.deep.equal([
      { messageRetentionDays: { from: null, to: 90 } },
      { messageRetentionDays: { from: 90, to: null } },
    ]);
  });
});
