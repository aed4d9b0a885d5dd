import { expect } from 'chai';
import { createLog } from '../../lib/base/log.ts';
import { permissionBits } from '../../lib/base/permissions.ts';
import { beginRelay, overdueKeys, relay } from '../../lib/domain/events/relay.ts';
import { openWorkerPlatform, type WorkerPlatform } from '../../lib/store/platform.ts';
import { serverPlace } from '../../lib/store/redis/log/keys.ts';
import { takeSnapshot } from '../gateway/rollback.ts';
import { startTestApi, type TestApi } from '../harness/api.ts';
import { around } from '../harness/around.ts';
import { entriesOf, type Logged } from '../harness/log.ts';
import { caughtUp, listenAs, startNode } from '../harness/whole.ts';
import { makeWorld, type World } from '../harness/world.ts';

for (const partitions of ['1', '3'])
  describe(`relay, ${partitions} partition(s)`, () => {
    let api: TestApi;
    let worker: WorkerPlatform;
    let world: World;
    let place: string;
    let channelId: string;
    let path: string;

    before(async () => {
      api = await startTestApi({ LOG_PARTITIONS: partitions });
      worker = await openWorkerPlatform(api.platform.config, createLog('test', 'silent'));
      world = await makeWorld(api.platform, { bots: 2, channels: 1 });
      place = serverPlace(world.serverId);
      channelId = world.channelIds[0] as string;
      path = `/api/channels/${channelId}/messages`;
    });
    after(async () => {
      await worker.close();
      await api.close();
    });

    const as = (): string => `Bot ${world.bots[0]?.token}`;
    const post = async (content: string): Promise<string> =>
      (await api.call<{ id: string }>('POST', path, { as: as(), body: { content } })).body.id;
    const log = (): Promise<Logged[]> => entriesOf(worker.config, place);
    /** What stands in the log of the server after its first `count` entries. */
    const since = async (count: number): Promise<Logged[]> => (await log()).slice(count);
    const contentsOf = (logged: readonly Logged[]): unknown[] => logged.map(({ data }) => data.content);

    it('appends to the place of the server in order, each entry naming the one before, and leaves nothing owed', async () => {
      const sent = ['a', 'b', 'c', 'd'];
      for (const content of sent) await post(content);
      await relay(worker, 'channel', channelId);
      const logged = await log();
      expect(contentsOf(logged)).to.deep.equal(sent);
      const numbers = logged.map(({ head }) => head.number);
      expect(logged.map(({ head }) => head.previous)).to.deep.equal([0, ...numbers.slice(0, -1)]);
      expect(numbers).to.deep.equal(numbers.toSorted((one, other) => one - other));
      expect(logged[0]?.data).to.include({ serverId: world.serverId, channelId });
      expect(await api.platform.db.messages.collection.countDocuments({ ob: { $exists: true } })).to.equal(0);
      const [stored] = await api.platform.db.messages.collection.find({}).toArray();
      expect(stored).to.not.have.any.keys('ob', 'obAt');
    });

    it('run twice, or by two at once, delivers nothing twice', async () => {
      const before = (await log()).length;
      for (let n = 0; n < 30; n++) await post(`twice ${n}`);
      await Promise.all([relay(worker, 'channel', channelId), relay(worker, 'channel', channelId), relay(worker, 'channel', channelId)]);
      await relay(worker, 'channel', channelId);
      expect(contentsOf(await since(before))).to.deep.equal(Array.from({ length: 30 }, (_, n) => `twice ${n}`));
    });

    it('events that Redis lost before they were acknowledged are appended again before those that come after them', async () => {
      const { REDIS_URL, REDIS_PREFIX } = worker.config;
      const before = (await log()).length;
      const snapshot = await takeSnapshot(REDIS_URL, REDIS_PREFIX);
      await post('lost');
      let acknowledge: () => void = () => undefined;
      const held = new Promise<void>((resolve) => {
        acknowledge = resolve;
      });
      around(worker, 'acknowledge', async (real) => {
        await held;
        return real();
      });
      const rest = await beginRelay(worker, 'channel', channelId);
      await snapshot.restore();
      await post('after it');
      await relay(worker, 'channel', channelId).catch(() => undefined);
      acknowledge();
      await rest().catch(() => undefined);
      await relay(worker, 'channel', channelId);
      expect(contentsOf(await since(before))).to.deep.equal(['lost', 'after it']);
    });

    it('events that are appended again, with others or by several at once, get no second entry', async () => {
      const before = (await log()).length;
      const events = Array.from({ length: 250 }, (_, n) => {
        const id = worker.ids.next();
        return { id, name: 'MESSAGE_CREATE' as const, payload: JSON.stringify({ content: n }) };
      });
      const append = (count: number): Promise<unknown> => worker.append(place, events.slice(0, count));
      await Promise.all([append(10), append(10), append(10)]);
      await append(120);
      await Promise.all([append(250), append(250)]);
      expect(contentsOf(await since(before))).to.deep.equal(events.map((_, n) => n));
    });

    it('a bot receives nothing of a channel once the change that hides it from it has been answered', async () => {
      const node = await startNode(api.platform.config);
      const bots = world.bots as [World['bots'][number], World['bots'][number]];
      const ears = await Promise.all(bots.map(({ token }) => listenAs(node, token)));
      const bot = bots[1];
      const hide = (deny: number) =>
        api.platform.versions.changing({ servers: [world.serverId] }, () =>
          api.platform.db.channels.updateOne({ _id: channelId }, { $set: { overwrites: deny ? [{ id: bot.id, allow: 0, deny }] : [] } }),
        );
      const heard = async (): Promise<unknown[][]> => {
        await Promise.all(ears.map((ear, n) => caughtUp(worker, place, String(bots[n]?.id), ear)));
        return ears.map((ear) => ear.heard.flatMap(({ d }) => d.content ?? []));
      };
      await post('for both');
      await relay(worker, 'channel', channelId);
      await post('for one');
      await hide(permissionBits['View Channel']);
      await relay(worker, 'channel', channelId);
      expect(await heard()).to.deep.equal([['for both', 'for one'], ['for both']]);
      await hide(0);
      await post('for both again');
      await relay(worker, 'channel', channelId);
      expect(await heard()).to.deep.equal([
        ['for both', 'for one', 'for both again'],
        ['for both', 'for both again'],
      ]);
      await Promise.all(ears.map(({ client }) => client.close()));
      await node.close();
    });

    it('an edit and a delete are delivered; the tombstone goes; a message deleted before it was announced is not announced', async () => {
      const before = (await log()).length;
      const [kept, gone] = [await post('kept'), await post('gone')];
      await api.call('DELETE', `${path}/${gone}`, { as: as() });
      await relay(worker, 'channel', channelId);
      await api.call('PATCH', `${path}/${kept}`, { as: as(), body: { content: 'edited' } });
      await relay(worker, 'channel', channelId);
      await api.call('DELETE', `${path}/${kept}`, { as: as() });
      await relay(worker, 'channel', channelId);
      const logged = (await since(before)).map(({ name, data }) => [name, data.id, data.content]);
      expect(logged).to.deep.equal([
        ['MESSAGE_CREATE', kept, 'kept'],
        ['MESSAGE_DELETE', gone, undefined],
        ['MESSAGE_UPDATE', kept, 'edited'],
        ['MESSAGE_DELETE', kept, undefined],
      ]);
      expect(await api.platform.db.messages.countDocuments({ deleted: true })).to.equal(0);
    });

    it('reactions of a message that is gone are told when it was announced, and not when it never was', async () => {
      const before = (await log()).length;
      const react = (method: string, id: string) => api.call(method, `${path}/${id}/reactions/%F0%9F%91%8D`, { as: as() });
      for (const announced of [true, false]) {
        const id = await post(`announced: ${announced}`);
        if (announced) await relay(worker, 'channel', channelId);
        await react('PUT', id);
        await react('DELETE', id);
        await api.call('DELETE', `${path}/${id}`, { as: as() });
        await relay(worker, 'channel', channelId);
      }
      const logged = (await since(before)).map(({ name }) => name);
      expect(logged).to.deep.equal(['MESSAGE_CREATE', 'REACTION_ADD', 'REACTION_REMOVE', 'MESSAGE_DELETE', 'MESSAGE_DELETE']);
    });

    it('an edit that comes while a batch is under way keeps its own event', async () => {
      const id = await post('first');
      const owed = await api.platform.db.messages.findOne({ _id: id }).lean();
      await api.call('PATCH', `${path}/${id}`, { as: as(), body: { content: 'second' } });
      await relay(worker, 'channel', channelId);
      expect(owed?.ob).to.have.length(1);
      expect((await log()).filter(({ data }) => data.id === id).map(({ name }) => name)).to.deep.equal([
        'MESSAGE_CREATE',
        'MESSAGE_UPDATE',
      ]);
    });

    it('the sweep finds channels whose events are older than 2 s, and no others', async () => {
      const id = await post('overdue');
      expect(await overdueKeys(worker, 'channel')).to.deep.equal([]);
      await api.platform.db.messages.updateOne({ _id: id }, { $set: { obAt: new Date(Date.now() - 2_500) } });
      expect(await overdueKeys(worker, 'channel')).to.deep.equal([channelId]);
      await relay(worker, 'channel', channelId);
      expect(await overdueKeys(worker, 'channel')).to.deep.equal([]);
    });
  });
