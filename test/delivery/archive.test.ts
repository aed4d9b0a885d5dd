import { expect } from 'chai';
import { archiveThreads, recountThreads } from '../../lib/domain/channels/thread-activity.ts';
import { relay } from '../../lib/domain/events/relay.ts';
import type { ChannelDoc } from '../../lib/store/mongo/models/server.ts';
import type { Answer } from '../harness/api.ts';
import { around } from '../harness/around.ts';
import { type Scene, startScene } from '../harness/scene.ts';

const minuteMs = 60_000;

describe('threads and time', () => {
  let scene: Scene;
  before(async () => {
    scene = await startScene();
  });
  after(() => scene.close());

  const call = async <T = { id: string }>(
    status: number,
    method: string,
    path: string,
    body?: unknown,
    as = scene.asPerson,
  ): Promise<T> => {
    const answer = await scene.api.call<T>(method, path, { as, body });
    expect(answer.status, JSON.stringify(answer.body)).to.equal(status);
    return answer.body;
  };
  const start = async (body: object = {}): Promise<string> =>
    (await call(201, 'POST', `/api/channels/${scene.channelId}/threads`, { name: 'x', ...body })).id;
  const post = (id: string, as = scene.asPerson): Promise<Answer> =>
    scene.api.call('POST', `/api/channels/${id}/messages`, { as, body: { content: 'x' } });
  const stored = async (id: string): Promise<ChannelDoc> =>
    (await scene.api.platform.db.channels.findOne({ _id: id }).lean()) as ChannelDoc;
  const set = (id: string, fields: object): Promise<unknown> =>
    scene.api.platform.db.channels.collection.updateOne({ _id: id as never }, { $set: fields });
  const due = (id: string): Promise<unknown> => set(id, { archiveAt: new Date(Date.now() - 1) });
  const updates = async (id: string): Promise<number> =>
    ((await stored(id)).ob ?? []).filter((one) => one.name === 'CHANNEL_UPDATE').length;
  const archived = async (): Promise<string> => {
    const id = await start();
    await due(id);
    await archiveThreads(scene.worker);
    expect(await stored(id)).to.include({ archived: true });
    return id;
  };
  /** What was left of a thread's time, in minutes. */
  const minutesLeft = async (id: string): Promise<number> => {
    const { archiveAt, lastActivityAt } = await stored(id);
    expect(Date.now() - Number(lastActivityAt)).to.be.below(minuteMs);
    return (Number(archiveAt) - Number(lastActivityAt)) / minuteMs;
  };

  describe('archiveThreads', () => {
    it('archives a thread whose time has come, not one before its time, and owes one CHANNEL_UPDATE', async () => {
      const [late, early] = [await start({ autoArchiveMinutes: 60 }), await start({ autoArchiveMinutes: 60 })];
      expect(await minutesLeft(late)).to.equal(60);
      await due(late);
      await set(early, { archiveAt: new Date(Date.now() + 60_000) });
      expect(await archiveThreads(scene.worker)).to.equal(1);
      const [hidden, open] = [await stored(late), await stored(early)];
      expect([hidden.archived, hidden.archiveAt, open.archived]).to.deep.equal([true, undefined, false]);
      expect([await updates(late), await updates(early)]).to.deep.equal([1, 0]);
    });

    it('of 2,500 due threads two sweeps at once archive each once; a third changes nothing', async () => {
      const { channels } = scene.api.platform.db;
      const { ob: _owes, obAt: _since, ...model } = await stored(await start());
      const rows = Array.from({ length: 2_500 }, (_, at) => ({
        ...model,
        _id: String(2n * 10n ** 18n + BigInt(at)),
        parentId: 'many',
        archiveAt: new Date(1 + at),
      }));
      await channels.collection.insertMany(rows as never);
      const counts = await Promise.all([archiveThreads(scene.worker), archiveThreads(scene.worker)]);
      expect(counts[0] + counts[1]).to.equal(2_500);
      const all = (await channels.find({ parentId: 'many' }).sort({ _id: 1 }).lean()) as ChannelDoc[];
      expect(all.every((one) => one.archived && one.archiveAt === undefined && one.ob?.length === 1)).to.equal(true);
      expect(new Set(all.map((one) => one.ob?.[0]?.id)).size).to.equal(2_500);
      expect(await archiveThreads(scene.worker)).to.equal(0);
      expect(await channels.find({ parentId: 'many' }).sort({ _id: 1 }).lean()).to.deep.equal(all);
      await channels.deleteMany({ parentId: 'many' });
    });

    it('a thread posted in after the sweep found it stays', async () => {
      const id = await start();
      await due(id);
      around(scene.worker.db.channels.collection, 'updateMany', async (real) => {
        expect((await post(id)).status).to.equal(201);
        return real();
      });
      expect(await archiveThreads(scene.worker)).to.equal(0);
      expect([(await stored(id)).archived, await updates(id)]).to.deep.equal([false, 0]);
    });

    it('against a post at the same moment: after the 201 the thread is never archived, 50 rounds', async () => {
      const id = await start();
      for (let round = 0; round < 50; round++) {
        await due(id);
        const [{ status }] = await Promise.all([post(id), archiveThreads(scene.worker), archiveThreads(scene.worker)]);
        expect([status, (await stored(id)).archived], `round ${round}`).to.deep.equal([201, false]);
      }
    });
  });

  describe('posting', () => {
    const makers: [who: string, make: (id: string) => Promise<number>][] = [
      ['a person', async (id) => (await post(id)).status],
      ['a bot', async (id) => (await post(id, scene.asBot)).status],
      [
        'the answer to a command',
        async (id) => {
          const used = await call(202, 'POST', `/api/channels/${id}/commands/${scene.commands.hello}/invoke`, {});
          expect(await stored(id)).to.include({ archived: true });
          return (await scene.send('callback', used.id, { type: 'message', content: 'x' })).status;
        },
      ],
    ];
    for (const [who, make] of makers)
      it(`by ${who} wakes an archived thread, which is listed again`, async () => {
        const id = await archived();
        await relay(scene.worker, 'server', scene.world.serverId);
        expect([await updates(id), await make(id)]).to.deep.equal([0, 201]);
        expect([(await stored(id)).archived, await minutesLeft(id), await updates(id)]).to.deep.equal([false, 1440, 1]);
        const { channels } = await call<{ channels: { id: string }[] }>(200, 'GET', `/api/servers/${scene.world.serverId}`);
        expect(channels.map((one) => one.id)).to.include(id);
      });

    it('100 at once in an archived thread: one CHANNEL_UPDATE, and 100 messages counted', async () => {
      const id = await archived();
      await relay(scene.worker, 'server', scene.world.serverId);
      const answers = await Promise.all(Array.from({ length: 100 }, () => post(id)));
      expect(answers.every((one) => one.status === 201)).to.equal(true);
      expect([await updates(id), (await stored(id)).messageCount]).to.deep.equal([1, 100]);
    });

    it('restarts the clock of a thread that is open; reacting, editing, pinning, typing and deleting do not, nor do they wake it', async () => {
      const id = await start();
      const message = (await post(id)).body as { id: string };
      await due(id);
      await post(id);
      expect(await minutesLeft(id)).to.equal(1440);
      await due(id);
      await archiveThreads(scene.worker);
      const quiet = await stored(id);
      const path = `/api/channels/${id}`;
      await call(204, 'PUT', `${path}/messages/${message.id}/reactions/%F0%9F%91%8D`);
      await call(200, 'PATCH', `${path}/messages/${message.id}`, { content: 'y' });
      await call(204, 'PUT', `${path}/pins/${message.id}`);
      await call(204, 'POST', `${path}/typing`);
      await call(204, 'DELETE', `${path}/messages/${message.id}`);
      const { archived: still, archiveAt, lastActivityAt, messageCount } = await stored(id);
      expect([still, archiveAt, lastActivityAt, messageCount]).to.deep.equal([true, undefined, quiet.lastActivityAt, 1]);
      await archiveThreads(scene.worker);
      expect(await updates(id)).to.equal(quiet.ob?.filter((one) => one.name === 'CHANNEL_UPDATE').length);
    });
  });

  describe('PATCH of a thread', () => {
    it('archived: false restarts the clock, of an open thread too; so the next sweep lets it be', async () => {
      const id = await archived();
      const path = `/api/channels/${id}`;
      await set(id, { lastActivityAt: new Date(0) });
      await call(200, 'PATCH', path, { archived: false });
      expect(await minutesLeft(id)).to.equal(1440);
      await set(id, { lastActivityAt: new Date(0) });
      await due(id);
      await call(200, 'PATCH', path, { archived: false });
      expect(await minutesLeft(id)).to.equal(1440);
      await archiveThreads(scene.worker);
      expect(await stored(id)).to.include({ archived: false });
    });

    it('archived: true stops the clock; autoArchiveMinutes sets it anew from the last activity', async () => {
      const id = await start();
      const path = `/api/channels/${id}`;
      await set(id, { lastActivityAt: new Date(Date.now() - 30 * minuteMs) });
      const { lastActivityAt } = await stored(id);
      await call(200, 'PATCH', path, { autoArchiveMinutes: 60 });
      expect(Number((await stored(id)).archiveAt) - Number(lastActivityAt)).to.equal(60 * minuteMs);
      await call(200, 'PATCH', path, { archived: true });
      expect((await stored(id)).archiveAt).to.equal(undefined);
      await call(200, 'PATCH', path, { autoArchiveMinutes: 4320 });
      expect((await stored(id)).archiveAt).to.equal(undefined);
      await call(200, 'PATCH', path, { archived: false });
      expect(await minutesLeft(id)).to.equal(4320);
    });
  });

  describe('messageCount', () => {
    const count = async (id: string): Promise<unknown> =>
      (await call<{ messageCount: number }>(200, 'GET', `/api/channels/${id}`)).messageCount;
    const quiet = (id: string, more: object = {}): Promise<unknown> => set(id, { ...more, recountAt: new Date(Date.now() - 1_500) });

    it('follows posts and deletes at once', async () => {
      const id = await start();
      const [first] = [await post(id), await post(id), await post(id)];
      expect(await count(id)).to.equal(3);
      await call(204, 'DELETE', `/api/channels/${id}/messages/${String(first.body.id)}`);
      expect(await count(id)).to.equal(2);
    });

    it('is counted again once it is quiet, and not before; twice changes nothing', async () => {
      const id = await start();
      await post(id);
      await set(id, { messageCount: 7 });
      await recountThreads(scene.worker);
      expect(await count(id)).to.equal(7);
      await quiet(id);
      await recountThreads(scene.worker);
      expect([await count(id), (await stored(id)).recountAt]).to.deep.equal([1, undefined]);
      await set(id, { messageCount: 7 });
      await recountThreads(scene.worker);
      expect(await count(id)).to.equal(7);
    });

    it('a post that comes while it is counted keeps its mark', async () => {
      const id = await start();
      await quiet(id);
      around(scene.worker.db.messages, 'countDocuments', async (real) => {
        const counted = await real();
        await post(id);
        return counted;
      });
      await recountThreads(scene.worker);
      expect([await count(id), (await stored(id)).recountAt instanceof Date]).to.deep.equal([1, true]);
    });

    it('a create taken up again, and whatever died between a message and its count, is right in the end', async () => {
      const id = await start();
      const options = { as: scene.asPerson, body: { content: 'x' }, headers: { 'Idempotency-Key': 'again' } };
      await scene.api.call('POST', `/api/channels/${id}/messages`, options);
      await scene.api.platform.db.idempotency.updateMany({}, { $set: { answer: null, claimedAt: new Date(0) } });
      expect((await scene.api.call('POST', `/api/channels/${id}/messages`, options)).status).to.equal(201);
      expect(await count(id)).to.equal(2);
      // As if the process had died just after the write, and the mark with it: the drain asks for the count.
      await scene.api.platform.db.channels.collection.updateOne({ _id: id as never }, { $unset: { recountAt: 1 } });
      await relay(scene.worker, 'channel', id);
      expect((await stored(id)).recountAt).to.be.a('Date');
      await quiet(id);
      await recountThreads(scene.worker);
      expect(await count(id)).to.equal(1);
    });
  });
});
