import { expect } from 'chai';
import { publishPresences } from '../../lib/domain/accounts/presence-changes.ts';
import { openWorkerPlatform, type WorkerPlatform } from '../../lib/store/platform.ts';
import { startSweeps } from '../../workers/sweep.ts';
import { startTestApi } from '../harness/api.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { startTcpProxy } from '../harness/tcp-proxy.ts';
import { use } from '../harness/use.ts';
import type { Client } from './client.ts';
import type { TestAccount } from './gateway-fixture.ts';
import { startPresences } from './presence-fixture.ts';

describe('gateway: presence after faults, with three partitions', () => {
  const fixture = use(() => startPresences('3'));
  const proxy = use(() => startTcpProxy(fixture.gateway.config.REDIS_URL, 6379));
  beforeEach(() => fixture.reset());
  const makePerson = (): Promise<TestAccount> => fixture.gateway.makeAccount('person', fixture.server);

  /** Publishes as `worker`, with some functions of its presence API replaced. */
  const publishAs = (worker: WorkerPlatform, powers: Partial<WorkerPlatform['presences']>): Promise<void> =>
    publishPresences({ ...worker, presences: { ...worker.presences, ...powers } });

  /** Connects a person who watches these accounts, and a bot that subscribes to presences. */
  const connectReceivers = async (...accounts: TestAccount[]): Promise<[Client, Client]> => {
    const bot = await fixture.connect(await fixture.gateway.makeAccount('bot', fixture.server), 1, ['PRESENCE_UPDATE']);
    const clients: [Client, Client] = [await fixture.connectWatcher(...accounts), bot];
    await fixture.received(...clients);
    return clients;
  };

  it('the accounts of a dead node go offline, and online again when the node is back', async () => {
    const [one, two] = [await makePerson(), await makePerson()];
    const clients = await connectReceivers(one, two);
    const node = await fixture.openOnSeparateNode(one, two);
    await fixture.connect(two);
    await fixture.received(...clients);
    await node.kill();
    for (const seen of await fixture.received(...clients)) expect(seen).to.deep.equal([[one.id, 'offline', null]]);
    for (const seen of await fixture.received(...clients)) expect(seen).to.deep.equal([]);
    await node.revive();
    for (const seen of await fixture.received(...clients)) expect(seen).to.deep.equal([[one.id, 'online', null]]);
  });

  it('each change is published once although a worker died before or after it published', async () => {
    const { worker } = fixture.gateway;
    const one = await makePerson();
    const clients = await connectReceivers(one);
    const client = await fixture.connect(one);
    const messageOf = (error: Error): string => error.message;
    const died = (): Promise<never> => Promise.reject(new Error('dead'));
    const after = publishAs(worker, { publish: async (...given) => (await worker.presences.publish(...given), died()) });
    expect(await after.catch(messageOf)).to.equal('dead');
    for (const seen of await fixture.received(...clients)) expect(seen).to.deep.equal([[one.id, 'online', null]]);
    await fixture.leave(client, one);
    expect(await publishAs(worker, { publish: died }).catch(messageOf)).to.equal('dead');
    for (const seen of await fixture.received(...clients)) expect(seen).to.deep.equal([[one.id, 'offline', null]]);
  });

  it('a paused worker publishes nothing after another published the next change', async () => {
    const { worker } = fixture.gateway;
    const one = await makePerson();
    const clients = await connectReceivers(one);
    const client = await fixture.connect(one);
    await publishAs(worker, {
      async publish(due, presence, servers) {
        // The worker has read the account as online. Before it publishes, the account disconnects, and another worker finds nothing to publish.
        if (due.accountId === one.id && presence.status === 'online') {
          await fixture.leave(client, one);
          await fixture.publish();
        }
        return worker.presences.publish(due, presence, servers);
      },
    });
    for (const seen of await fixture.received(...clients)) expect(seen).to.deep.equal([]);
  });

  it('only one of several workers publishes, and each change is published once even if all do', async () => {
    const { config, worker } = fixture.gateway;
    const one = await fixture.gateway.makeAccount('bot', fixture.server);
    const clients = await connectReceivers(one);
    const more = await Promise.all([1, 2, 3].map(() => openWorkerPlatform(config, worker.log)));
    try {
      const workers = [worker, ...more];
      const results = await Promise.all(workers.map(({ presences }) => presences.acquireLock(3_000)));
      expect(results).to.deep.equal([true, false, false, false]);
      await fixture.connect(one);
      await Promise.all(workers.map((each) => publishAs(each, { acquireLock: () => Promise.resolve(true) })));
      for (const seen of await fixture.received(...clients)) expect(seen).to.deep.equal([[one.id, 'online', null]]);
    } finally {
      for (const other of more) await other.close();
    }
  });

  it('publishes more than one batch of changes, each once', async () => {
    const many: TestAccount[] = [];
    while (many.length < 120) many.push(await makePerson());
    const clients = await connectReceivers(...many);
    await fixture.openOnSeparateNode(...many);
    let all = false;
    const publishing = (async () => {
      while (!all) await fixture.publish();
    })();
    const received = await Promise.all(clients.map((client) => client.events(many.length)));
    all = true;
    await publishing;
    for (const events of received) expect(new Set(events.map(({ d }) => d.userId))).to.deep.equal(new Set(many.map(({ id }) => id)));
    for (const seen of await fixture.received(...clients)) expect(seen).to.deep.equal([]);
  });

  it('sends changes made while the subscription was cut once, and nothing else', async () => {
    await fixture.gateway.addNode({ REDIS_URL: proxy.url, STORE_TIMEOUT_FACTOR: 1 });
    const accounts: TestAccount[] = [];
    while (accounts.length < 4) accounts.push(await fixture.gateway.makeAccount('bot', fixture.server));
    const [same, comes, goes, changes] = accounts as [TestAccount, TestAccount, TestAccount, TestAccount];
    await fixture.patch(goes, 'Bot', { customStatus: 'bye' });
    for (const one of [same, changes]) await fixture.connect(one);
    const leaving = await fixture.connect(goes);
    await fixture.publish();
    const client = await fixture.connect(await makePerson(), 2);
    await client.watch(fixture.marker, ...accounts);
    await fixture.received(client);
    proxy.cut();
    await fixture.connect(comes);
    await fixture.leave(leaving, goes);
    await fixture.patch(changes, 'Bot', { status: 'idle' });
    await fixture.publish();
    proxy.mend();
    const seen = (await client.events(3)).map(({ d }) => [d.userId, d.status, d.customStatus]);
    expect(seen).to.have.deep.members([
      [comes.id, 'online', null],
      [goes.id, 'offline', 'bye'],
      [changes.id, 'idle', null],
    ]);
    expect(await fixture.received(client)).to.deep.equal([[]]);
  });

  it('answers 503 to a change without Redis; the repeated change is published', async () => {
    const { MONGODB_URL, REDIS_PREFIX } = fixture.gateway.config;
    const api = await startTestApi({ MONGODB_URL, REDIS_PREFIX, LOG_PARTITIONS: '3', REDIS_URL: proxy.url });
    const one = await fixture.gateway.makeAccount('bot', fixture.server);
    await fixture.connect(one);
    const clients = await connectReceivers(one);
    const patch = (): Promise<number> =>
      api.call('PATCH', '/api/users/@me/presence', { as: `Bot ${one.token}`, body: { status: 'dnd' } }).then(({ status }) => status);
    proxy.cut();
    expect(await patch()).to.equal(503);
    proxy.mend();
    await waitUntil(async () => (await patch()) === 200, 'Redis to be back');
    for (const seen of await fixture.received(...clients)) expect(seen).to.deep.equal([[one.id, 'dnd', null]]);
    await api.close();
  });

  it('the sweep of the workers publishes changes', async () => {
    const one = await makePerson();
    const clients = await connectReceivers(one);
    const sweeps = startSweeps(fixture.gateway.worker);
    try {
      const client = await fixture.connect(one);
      for (const status of ['online', 'offline']) {
        if (status === 'offline') await fixture.leave(client, one);
        for (const { d } of await Promise.all(clients.map((listener) => listener.until(0, 'PRESENCE_UPDATE'))))
          expect([d.userId, d.status]).to.deep.equal([one.id, status]);
      }
    } finally {
      await sweeps.close();
    }
  });
});
