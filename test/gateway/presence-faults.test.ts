import { expect } from 'chai';
import { announcePresences } from '../../lib/domain/presence-watch.ts';
import { openWorkerPlatform, type WorkerPlatform } from '../../lib/store/platform.ts';
import { startSweeps } from '../../workers/sweep.ts';
import { type Presences, startPresences } from './presence-fixture.ts';
import type { Someone } from './world.ts';

describe('gateway: presence after faults, in three shards', () => {
  let here: Presences;
  before(async () => {
    here = await startPresences('3');
  });
  after(() => here.close());
  beforeEach(() => here.begin());

  /** Looks as `worker` with these powers over presence. */
  const lookAs = (worker: WorkerPlatform, powers: Partial<WorkerPlatform['presences']>): Promise<void> =>
    announcePresences({ ...worker, presences: { ...worker.presences, ...powers } });

  it('a node that dies takes its accounts offline; when it lives after all they are online', async () => {
    const { clients } = await here.listeners();
    const [one, two] = [await here.world.someone('person', here.server), await here.world.someone('person', here.server)];
    const node = await here.onTheirOwnNode(one, two);
    await here.enter(two);
    await here.heard(...clients);
    await node.dies();
    for (const news of await here.heard(...clients)) expect(news).to.deep.equal([[one.id, 'offline', null]]);
    for (const news of await here.heard(...clients)) expect(news).to.deep.equal([]);
    await node.lives();
    for (const news of await here.heard(...clients)) expect(news).to.deep.equal([[one.id, 'online', null]]);
  });

  it('a worker that dies before or after it told it is followed by one that tells it once', async () => {
    const { clients } = await here.listeners();
    const { worker } = here.world;
    const one = await here.world.someone('person', here.server);
    const client = await here.enter(one);
    const dying = lookAs(worker, { settle: () => Promise.reject(new Error('dead')) });
    expect(await dying.catch((error: Error) => error.message)).to.equal('dead');
    for (const news of await here.heard(...clients)) expect(news).to.deep.equal([[one.id, 'online', null]]);
    await here.leave(client, one);
    const dumb = announcePresences({ ...worker, broadcast: () => Promise.reject(new Error('dumb')) });
    expect(await dumb.catch((error: Error) => error.message)).to.equal('dumb');
    for (const news of await here.heard(...clients)) expect(news).to.deep.equal([[one.id, 'offline', null]]);
  });

  it('a worker that was paused while another told the next change is put right', async () => {
    const { clients } = await here.listeners();
    const { worker } = here.world;
    const one = await here.world.someone('person', here.server);
    const client = await here.enter(one);
    await lookAs(worker, {
      async settle(due, told) {
        // It has told of the coming; before it says so, the account goes, and another looks.
        if (due.accountId === one.id && told !== null) {
          await here.leave(client, one);
          await here.look();
        }
        await worker.presences.settle(due, told);
      },
    });
    for (const news of await here.heard(...clients)) {
      expect(news[0]).to.deep.equal([one.id, 'online', null]);
      expect(news.at(-1)).to.deep.equal([one.id, 'offline', null]);
    }
  });

  it('of many workers at once one looks, and if they all did it would be told once', async () => {
    const { clients } = await here.listeners();
    const { config, worker } = here.world;
    const more = await Promise.all([1, 2, 3].map(() => openWorkerPlatform(config, worker.log)));
    try {
      const workers = [worker, ...more];
      const turns = await Promise.all(workers.map(({ presences }) => presences.takeTurn(3_000)));
      expect(turns).to.deep.equal([true, false, false, false]);
      const one = await here.world.someone('bot', here.server);
      await here.enter(one);
      await Promise.all(workers.map((eager) => lookAs(eager, { takeTurn: () => Promise.resolve(true) })));
      for (const news of await here.heard(...clients)) expect(news).to.deep.equal([[one.id, 'online', null]]);
    } finally {
      for (const one of more) await one.close();
    }
  });

  it('more than one batch at once are all told, each once', async () => {
    const { clients } = await here.listeners();
    const many: Someone[] = [];
    while (many.length < 120) many.push(await here.world.someone('person', here.server));
    await here.onTheirOwnNode(...many);
    let all = false;
    const looking = (async () => {
      while (!all) await here.look();
    })();
    const told = await Promise.all(clients.map((client) => client.events(many.length)));
    all = true;
    await looking;
    for (const events of told) expect(new Set(events.map(({ d }) => d.userId))).to.deep.equal(new Set(many.map(({ id }) => id)));
    for (const news of await here.heard(...clients)) expect(news).to.deep.equal([]);
  });

  it('the workers’ sweep looks by itself', async () => {
    const { clients } = await here.listeners();
    const one = await here.world.someone('person', here.server);
    const sweeps = startSweeps(here.world.worker);
    try {
      const client = await here.enter(one);
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
