import { expect } from 'chai';
import { permissionBits } from '../../lib/base/permissions.ts';
import { relayEvents, startRelay } from '../../lib/domain/relay/relay.ts';
import { serverPlace } from '../../lib/store/redis/log/keys.ts';
import { takeSnapshot } from '../gateway/rollback.ts';
import { startTestApiWithWorker } from '../harness/api.ts';
import { makeChannel, postMessage, setOverwrite } from '../harness/factories.ts';
import { holdNext, withLog } from '../harness/intercept.ts';
import { entriesOf, type Logged } from '../harness/log.ts';
import { listOverdueKeys } from '../harness/overdue-keys.ts';
import { caughtUp, recordEvents, startNode } from '../harness/parlance.ts';
import { inParallel } from '../harness/requests.ts';
import { botOf, ownerOf, type SeededServer } from '../harness/seed.ts';
import { startSeededApi } from '../harness/seeded-api.ts';
import { use } from '../harness/use.ts';

for (const partitions of ['1', '3'])
  describe(`relay: log with ${partitions} partition(s)`, () => {
    const api = use(() => startTestApiWithWorker(() => startSeededApi({ bots: 2, channels: 1 }, { LOG_PARTITIONS: partitions })));
    const channelId = (): string => api.seeded.channelIds[0] as string;
    const place = (): string => serverPlace(api.seeded.serverId);
    const post = async (content: string): Promise<string> => (await postMessage(api, botOf(api.seeded), channelId(), content)).id;
    const createChannel = (name: string): Promise<unknown> => makeChannel(api, ownerOf(api.seeded), api.seeded.serverId, { name });
    const edit = (id: string, content: string) => api.call('PATCH', `${api.path}/${id}`, { as: api.as, body: { content } });
    const remove = (id: string) => api.call('DELETE', `${api.path}/${id}`, { as: api.as });
    const react = (method: string, id: string, emoji = '👍') =>
      api.call(method, `${api.path}/${id}/reactions/${encodeURIComponent(emoji)}`, { as: api.as });
    const relay = (): Promise<void> => relayEvents(api.worker, 'channel', channelId());
    const log = (): Promise<Logged[]> => entriesOf(api.worker.config, place());
    /** The entries of the server's log after the first `count`. */
    const entriesAfter = async (count: number): Promise<Logged[]> => (await log()).slice(count);
    const contentsOf = (logged: readonly Logged[]): unknown[] => logged.map(({ data }) => data.content);

    it('appends events to the server’s log in order, each with the number of the previous one, and clears the outbox', async () => {
      const sent = ['a', 'b', 'c', 'd'];
      for (const content of sent) await post(content);
      await relay();
      const logged = await log();
      expect(contentsOf(logged)).to.deep.equal(sent);
      const numbers = logged.map(({ head }) => head.number);
      expect(logged.map(({ head }) => head.previous)).to.deep.equal([0, ...numbers.slice(0, -1)]);
      expect(numbers).to.deep.equal(numbers.toSorted((one, other) => one - other));
      expect(logged[0]?.data).to.include({ serverId: api.seeded.serverId, channelId: channelId() });
      expect(await api.platform.db.messages.countDocuments({ outbox: { $exists: true } })).to.equal(0);
      const [stored] = await api.platform.db.messages.find({}).toArray();
      expect(stored).to.not.have.any.keys('outbox', 'outboxAt');
    });

    it('relays each event once when it runs repeatedly and in parallel', async () => {
      const before = (await log()).length;
      for (let n = 0; n < 30; n++) await post(`twice ${n}`);
      await inParallel(3, () => relay());
      await relay();
      expect(contentsOf(await entriesAfter(before))).to.deep.equal(Array.from({ length: 30 }, (_, n) => `twice ${n}`));
    });

    let posted = '';
    /** What makes an event, and what relays it. */
    const kinds: Record<string, { cause: () => Promise<unknown>; start: () => Promise<() => Promise<void>> }> = {
      'events of messages': { cause: () => edit(posted, 'lost'), start: () => startRelay(api.worker, 'channel', channelId()) },
      'events of changes': { cause: () => createChannel('lost'), start: () => startRelay(api.worker, 'server', api.seeded.serverId) },
    };
    for (const [kind, { cause, start }] of Object.entries(kinds))
      it(`appends ${kind} that Redis lost before the acknowledgement again, ahead of later ones`, async () => {
        const { REDIS_URL, REDIS_PREFIX } = api.worker.config;
        posted = await post('first');
        await relay();
        const before = (await log()).length;
        const snapshot = await takeSnapshot(REDIS_URL, REDIS_PREFIX);
        await cause();
        const held = holdNext([api.worker.eventLog], ['acknowledge']);
        const rest = await start();
        const acknowledge = await held;
        await snapshot.restore();
        await start().catch(() => undefined);
        await post('after it');
        await relay().catch(() => undefined);
        acknowledge();
        await rest().catch(() => undefined);
        await (await start())();
        await relay();
        expect((await entriesAfter(before)).map(({ data }) => data.content ?? data.name)).to.deep.equal(['lost', 'after it']);
      });

    it('appends a change of a server while an earlier one is not acknowledged, and only that', async () => {
      const { worker, seeded } = api;
      const before = (await log()).length;
      await createChannel('first');
      const held = holdNext([worker.eventLog], ['acknowledge']);
      const rest = await startRelay(worker, 'server', seeded.serverId);
      const acknowledge = await held;
      await createChannel('second');
      let appended = 0;
      const append: typeof worker.eventLog.append = (at, events, options) => {
        appended += events.length;
        return worker.eventLog.append(at, events, options);
      };
      const otherRest = await startRelay(withLog(worker, { append }), 'server', seeded.serverId);
      expect(appended).to.equal(1);
      acknowledge();
      await Promise.all([rest(), otherRest()]);
      expect((await entriesAfter(before)).map(({ data }) => data.name)).to.deep.equal(['first', 'second']);
      expect(await api.platform.db.channels.countDocuments({ outbox: { $exists: true } })).to.equal(0);
    });

    it('appending events again, also in parallel, makes no second entry', async () => {
      const before = (await log()).length;
      const events = Array.from({ length: 250 }, (_, n) => {
        const id = api.worker.ids.next();
        return { id, name: 'MESSAGE_CREATE' as const, payload: JSON.stringify({ content: n }) };
      });
      const append = (count: number): Promise<unknown> => api.worker.eventLog.append(place(), events.slice(0, count));
      await Promise.all([append(10), append(10), append(10)]);
      await append(120);
      await Promise.all([append(250), append(250)]);
      expect(contentsOf(await entriesAfter(before))).to.deep.equal(events.map((_, n) => n));
    });

    it('a bot receives no events of a channel after the response to the change that hides it', async () => {
      const node = await startNode(api.platform.config);
      const bots = api.seeded.bots as [SeededServer['bots'][number], SeededServer['bots'][number]];
      const recorders = await Promise.all(bots.map(({ token }) => recordEvents(node, token)));
      const bot = bots[1];
      const hide = (deny: number) => setOverwrite(api, ownerOf(api.seeded), channelId(), bot.id, 0, deny);
      const received = async (): Promise<unknown[][]> => {
        await Promise.all(recorders.map((recorder, n) => caughtUp(api.worker, place(), String(bots[n]?.id), recorder)));
        return recorders.map((recorder) => recorder.received.flatMap(({ d }) => (d.channelId === channelId() ? d.content : [])));
      };
      await post('a');
      await relay();
      expect(await received()).to.deep.equal([['a'], ['a']]);
      await post('b');
      await hide(permissionBits['View Channel']);
      await relay();
      expect(await received()).to.deep.equal([['a', 'b'], ['a']]);
      await hide(0);
      await post('c');
      await relay();
      expect(await received()).to.deep.equal([
        ['a', 'b', 'c'],
        ['a', 'c'],
      ]);
      await node.close();
    });

    it('relays edits and deletes and removes the tombstone; a message deleted before MESSAGE_CREATE gets none', async () => {
      const before = (await log()).length;
      const [kept, gone] = [await post('kept'), await post('gone')];
      await remove(gone);
      await relay();
      await edit(kept, 'edited');
      await relay();
      await remove(kept);
      await relay();
      const logged = (await entriesAfter(before)).map(({ name, data }) => [name, data.id, data.content]);
      expect(logged).to.deep.equal([
        ['MESSAGE_CREATE', kept, 'kept'],
        ['MESSAGE_DELETE', gone, undefined],
        ['MESSAGE_UPDATE', kept, 'edited'],
        ['MESSAGE_DELETE', kept, undefined],
      ]);
      expect(await api.platform.db.messages.countDocuments({ deleted: true })).to.equal(0);
    });

    it('relays the reactions of a deleted message only when its MESSAGE_CREATE was sent', async () => {
      const before = (await log()).length;
      for (const announced of [true, false]) {
        const id = await post(`announced: ${announced}`);
        if (announced) await relay();
        await react('PUT', id);
        await react('DELETE', id);
        await remove(id);
        await relay();
      }
      const logged = (await entriesAfter(before)).map(({ name }) => name);
      expect(logged).to.deep.equal(['MESSAGE_CREATE', 'REACTION_ADD', 'REACTION_REMOVE', 'MESSAGE_DELETE', 'MESSAGE_DELETE']);
    });

    it('a new or edited message has the reactions from before those that follow as events', async () => {
      const before = (await log()).length;
      const id = await post('reacted to');
      await react('PUT', id);
      await relay();
      await edit(id, 'edited');
      await react('DELETE', id);
      await react('PUT', id, '🎉');
      await relay();
      const logged = await entriesAfter(before);
      expect(logged.map(({ name, data }) => [name, data.reactions])).to.deep.equal([
        ['MESSAGE_CREATE', []],
        ['REACTION_ADD', undefined],
        ['MESSAGE_UPDATE', [{ emoji: '👍', count: 1, me: false }]],
        ['REACTION_REMOVE', undefined],
        ['REACTION_ADD', undefined],
      ]);
    });

    it('an edit before the first relay has its own event', async () => {
      const id = await post('first');
      await edit(id, 'second');
      await relay();
      expect((await log()).filter(({ data }) => data.id === id).map(({ name }) => name)).to.deep.equal([
        'MESSAGE_CREATE',
        'MESSAGE_UPDATE',
      ]);
    });

    it('the sweep finds only channels with events older than 2 s', async () => {
      const id = await post('overdue');
      await relay();
      await edit(id, 'edited');
      expect(await listOverdueKeys(api.worker, 'channel')).to.deep.equal([]);
      await api.platform.db.messages.updateOne({ _id: id }, { $set: { outboxAt: new Date(Date.now() - 2_500) } });
      expect(await listOverdueKeys(api.worker, 'channel')).to.deep.equal([channelId()]);
      await relay();
      expect(await listOverdueKeys(api.worker, 'channel')).to.deep.equal([]);
    });
  });
