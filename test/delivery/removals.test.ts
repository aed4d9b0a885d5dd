import { expect } from 'chai';
import { permissionBits } from '../../lib/base/permissions.ts';
import { finishRemoval } from '../../lib/domain/servers/finish-removal.ts';
import { overdueRemovals } from '../../lib/domain/servers/removals.ts';
import { Later } from '../../lib/store/queue/queue.ts';
import { serverPlace } from '../../lib/store/redis/log/keys.ts';
import { finishRemovalJob } from '../../workers/finish-removal.ts';
import { tally } from '../harness/factories.ts';
import { meet } from '../harness/meet.ts';
import { type Scene, startScene } from '../harness/scene.ts';
import { caughtUp, type Ear, listenAs, startNode, type TestNode } from '../harness/whole.ts';

const minuteMs = 60_000;

describe('finish-removal', () => {
  let scene: Scene;
  let node: TestNode;
  /** The bots. */
  let ears: Ear[];
  before(async () => {
    scene = await startScene();
    node = await startNode(scene.worker.config);
    ears = await Promise.all(scene.world.bots.map(({ token }) => listenAs(node, token, ['CHANNEL_DELETE'])));
  });
  after(async () => {
    await Promise.all(ears.map(({ client }) => client.close()));
    await node.close();
    await scene.close();
  });

  const call = async <T = { id: string }>(status: number, method: string, path: string, body?: unknown): Promise<T> => {
    const answer = await scene.api.call<T>(method, path, { as: scene.asPerson, body });
    expect(answer.status, JSON.stringify(answer.body)).to.equal(status);
    return answer.body;
  };
  const makeChannel = async (): Promise<string> =>
    (await call(201, 'POST', `/api/servers/${scene.world.serverId}/channels`, { name: 'x', kind: 'text' })).id;
  const post = async (channelId: string): Promise<string> =>
    (await call(201, 'POST', `/api/channels/${channelId}/messages`, { content: 'x' })).id;
  const thread = async (channelId: string): Promise<string> =>
    (await call(201, 'POST', `/api/channels/${channelId}/threads`, { name: 'x' })).id;
  /** The CHANNEL_DELETE that the bot with this number was given for `id`. */
  const told = async (at: number, ...ids: string[]): Promise<unknown[]> => {
    const [ear, accountId] = [ears[at] as Ear, scene.world.bots[at]?.id as string];
    await caughtUp(scene.worker, serverPlace(scene.world.serverId), accountId, ear);
    return ear.heard.flatMap(({ t, d }) => (t === 'CHANNEL_DELETE' && ids.includes(String(d.id)) ? [d] : []));
  };
  /** What is left of channels, by collection. */
  const left = async (...channelIds: string[]): Promise<Record<string, number>> => {
    const { messages, channels, reads, follows, removals } = scene.api.platform.db;
    const $in = { $in: channelIds };
    const counts = {
      messages: await messages.collection.countDocuments({ channelId: $in }),
      channels: await channels.collection.countDocuments({ _id: $in } as never),
      reads: await reads.collection.countDocuments({ channelId: $in }),
      follows: await follows.collection.countDocuments({ $or: [{ sourceId: $in }, { targetId: $in }] }),
      removals: await removals.collection.countDocuments({ _id: $in } as never),
    };
    return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
  };
  const shift = (id: string, ms: number): Promise<unknown> =>
    scene.api.platform.db.removals.collection.updateOne({ _id: id as never }, [
      { $set: { at: { $subtract: ['$at', ms] }, nextAt: { $subtract: ['$nextAt', ms] } } },
    ]);
  /** A message that had passed its checks before the deletion. */
  const late = (channelId: string, serverId: string): Promise<unknown> =>
    scene.api.platform.db.messages.collection.insertOne({ _id: scene.api.platform.ids.next() as never, channelId, serverId });
  const fill = async (channelId: string, count: number): Promise<void> => {
    const model = await scene.api.platform.db.messages.findOne({ _id: await post(channelId) }).lean();
    const rows = Array.from({ length: count }, () => ({ ...model, _id: scene.api.platform.ids.next() }));
    await scene.api.platform.db.messages.collection.insertMany(rows as never);
  };

  it('a channel: all of it goes in a pass, threads too, and each CHANNEL_DELETE is told once to who could view it', async () => {
    const id = await makeChannel();
    const [first, second] = [await thread(id), await thread(id)];
    await fill(id, 4_500);
    await call(204, 'PUT', `/api/channels/${id}/read`, { messageId: await post(first) });
    await scene.api.platform.db.follows.collection.insertMany([
      { _id: `${id}:a` as never, sourceId: id, targetId: 'a', slot: 0 },
      { _id: `b:${id}` as never, sourceId: 'b', targetId: id, slot: 0 },
    ]);
    const hidden = { allow: 0, deny: permissionBits['View Channel'] };
    await call(200, 'PUT', `/api/channels/${id}/overwrites/${scene.world.bots[1]?.id}`, hidden);
    await call(204, 'DELETE', `/api/channels/${id}`);
    for (const gone of [id, first, second]) {
      await call(404, 'GET', `/api/channels/${gone}`);
      await call(404, 'GET', `/api/channels/${gone}/messages`);
    }
    const all = [id, first, second];
    expect(await finishRemoval(scene.worker, id)).to.be.within(30_000, minuteMs);
    expect(await left(...all)).to.deep.equal({ channels: 2, removals: 1 });
    await finishRemoval(scene.worker, id);
    await Promise.all([finishRemoval(scene.worker, id), finishRemoval(scene.worker, id)]);
    expect(await told(0, ...all)).to.have.deep.members(all.map((gone) => ({ id: gone, serverId: scene.world.serverId })));
    expect(await told(1, ...all)).to.deep.equal([]);
    await shift(id, minuteMs);
    expect(await Promise.all([finishRemoval(scene.worker, id), finishRemoval(scene.worker, id)])).to.deep.equal([null, null]);
    expect([await left(...all), await told(0, ...all)].map((one) => Object.keys(one).length)).to.deep.equal([0, 3]);
  });

  it('the job comes again a minute after the deletion, for posts that were under way; then nothing is left', async () => {
    const id = await makeChannel();
    const inside = await thread(id);
    await call(204, 'DELETE', `/api/channels/${id}`);
    const early = await finishRemovalJob(scene.worker, { removalId: id }).catch((error: unknown) => error);
    expect(early).to.be.instanceOf(Later);
    expect((early as Later).ms).to.be.within(30_000, minuteMs);
    // Posts and a thread that had passed their checks before the deletion.
    const newer = await thread(scene.channelId);
    await scene.api.platform.db.channels.collection.updateOne({ _id: newer as never }, { $set: { parentId: id } });
    for (const channelId of [id, inside, newer]) await late(channelId, scene.world.serverId);
    await shift(id, minuteMs);
    await finishRemovalJob(scene.worker, { removalId: id });
    expect(await left(id, inside, newer)).to.deep.equal({});
    await finishRemovalJob(scene.worker, { removalId: id });
  });

  it('posts that race the deletion leave nothing after the last pass', async () => {
    const id = await makeChannel();
    const inside = await thread(id);
    await fill(id, 10);
    let deleted = false;
    const racing = async (channelId: string): Promise<void> => {
      while (!deleted) {
        const { status } = await scene.api.call('POST', `/api/channels/${channelId}/messages`, {
          as: scene.asPerson,
          body: { content: 'x' },
        });
        expect(status).to.be.oneOf([201, 404]);
      }
    };
    const racers = Array.from({ length: 20 }, (_, n) => racing(n % 2 ? id : inside));
    await call(204, 'DELETE', `/api/channels/${id}`);
    await finishRemoval(scene.worker, id);
    deleted = true;
    await Promise.all(racers);
    await shift(id, minuteMs);
    await finishRemoval(scene.worker, id);
    expect(await left(id, inside)).to.deep.equal({});
  });

  it('of 20 deletes at once one is 204; a thread goes alone, its channel stays', async () => {
    const id = await thread(scene.channelId);
    await post(id);
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => scene.api.call('DELETE', `/api/channels/${id}`, { as: scene.asPerson })),
    );
    expect(tally(answers)).to.deep.equal({ 204: 1, 404: 19 });
    await finishRemoval(scene.worker, id);
    expect(await left(id)).to.deep.equal({ removals: 1 });
    expect(await told(0, id)).to.have.length(1);
    await call(200, 'GET', `/api/channels/${scene.channelId}`);
  });

  it('the sweep takes up what a pass does not move on, and the last pass in its time', async () => {
    const id = await makeChannel();
    await call(204, 'DELETE', `/api/channels/${id}`);
    expect(await overdueRemovals(scene.worker)).not.to.include(id);
    await shift(id, 2_500);
    expect(await overdueRemovals(scene.worker)).to.include(id);
    await finishRemoval(scene.worker, id);
    expect(await overdueRemovals(scene.worker)).not.to.include(id);
    await shift(id, minuteMs);
    expect(await overdueRemovals(scene.worker)).to.include(id);
    await finishRemoval(scene.worker, id);
    expect(await overdueRemovals(scene.worker)).not.to.include(id);
  });

  describe('a server', () => {
    const makeServer = async (): Promise<{ id: string; general: string }> => {
      const { id, channels } = await call<{ id: string; channels: { id: string }[] }>(201, 'POST', '/api/servers', { name: 'x' });
      return { id, general: channels[0]?.id as string };
    };
    const leftOf = async (serverId: string): Promise<string[]> => {
      const { db } = scene.api.platform;
      const all = [db.servers, db.members, db.channels, db.messages, db.invites, db.bans, db.audit, db.commands, db.removals] as const;
      const counts = await Promise.all(
        all.map(
          async ({ collection }) =>
            [collection.name, await collection.countDocuments({ $or: [{ serverId }, { _id: serverId as never }] })] as const,
        ),
      );
      return counts.filter(([, count]) => count > 0).map(([name]) => name);
    };

    it('is hidden at once; the passes take all that was in it', async () => {
      const { id, general } = await makeServer();
      const inside = await thread(general);
      await Promise.all([post(general), post(inside)]);
      await call(201, 'POST', `/api/servers/${id}/invites`, {});
      await scene.api.platform.db.bans.collection.insertOne({ _id: `${id}:x` as never, serverId: id });
      await call(204, 'DELETE', `/api/servers/${id}`);
      await call(404, 'GET', `/api/channels/${inside}`);
      const members = await scene.api.platform.db.removals.findOne({ serverId: id, kind: 'members' }).lean();
      expect([await finishRemoval(scene.worker, String(members?._id)), members?.userIds]).to.deep.equal([null, [scene.world.ownerId]]);
      await finishRemoval(scene.worker, id);
      await finishRemoval(scene.worker, id);
      expect(await leftOf(id)).to.deep.equal(['channels', 'removals']);
      await Promise.all([general, inside].map((channelId) => late(channelId, id)));
      await shift(id, minuteMs);
      expect(await finishRemoval(scene.worker, id)).to.equal(null);
      expect(await leftOf(id)).to.deep.equal([]);
    });

    it('handed over at the same moment, it stays', async () => {
      const { id, general } = await makeServer();
      const { servers } = scene.api.platform.db;
      meet(servers, 'findOneAndDelete', () => servers.updateOne({ _id: id }, { $set: { ownerId: 'heir' } }).exec());
      await call(404, 'DELETE', `/api/servers/${id}`);
      await call(200, 'GET', `/api/channels/${general}`);
      expect(await leftOf(id)).not.to.include('removals');
    });
  });
});
