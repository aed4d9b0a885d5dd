import { expect } from 'chai';
import { createLog } from '../../lib/base/log.ts';
import { permissionBits } from '../../lib/base/permissions.ts';
import { drainChannel, overdueChannels } from '../../lib/domain/delivery.ts';
import { type GatewayPlatform, openGatewayPlatform, openWorkerPlatform, type WorkerPlatform } from '../../lib/store/platform.ts';
import { startTestApi, type TestApi } from '../harness/api.ts';
import { makeWorld, type World } from '../harness/world.ts';

interface Heard {
  s: number;
  t: string;
  d: Record<string, unknown>;
}

for (const shards of ['1', '3'])
  describe(`drain-channel, ${shards} shard(s)`, () => {
    let api: TestApi;
    let worker: WorkerPlatform;
    let gateway: GatewayPlatform;
    let world: World;
    let channelId: string;
    let path: string;

    before(async () => {
      api = await startTestApi({ REDIS_SHARDS: shards });
      const log = createLog('test', 'silent');
      worker = await openWorkerPlatform(api.platform.config, log);
      gateway = await openGatewayPlatform(api.platform.config, log);
      world = await makeWorld(api.platform, { bots: 6, channels: 1 });
      channelId = world.channelIds[0] as string;
      path = `/api/channels/${channelId}/messages`;
      await gateway.sessions.renewLease('node');
      for (const bot of world.bots)
        await gateway.sessions.open({
          id: `s${bot.id}`,
          accountId: bot.id,
          events: ['MESSAGE_CREATE', 'MESSAGE_UPDATE', 'MESSAGE_DELETE', 'REACTION_ADD', 'REACTION_REMOVE'],
          kind: 'bot',
          node: 'node',
          owner: 'me',
        });
    });
    after(async () => {
      await gateway.close();
      await worker.close();
      await api.close();
    });

    const as = (): string => `Bot ${world.bots[0]?.token}`;
    const post = async (content: string): Promise<string> =>
      (await api.call<{ id: string }>('POST', path, { as: as(), body: { content } })).body.id;
    const heardBy = async (at: number): Promise<Heard[]> => {
      const bot = world.bots[at] as World['bots'][number];
      const rows = await gateway.sessions.read({ id: `s${bot.id}`, accountId: bot.id }, 0, 1000);
      return rows.map(({ s, event }) => ({ s, t: String(event?.head.t), d: JSON.parse(String(event?.payload)) }));
    };
    const contents = async (at: number, since: number): Promise<string[]> =>
      (await heardBy(at)).filter((one) => one.s > since && one.t === 'MESSAGE_CREATE').map((one) => String(one.d.content));
    const lastOf = async (at: number): Promise<number> => (await heardBy(at)).at(-1)?.s ?? 0;

    it('delivers in order to every bot, numbers without holes, and leaves nothing owed', async () => {
      const sent = ['a', 'b', 'c', 'd'];
      for (const content of sent) await post(content);
      await drainChannel(worker, channelId);
      for (let at = 0; at < world.bots.length; at++) {
        const heard = await heardBy(at);
        expect(heard.map((one) => one.d.content)).to.deep.equal(sent);
        expect(heard.map((one) => one.s)).to.deep.equal([1, 2, 3, 4]);
        expect(heard[0]?.d).to.include({ serverId: world.serverId, channelId });
      }
      expect(await api.platform.db.messages.collection.countDocuments({ ob: { $exists: true } })).to.equal(0);
      const [stored] = await api.platform.db.messages.collection.find({}).toArray();
      expect(stored).to.not.have.any.keys('ob', 'obAt');
    });

    it('run twice, or by two at once, delivers nothing twice', async () => {
      const before = await lastOf(1);
      for (let n = 0; n < 30; n++) await post(`twice ${n}`);
      await Promise.all([drainChannel(worker, channelId), drainChannel(worker, channelId), drainChannel(worker, channelId)]);
      await drainChannel(worker, channelId);
      expect(await contents(1, before)).to.deep.equal(Array.from({ length: 30 }, (_, n) => `twice ${n}`));
    });

    it('appending an event again gives the same outcome and no second entry', async () => {
      const before = await lastOf(2);
      const event = {
        eventId: worker.ids.next(),
        name: 'MESSAGE_CREATE' as const,
        payload: '{"content":"once"}',
        bots: world.bots.map((bot) => bot.id),
        reach: 'all' as const,
        topics: [],
      };
      expect(await Promise.all([worker.append(event), worker.append(event), worker.append(event)])).to.deep.equal([
        'appended',
        'appended',
        'appended',
      ]);
      expect(await lastOf(2)).to.equal(before + 1);
    });

    it('refuses an event whose predecessor is missing, and an audience of an older version', async () => {
      const event = {
        name: 'MESSAGE_CREATE' as const,
        payload: '{}',
        bots: [world.bots[3]?.id as string],
        reach: 'all' as const,
        topics: [],
      };
      const before = await lastOf(3);
      expect(await worker.append({ ...event, eventId: worker.ids.next(), after: worker.ids.next() })).to.equal('early');
      expect(await worker.append({ ...event, eventId: worker.ids.next(), server: { id: world.serverId, version: '999' } })).to.equal(
        'stale',
      );
      expect(await lastOf(3)).to.equal(before);
    });

    it('nothing is appended for a bot once the change that hides the channel from it has been answered', async () => {
      const bot = world.bots[4] as World['bots'][number];
      const before = await lastOf(4);
      await post('hidden from one');
      await api.platform.versions.changing({ servers: [world.serverId] }, () =>
        api.platform.db.channels.updateOne(
          { _id: channelId },
          { $set: { overwrites: [{ id: bot.id, allow: 0, deny: permissionBits['View Channel'] }] } },
        ),
      );
      await drainChannel(worker, channelId);
      expect(await contents(4, before)).to.deep.equal([]);
      expect((await contents(5, 0)).at(-1)).to.equal('hidden from one');
      await api.platform.versions.changing({ servers: [world.serverId] }, () =>
        api.platform.db.channels.updateOne({ _id: channelId }, { $set: { overwrites: [] } }),
      );
    });

    it('an edit and a delete are delivered; the tombstone goes; a message deleted before it was announced is not announced', async () => {
      const before = await lastOf(0);
      const [kept, gone] = [await post('kept'), await post('gone')];
      await api.call('DELETE', `${path}/${gone}`, { as: as() });
      await drainChannel(worker, channelId);
      await api.call('PATCH', `${path}/${kept}`, { as: as(), body: { content: 'edited' } });
      await drainChannel(worker, channelId);
      await api.call('DELETE', `${path}/${kept}`, { as: as() });
      await drainChannel(worker, channelId);
      const heard = (await heardBy(0)).filter((one) => one.s > before).map((one) => [one.t, one.d.id, one.d.content]);
      expect(heard).to.deep.equal([
        ['MESSAGE_CREATE', kept, 'kept'],
        ['MESSAGE_DELETE', gone, undefined],
        ['MESSAGE_UPDATE', kept, 'edited'],
        ['MESSAGE_DELETE', kept, undefined],
      ]);
      expect(await api.platform.db.messages.countDocuments({ deleted: true })).to.equal(0);
    });

    it('reactions of a message that is gone are told when it was announced, and not when it never was', async () => {
      const before = await lastOf(0);
      const react = (method: string, id: string) => api.call(method, `${path}/${id}/reactions/%F0%9F%91%8D`, { as: as() });
      for (const announced of [true, false]) {
        const id = await post(`announced: ${announced}`);
        if (announced) await drainChannel(worker, channelId);
        await react('PUT', id);
        await react('DELETE', id);
        await api.call('DELETE', `${path}/${id}`, { as: as() });
        await drainChannel(worker, channelId);
      }
      const heard = (await heardBy(0)).filter((one) => one.s > before).map((one) => one.t);
      expect(heard).to.deep.equal(['MESSAGE_CREATE', 'REACTION_ADD', 'REACTION_REMOVE', 'MESSAGE_DELETE', 'MESSAGE_DELETE']);
    });

    it('an edit that comes while a batch is under way keeps its own event', async () => {
      const id = await post('first');
      const owed = await api.platform.db.messages.findOne({ _id: id }).lean();
      await api.call('PATCH', `${path}/${id}`, { as: as(), body: { content: 'second' } });
      await drainChannel(worker, channelId);
      expect(owed?.ob).to.have.length(1);
      expect((await heardBy(0)).filter((one) => one.d.id === id).map((one) => one.t)).to.deep.equal(['MESSAGE_CREATE', 'MESSAGE_UPDATE']);
    });

    it('the sweep finds channels whose events are older than 2 s, and no others', async () => {
      const id = await post('overdue');
      expect(await overdueChannels(worker)).to.deep.equal([]);
      await api.platform.db.messages.updateOne({ _id: id }, { $set: { obAt: new Date(Date.now() - 2_500) } });
      expect(await overdueChannels(worker)).to.deep.equal([channelId]);
      await drainChannel(worker, channelId);
      expect(await overdueChannels(worker)).to.deep.equal([]);
    });
  });
