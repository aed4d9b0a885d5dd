// Tests of events: what a change sends, to whom, in which order, and what is sent after a process has died.
import { expect } from 'chai';
import { archiveThreads, recountThreads } from '../../lib/domain/channels/thread-activity.ts';
import { relayEvents } from '../../lib/domain/relay/relay.ts';
import type { ChannelDoc } from '../../lib/store/mongo/models/server.ts';
import type { Answer } from '../harness/api.ts';
import { loseAnswers, makeThread } from '../harness/factories.ts';
import { startInteractionFixture } from '../harness/interaction-fixture.ts';
import { interceptNext } from '../harness/intercept.ts';
import { sweepNewMessagesNow } from '../harness/new-messages.ts';
import { send } from '../harness/requests.ts';
import { use } from '../harness/use.ts';

const minuteMs = 60_000;

describe('Threads: auto-archive and counts', () => {
  const fixture = use(startInteractionFixture);

  const call = <T = { id: string }>(status: number, method: string, path: string, body?: unknown): Promise<T> =>
    send(fixture.api, status, fixture.person, method, path, body);
  const startThread = async (input = {}): Promise<string> => (await makeThread(fixture.api, fixture.person, fixture.channelId, input)).id;
  const post = (id: string, as = fixture.asPerson): Promise<Answer> =>
    fixture.api.call('POST', `/api/channels/${id}/messages`, { as, body: { content: 'x' } });
  const stored = async (id: string): Promise<ChannelDoc> => (await fixture.api.platform.db.channels.findOne({ _id: id })) as ChannelDoc;
  const set = (id: string, fields: object): Promise<unknown> => fixture.api.platform.db.channels.updateOne({ _id: id }, { $set: fields });
  const setDue = (id: string): Promise<unknown> => set(id, { archiveAt: new Date(Date.now() - 1) });
  const updates = async (id: string): Promise<number> =>
    ((await stored(id)).outbox ?? []).filter((one) => one.name === 'CHANNEL_UPDATE').length;
  const makeArchived = async (): Promise<string> => {
    const id = await startThread();
    await setDue(id);
    await archiveThreads(fixture.worker);
    expect(await stored(id)).to.include({ archived: true });
    return id;
  };
  /** The time from a thread's last activity to its archival, in minutes. */
  const minutesLeft = async (id: string): Promise<number> => {
    const { archiveAt, lastActivityAt } = await stored(id);
    expect(Date.now() - Number(lastActivityAt)).to.be.below(minuteMs);
    return (Number(archiveAt) - Number(lastActivityAt)) / minuteMs;
  };

  describe('archiveThreads', () => {
    it('archives a thread that is due and no other, with one pending CHANNEL_UPDATE', async () => {
      const [late, early] = [await startThread({ autoArchiveMinutes: 60 }), await startThread({ autoArchiveMinutes: 60 })];
      expect(await minutesLeft(late)).to.equal(60);
      await setDue(late);
      await set(early, { archiveAt: new Date(Date.now() + 60_000) });
      expect(await archiveThreads(fixture.worker)).to.equal(1);
      const [hidden, open] = [await stored(late), await stored(early)];
      expect([hidden.archived, hidden.archiveAt, open.archived]).to.deep.equal([true, undefined, false]);
      expect([await updates(late), await updates(early)]).to.deep.equal([1, 0]);
    });

    it('two parallel sweeps archive each of 2,500 due threads once; a third changes nothing', async () => {
      const { channels } = fixture.api.platform.db;
      const { outbox: _outbox, outboxAt: _outboxAt, ...model } = await stored(await startThread());
      const rows = Array.from({ length: 2_500 }, (_, at) => ({
        ...model,
        _id: String(2n * 10n ** 18n + BigInt(at)),
        parentId: 'many',
        archiveAt: new Date(1 + at),
      }));
      await channels.insertMany(rows);
      const counts = await Promise.all([archiveThreads(fixture.worker), archiveThreads(fixture.worker)]);
      expect(counts[0] + counts[1]).to.equal(2_500);
      const all = (await channels.find({ parentId: 'many' }).sort({ _id: 1 }).toArray()) as ChannelDoc[];
      expect(all.every((one) => one.archived && one.archiveAt === undefined && one.outbox?.length === 1)).to.equal(true);
      expect(new Set(all.map((one) => one.outbox?.[0]?.id)).size).to.equal(2_500);
      expect(await archiveThreads(fixture.worker)).to.equal(0);
      expect(await channels.find({ parentId: 'many' }).sort({ _id: 1 }).toArray()).to.deep.equal(all);
      await channels.deleteMany({ parentId: 'many' });
    });

    it('does not archive a thread that got a post after the sweep found it', async () => {
      const id = await startThread();
      await setDue(id);
      interceptNext(fixture.worker.db.channels, 'updateMany', async (real) => {
        expect((await post(id)).status).to.equal(201);
        return real();
      });
      expect(await archiveThreads(fixture.worker)).to.equal(0);
      expect([(await stored(id)).archived, await updates(id)]).to.deep.equal([false, 0]);
    });

    it('never archives a thread after the 201 of a parallel post (50 rounds)', async () => {
      const id = await startThread();
      for (let round = 0; round < 50; round++) {
        await setDue(id);
        const [{ status }] = await Promise.all([post(id), archiveThreads(fixture.worker), archiveThreads(fixture.worker)]);
        expect([status, (await stored(id)).archived], `round ${round}`).to.deep.equal([201, false]);
      }
    });
  });

  describe('posting', () => {
    const answer = async (id: string): Promise<Answer> => {
      const used = await call(202, 'POST', `/api/channels/${id}/commands/${fixture.commands.hello}/invoke`, {});
      expect(await stored(id)).to.include({ archived: true });
      return fixture.send('callback', used.id, { type: 'message', content: 'x' });
    };
    const posters: [who: string, postAs: (id: string) => Promise<Answer>][] = [
      ['a person', (id) => post(id)],
      ['a bot', (id) => post(id, fixture.asBot)],
      ['the answer to a command', answer],
    ];
    for (const [who, postAs] of posters)
      it(`by ${who} unarchives a thread, which is listed again`, async () => {
        const id = await makeArchived();
        await relayEvents(fixture.worker, 'server', fixture.seeded.serverId);
        expect([await updates(id), (await postAs(id)).status]).to.deep.equal([0, 201]);
        expect([(await stored(id)).archived, await minutesLeft(id), await updates(id)]).to.deep.equal([false, 1440, 1]);
        const { channels } = await call<{ channels: { id: string }[] }>(200, 'GET', `/api/servers/${fixture.seeded.serverId}`);
        expect(channels.map((one) => one.id)).to.include(id);
      });

    it('100 parallel posts in an archived thread make one CHANNEL_UPDATE and are all counted', async () => {
      const id = await makeArchived();
      await relayEvents(fixture.worker, 'server', fixture.seeded.serverId);
      const answers = await Promise.all(Array.from({ length: 100 }, () => post(id)));
      expect(answers.every((one) => one.status === 201)).to.equal(true);
      expect([await updates(id), (await stored(id)).messageCount]).to.deep.equal([1, 100]);
    });

    it('restarts the time of an open thread; reactions, edits, pins, typing and deletes neither restart it nor unarchive', async () => {
      const id = await startThread();
      const message = (await post(id)).body as { id: string };
      await setDue(id);
      await post(id);
      expect(await minutesLeft(id)).to.equal(1440);
      await setDue(id);
      await archiveThreads(fixture.worker);
      const quiet = await stored(id);
      const path = `/api/channels/${id}`;
      await call(204, 'PUT', `${path}/messages/${message.id}/reactions/%F0%9F%91%8D`);
      await call(200, 'PATCH', `${path}/messages/${message.id}`, { content: 'y' });
      await call(204, 'PUT', `${path}/pins/${message.id}`);
      await call(204, 'POST', `${path}/typing`);
      await call(204, 'DELETE', `${path}/messages/${message.id}`);
      const { archived: isArchived, archiveAt, lastActivityAt, messageCount } = await stored(id);
      expect([isArchived, archiveAt, lastActivityAt, messageCount]).to.deep.equal([true, undefined, quiet.lastActivityAt, 1]);
      await archiveThreads(fixture.worker);
      expect(await updates(id)).to.equal(quiet.outbox?.filter((one) => one.name === 'CHANNEL_UPDATE').length);
    });
  });

  describe('PATCH of a thread', () => {
    it('archived: false restarts the time, also of an open thread', async () => {
      const id = await makeArchived();
      const path = `/api/channels/${id}`;
      await set(id, { lastActivityAt: new Date(0) });
      await call(200, 'PATCH', path, { archived: false });
      expect(await minutesLeft(id)).to.equal(1440);
      await set(id, { lastActivityAt: new Date(0) });
      await setDue(id);
      await call(200, 'PATCH', path, { archived: false });
      expect(await minutesLeft(id)).to.equal(1440);
      await archiveThreads(fixture.worker);
      expect(await stored(id)).to.include({ archived: false });
    });

    it('archived: true stops the time; autoArchiveMinutes counts from the last activity', async () => {
      const id = await startThread();
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
    const setQuiet = (id: string, more: object = {}): Promise<unknown> => set(id, { ...more, recountAt: new Date(Date.now() - 1_500) });

    it('changes at once with posts and deletes', async () => {
      const id = await startThread();
      const [first] = [await post(id), await post(id), await post(id)];
      expect(await count(id)).to.equal(3);
      await call(204, 'DELETE', `/api/channels/${id}/messages/${String(first.body.id)}`);
      expect(await count(id)).to.equal(2);
    });

    it('is recounted once the thread is quiet, not before, and only once', async () => {
      const id = await startThread();
      await post(id);
      await set(id, { messageCount: 7 });
      await recountThreads(fixture.worker);
      expect(await count(id)).to.equal(7);
      await setQuiet(id);
      await recountThreads(fixture.worker);
      expect([await count(id), (await stored(id)).recountAt]).to.deep.equal([1, undefined]);
      await set(id, { messageCount: 7 });
      await recountThreads(fixture.worker);
      expect(await count(id)).to.equal(7);
    });

    it('a post during the recount requests another one', async () => {
      const id = await startThread();
      await setQuiet(id);
      interceptNext(fixture.worker.db.messages, 'countDocuments', async (real) => {
        const counted = await real();
        await post(id);
        return counted;
      });
      await recountThreads(fixture.worker);
      expect([await count(id), (await stored(id)).recountAt instanceof Date]).to.deep.equal([1, true]);
    });

    it('is corrected after a repeated create and after a process that died before the count', async () => {
      const id = await startThread();
      const options = { as: fixture.asPerson, body: { content: 'x' }, headers: { 'Idempotency-Key': 'again' } };
      await fixture.api.call('POST', `/api/channels/${id}/messages`, options);
      await loseAnswers(fixture.api);
      expect((await fixture.api.call('POST', `/api/channels/${id}/messages`, options)).status).to.equal(201);
      expect(await count(id)).to.equal(2);
      // As if the process had died just after the insert, before it requested a recount: the sweep of new messages requests it.
      await fixture.api.platform.db.channels.updateOne({ _id: id }, { $unset: { recountAt: 1 } });
      await relayEvents(fixture.worker, 'channel', id);
      await sweepNewMessagesNow(fixture.worker);
      expect((await stored(id)).recountAt).to.be.a('Date');
      await setQuiet(id);
      await recountThreads(fixture.worker);
      expect(await count(id)).to.equal(1);
    });
  });
});
