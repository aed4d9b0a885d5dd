import { expect } from 'chai';
import { publishPresences } from '../../lib/domain/accounts/presence-changes.ts';
import { openWorkerPlatform, type WorkerPlatform } from '../../lib/store/platform.ts';
import { startSweeps } from '../../workers/sweep.ts';
import { startTestApi } from '../harness/api.ts';
import { until } from '../harness/scene.ts';
import { startTcpProxy } from '../harness/tcp-proxy.ts';
import type { Client } from './client.ts';
import { type PresenceFixture, startPresences } from './presence-fixture.ts';
import type { Someone } from './world.ts';

describe('gateway: presence after faults, in three partitions', () => {
  let here: PresenceFixture;
  before(async () => {
    here = await startPresences('3');
  });
  after(() => here.close());
  beforeEach(() => here.begin());

  /** Publishes as `worker`, with some functions of its presence API replaced. */
  const publishAs = (worker: WorkerPlatform, powers: Partial<WorkerPlatform['presences']>): Promise<void> =>
    publishPresences({ ...worker, presences: { ...worker.presences, ...powers } });

  /** A person who watches these accounts, and a bot that subscribes to presences. */
  const listeners = async (...accounts: Someone[]): Promise<[Client, Client]> => {
    const bot = await here.connect(await here.world.someone('bot', here.server), 1, ['PRESENCE_UPDATE']);
    const clients: [Client, Client] = [await here.watcher(...accounts), bot];
    await here.received(...clients);
    return clients;
  };

  it('a node that dies takes its accounts offline; when it lives after all they are online', async () => {
    const [one, two] = [await here.world.someone('person', here.server), await here.world.someone('person', here.server)];
    const clients = await listeners(one, two);
    const node = await here.onTheirOwnNode(one, two);
    await here.connect(two);
    await here.received(...clients);
    await node.dies();
    for (const seen of await here.received(...clients)) expect(seen).to.deep.equal([[one.id, 'offline', null]]);
    for (const seen of await here.received(...clients)) expect(seen).to.deep.equal([]);
    await node.lives();
    for (const seen of await here.received(...clients)) expect(seen).to.deep.equal([[one.id, 'online', null]]);
  });

  it('a worker that dies before or after it published is followed by one, and each change is published once', async () => {
    const { worker } = here.world;
    const one = await here.world.someone('person', here.server);
    const clients = await listeners(one);
    const client = await here.connect(one);
    const died = (): Promise<never> => Promise.reject(new Error('dead'));
    const after = publishAs(worker, { publish: async (...given) => (await worker.presences.publish(...given), died()) });
    expect(await after.catch((error: Error) => error.message)).to.equal('dead');
    for (const seen of await here.received(...clients)) expect(seen).to.deep.equal([[one.id, 'online', null]]);
    await here.leave(client, one);
    expect(await publishAs(worker, { publish: died }).catch((error: Error) => error.message)).to.equal('dead');
    for (const seen of await here.received(...clients)) expect(seen).to.deep.equal([[one.id, 'offline', null]]);
  });

  it('a worker that was paused while another published the next change publishes nothing', async () => {
    const { worker } = here.world;
    const one = await here.world.someone('person', here.server);
    const clients = await listeners(one);
    const client = await here.connect(one);
    await publishAs(worker, {
      async publish(due, presence, servers) {
        // The worker has read the account as online. Before it publishes, the account disconnects, and another worker finds nothing to publish.
        if (due.accountId === one.id && presence.status === 'online') {
          await here.leave(client, one);
          await here.publish();
        }
        return worker.presences.publish(due, presence, servers);
      },
    });
    for (const seen of await here.received(...clients)) expect(seen).to.deep.equal([]);
  });

  it('of many workers at once one looks, and if they all did each change would be published once', async () => {
    const { config, worker } = here.world;
    const one = await here.world.someone('bot', here.server);
    const clients = await listeners(one);
    const more = await Promise.all([1, 2, 3].map(() => openWorkerPlatform(config, worker.log)));
    try {
      const workers = [worker, ...more];
      const turns = await Promise.all(workers.map(({ presences }) => presences.takeTurn(3_000)));
      expect(turns).to.deep.equal([true, false, false, false]);
      await here.connect(one);
      await Promise.all(workers.map((eager) => publishAs(eager, { takeTurn: () => Promise.resolve(true) })));
      for (const seen of await here.received(...clients)) expect(seen).to.deep.equal([[one.id, 'online', null]]);
    } finally {
      for (const other of more) await other.close();
    }
  });

  it('more than one batch at once are all published, each once', async () => {
    const many: Someone[] = [];
    while (many.length < 120) many.push(await here.world.someone('person', here.server));
    const clients = await listeners(...many);
    await here.onTheirOwnNode(...many);
    let all = false;
    const publishing = (async () => {
      while (!all) await here.publish();
    })();
    const received = await Promise.all(clients.map((client) => client.events(many.length)));
    all = true;
    await publishing;
    for (const events of received) expect(new Set(events.map(({ d }) => d.userId))).to.deep.equal(new Set(many.map(({ id }) => id)));
    for (const seen of await here.received(...clients)) expect(seen).to.deep.equal([]);
  });

  it('what changed while the subscription was cut is sent once after, and what did not is not sent', async () => {
    const proxy = await startTcpProxy(here.world.config.REDIS_URL, 6379);
    try {
      await here.world.addNode({ REDIS_URL: proxy.url, STORE_PATIENCE: 1 });
      const accounts: Someone[] = [];
      while (accounts.length < 4) accounts.push(await here.world.someone('bot', here.server));
      const [same, comes, goes, changes] = accounts as [Someone, Someone, Someone, Someone];
      await here.patch(goes, 'Bot', { customStatus: 'bye' });
      for (const one of [same, changes]) await here.connect(one);
      const leaving = await here.connect(goes);
      await here.publish();
      const client = await here.connect(await here.world.someone('person', here.server), 2);
      await client.watch(here.marker, ...accounts);
      await here.received(client);
      proxy.cut();
      await here.connect(comes);
      await here.leave(leaving, goes);
      await here.patch(changes, 'Bot', { status: 'idle' });
      await here.publish();
      proxy.mend();
      const seen = (await client.events(3)).map(({ d }) => [d.userId, d.status, d.customStatus]);
      const wanted = [
        [comes.id, 'online', null],
        [goes.id, 'offline', 'bye'],
        [changes.id, 'idle', null],
      ];
      expect(seen).to.have.deep.members(wanted);
      expect(await here.received(client)).to.deep.equal([[]]);
    } finally {
      await proxy.close();
    }
  });

  it('503 for a change while Redis is away, which is published when it is sent again', async () => {
    const { REDIS_URL, ...config } = here.world.config;
    const proxy = await startTcpProxy(REDIS_URL, 6379);
    const api = await startTestApi({
      MONGODB_URL: config.MONGODB_URL,
      REDIS_PREFIX: config.REDIS_PREFIX,
      LOG_PARTITIONS: '3',
      REDIS_URL: proxy.url,
    });
    const one = await here.world.someone('bot', here.server);
    await here.connect(one);
    const clients = await listeners(one);
    const patch = (): Promise<number> =>
      api.call('PATCH', '/api/users/@me/presence', { as: `Bot ${one.token}`, body: { status: 'dnd' } }).then(({ status }) => status);
    proxy.cut();
    expect(await patch()).to.equal(503);
    proxy.mend();
    await until(async () => (await patch()) === 200, 'Redis to be back');
    for (const seen of await here.received(...clients)) expect(seen).to.deep.equal([[one.id, 'dnd', null]]);
    await api.close();
    await proxy.close();
  });

  it('the workers’ sweep publishes by itself', async () => {
    const one = await here.world.someone('person', here.server);
    const clients = await listeners(one);
    const sweeps = startSweeps(here.world.worker);
    try {
      const client = await here.connect(one);
      for (const status of ['online', 'offline']) {
        if (status === 'offline') await here.leave(client, one);
        for (const { d } of await Promise.all(clients.map((listener) => listener.until(0, 'PRESENCE_UPDATE'))))
          expect([d.userId, d.status]).to.deep.equal([one.id, status]);
      }
    } finally {
      await sweeps.close();
    }
  });
});
