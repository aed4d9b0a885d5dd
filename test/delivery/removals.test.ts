import { expect } from 'chai';
import { permissionBits } from '../../lib/base/permissions.ts';
import { finishRemoval } from '../../lib/domain/jobs/finish-removal.ts';
import { relayEvents } from '../../lib/domain/relay/relay.ts';
import type { FollowDoc } from '../../lib/store/mongo/models/follow.ts';
import type { MessageDoc } from '../../lib/store/mongo/models/message.ts';
import type { BanDoc } from '../../lib/store/mongo/models/moderation.ts';
import { serverPlace } from '../../lib/store/redis/log/keys.ts';
import { makeChannel, makeInvite, makeServer, makeThread, postMessage } from '../harness/factories.ts';
import { startInteractionFixture } from '../harness/interaction-fixture.ts';
import { beforeNextQuery, withLog } from '../harness/intercept.ts';
import { findDueRemovals } from '../harness/overdue-keys.ts';
import { caughtUp, type EventRecorder, recordEvents, startNode } from '../harness/parlance.ts';
import { inParallel, send, tally } from '../harness/requests.ts';
import { botOf } from '../harness/seed.ts';
import { make, use } from '../harness/use.ts';

const minuteMs = 60_000;

describe('finish-removal', () => {
  const fixture = use(startInteractionFixture);
  const node = use(() => startNode(fixture.worker.config));
  /** The bots of the fixture. */
  const recorders = [0, 1].map((at) => make(() => recordEvents(node, botOf(fixture.seeded, at).token, ['CHANNEL_DELETE'])));

  const call = <T = { id: string }>(status: number, method: string, path: string, body?: unknown): Promise<T> =>
    send(fixture.api, status, fixture.person, method, path, body);
  const newChannel = async (): Promise<string> => (await makeChannel(fixture.api, fixture.person, fixture.seeded.serverId)).id;
  const post = async (channelId: string): Promise<string> => (await postMessage(fixture.api, fixture.person, channelId)).id;
  const thread = async (channelId: string): Promise<string> => (await makeThread(fixture.api, fixture.person, channelId)).id;
  /** The CHANNEL_DELETE events of `ids` that the bot with this number received. */
  const deletedEvents = async (at: number, ...ids: string[]): Promise<unknown[]> => {
    const [recorder, accountId] = [recorders[at] as EventRecorder, botOf(fixture.seeded, at).id];
    await relayEvents(fixture.worker, 'server', fixture.seeded.serverId);
    await caughtUp(fixture.worker, serverPlace(fixture.seeded.serverId), accountId, recorder);
    return recorder.received.flatMap(({ t, d }) => (t === 'CHANNEL_DELETE' && ids.includes(String(d.id)) ? [d] : []));
  };
  /** Counts what is left of channels, by collection. */
  const countLeft = async (...channelIds: string[]): Promise<Record<string, number>> => {
    const { messages, reactions, channels, reads, follows, removals } = fixture.api.platform.db;
    const $in = { $in: channelIds };
    const counts = {
      messages: await messages.countDocuments({ channelId: $in }),
      reactions: await reactions.countDocuments({ channelId: $in }),
      channels: await channels.countDocuments({ _id: $in }),
      reads: await reads.countDocuments({ channelId: $in }),
      follows: await follows.countDocuments({ $or: [{ sourceId: $in }, { targetId: $in }] }),
      removals: await removals.countDocuments({ _id: $in }),
    };
    return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
  };
  const age = (id: string, ms: number): Promise<unknown> =>
    fixture.api.platform.db.removals.updateOne({ _id: id }, [
      { $set: { at: { $subtract: ['$at', ms] }, nextAt: { $subtract: ['$nextAt', ms] } } },
    ]);
  /** Inserts a message, as a post that had passed its checks before the deletion. */
  const insertLate = (channelId: string, serverId: string): Promise<unknown> =>
    fixture.api.platform.db.messages.insertOne({ _id: fixture.api.platform.ids.next(), channelId, serverId } as MessageDoc);
  const insertMessages = async (channelId: string, count: number): Promise<void> => {
    const model = await fixture.api.platform.db.messages.findOne({ _id: await post(channelId) });
    const rows = Array.from({ length: count }, () => ({ ...model, _id: fixture.api.platform.ids.next() }));
    await fixture.api.platform.db.messages.insertMany(rows as never);
  };

  it('removes a channel with its threads, and sends each CHANNEL_DELETE once to those who could view it', async () => {
    const id = await newChannel();
    const [first, second] = [await thread(id), await thread(id)];
    await insertMessages(id, 4_500);
    await call(204, 'PUT', `/api/channels/${id}/messages/${await post(id)}/reactions/👍`);
    await call(204, 'PUT', `/api/channels/${id}/read`, { messageId: await post(first) });
    await fixture.api.platform.db.follows.insertMany([
      { _id: `${id}:a`, sourceId: id, targetId: 'a', slot: 0 },
      { _id: `b:${id}`, sourceId: 'b', targetId: id, slot: 0 },
    ] as FollowDoc[]);
    const hidden = { allow: 0, deny: permissionBits['View Channel'] };
    await call(200, 'PUT', `/api/channels/${id}/overwrites/${fixture.seeded.bots[1]?.id}`, hidden);
    await relayEvents(fixture.worker, 'server', fixture.seeded.serverId);
    await call(204, 'DELETE', `/api/channels/${id}`);
    for (const gone of [id, first, second]) {
      await call(404, 'GET', `/api/channels/${gone}`);
      await call(404, 'GET', `/api/channels/${gone}/messages`);
    }
    const all = [id, first, second];
    expect(await finishRemoval(fixture.worker, id)).to.be.within(30_000, minuteMs);
    expect(await countLeft(...all)).to.deep.equal({ channels: 2, removals: 1 });
    await finishRemoval(fixture.worker, id);
    await Promise.all([finishRemoval(fixture.worker, id), finishRemoval(fixture.worker, id)]);
    expect(await deletedEvents(0, ...all)).to.have.deep.members(all.map((gone) => ({ id: gone, serverId: fixture.seeded.serverId })));
    expect(await deletedEvents(1, ...all), 'when the channel was hidden').to.deep.equal([{ id, serverId: fixture.seeded.serverId }]);
    await age(id, minuteMs);
    expect(await Promise.all([finishRemoval(fixture.worker, id), finishRemoval(fixture.worker, id)])).to.deep.equal([null, null]);
    expect([await countLeft(...all), await deletedEvents(0, ...all)].map((one) => Object.keys(one).length)).to.deep.equal([0, 3]);
  });

  it('runs again a minute after the deletion, to remove posts that were under way', async () => {
    const id = await newChannel();
    const inside = await thread(id);
    await call(204, 'DELETE', `/api/channels/${id}`);
    expect(await finishRemoval(fixture.worker, id)).to.be.within(30_000, minuteMs);
    // Posts and a thread that had passed their checks before the deletion.
    const newer = await thread(fixture.channelId);
    await fixture.api.platform.db.channels.updateOne({ _id: newer }, { $set: { parentId: id } });
    for (const channelId of [id, inside, newer]) await insertLate(channelId, fixture.seeded.serverId);
    await age(id, minuteMs);
    await finishRemoval(fixture.worker, id);
    expect(await countLeft(id, inside, newer)).to.deep.equal({});
    await finishRemoval(fixture.worker, id);
  });

  it('leaves nothing of posts that race with the deletion after the last pass', async () => {
    const id = await newChannel();
    const inside = await thread(id);
    await insertMessages(id, 10);
    let deleted = false;
    const racing = async (channelId: string): Promise<void> => {
      while (!deleted) {
        const { status } = await fixture.api.call('POST', `/api/channels/${channelId}/messages`, {
          as: fixture.asPerson,
          body: { content: 'x' },
        });
        expect(status).to.be.oneOf([201, 404]);
      }
    };
    const racers = Array.from({ length: 20 }, (_, n) => racing(n % 2 ? id : inside));
    await call(204, 'DELETE', `/api/channels/${id}`);
    await finishRemoval(fixture.worker, id);
    deleted = true;
    await Promise.all(racers);
    await age(id, minuteMs);
    await finishRemoval(fixture.worker, id);
    expect(await countLeft(id, inside)).to.deep.equal({});
  });

  it('one of 20 parallel deletes of a thread gets 204; its channel stays', async () => {
    const id = await thread(fixture.channelId);
    await post(id);
    const answers = await inParallel(20, () => fixture.api.call('DELETE', `/api/channels/${id}`, { as: fixture.asPerson }));
    expect(tally(answers)).to.deep.equal({ 204: 1, 404: 19 });
    await finishRemoval(fixture.worker, id);
    expect(await countLeft(id)).to.deep.equal({ removals: 1 });
    expect(await deletedEvents(0, id)).to.have.length(1);
    await call(200, 'GET', `/api/channels/${fixture.channelId}`);
  });

  it('the sweep runs an interrupted removal, and the last pass when it is due', async () => {
    const id = await newChannel();
    await call(204, 'DELETE', `/api/channels/${id}`);
    expect(await findDueRemovals(fixture.worker)).not.to.include(id);
    await age(id, 2_500);
    expect(await findDueRemovals(fixture.worker)).to.include(id);
    await finishRemoval(fixture.worker, id);
    expect(await findDueRemovals(fixture.worker)).not.to.include(id);
    await age(id, minuteMs);
    expect(await findDueRemovals(fixture.worker)).to.include(id);
    await finishRemoval(fixture.worker, id);
    expect(await findDueRemovals(fixture.worker)).not.to.include(id);
  });

  describe('a server', () => {
    const leftOf = async (serverId: string): Promise<string[]> => {
      const { db } = fixture.api.platform;
      const all = [db.servers, db.members, db.channels, db.messages, db.invites, db.bans, db.audit, db.commands, db.removals] as const;
      const counts = await Promise.all(
        all.map(async (one) => [one.collectionName, await one.countDocuments({ $or: [{ serverId }, { _id: serverId }] })] as const),
      );
      return counts.filter(([, count]) => count > 0).map(([name]) => name);
    };

    it('is hidden at once and then removed with everything in it', async () => {
      const { id, general } = await makeServer(fixture.api, fixture.person);
      const inside = await thread(general);
      await Promise.all([post(general), post(inside)]);
      await makeInvite(fixture.api, fixture.person, id);
      await fixture.api.platform.db.bans.insertOne({ _id: `${id}:x`, serverId: id } as BanDoc);
      await call(204, 'DELETE', `/api/servers/${id}`);
      await call(404, 'GET', `/api/channels/${inside}`);
      const members = await fixture.api.platform.db.removals.findOne({ serverId: id, kind: 'members' });
      expect([await finishRemoval(fixture.worker, String(members?._id)), members?.userIds]).to.deep.equal([null, [fixture.seeded.ownerId]]);
      await finishRemoval(fixture.worker, id);
      await finishRemoval(fixture.worker, id);
      expect(await leftOf(id)).to.deep.equal(['channels', 'removals']);
      await Promise.all([general, inside].map((channelId) => insertLate(channelId, id)));
      await age(id, minuteMs);
      expect(await finishRemoval(fixture.worker, id)).to.equal(null);
      expect(await leftOf(id)).to.deep.equal([]);
    });

    it('stays when it gets a new owner meanwhile', async () => {
      const { id, general } = await makeServer(fixture.api, fixture.person);
      const { servers } = fixture.api.platform.db;
      beforeNextQuery(servers, 'findOneAndDelete', () => servers.updateOne({ _id: id }, { $set: { ownerId: 'heir' } }));
      await call(404, 'DELETE', `/api/servers/${id}`);
      await call(200, 'GET', `/api/channels/${general}`);
      expect(await leftOf(id)).not.to.include('removals');
    });
  });
});

describe('finish-removal: a channel moved into a category that is being removed', () => {
  const fixture = use(startInteractionFixture);

  it('keeps the channel and its messages, sends no CHANNEL_DELETE for it, and clears its parentId', async () => {
    const { channels, messages, removals } = fixture.api.platform.db;
    const { api, person, seeded } = fixture;
    const category = await makeChannel(api, person, seeded.serverId, { kind: 'category' });
    const moved = await makeChannel(api, person, seeded.serverId);
    await postMessage(api, person, moved.id);
    await send(api, 204, person, 'DELETE', `/api/channels/${category.id}`);
    const appendedIds: string[] = [];
    // A PATCH that read the category writes after the channels were taken out of it, and its process dies then.
    const meanwhile = withLog(fixture.worker, {
      append: async (...[place, events]: Parameters<typeof fixture.worker.eventLog.append>) => {
        appendedIds.push(...events.map(({ id }) => id));
        await channels.updateOne({ _id: moved.id }, { $set: { parentId: category.id } });
        return fixture.worker.eventLog.append(place, events);
      },
    });
    await finishRemoval(meanwhile, category.id);
    await relayEvents(meanwhile, 'server', seeded.serverId);
    expect([...new Set(appendedIds.filter((id) => id.startsWith('gone-')))]).to.deep.equal([`gone-${category.id}`]);
    expect(await messages.countDocuments({ channelId: moved.id })).to.equal(1);
    await removals.updateOne({ _id: category.id }, { $set: { at: new Date(0) } });
    expect(await finishRemoval(fixture.worker, category.id)).to.equal(null);
    expect(await channels.findOne({ _id: moved.id })).to.include({ parentId: null });
    expect(await messages.countDocuments({ channelId: moved.id })).to.equal(1);
  });
});
