import type { ServerResponse } from 'node:http';
import { expect } from 'chai';
import type { Failpoint } from '../../lib/base/failpoint.ts';
import { createMetrics } from '../../lib/base/metrics.ts';
import { sweepUnposted } from '../../lib/domain/interactions/interaction-sweeps.ts';
import { openOpsPlatform } from '../../lib/store/platform.ts';
import { handlers } from '../../workers/handlers.ts';
import { startWorker } from '../../workers/start.ts';
import { reply } from '../harness/endpoint.ts';
import { type OwnProcess, startOwn } from '../harness/own-process.ts';
import { until } from '../harness/scene.ts';
import { type RaceScene, startRaceScene } from './race-scene.ts';

const lost = [null, 'failed', 'the outcome is unknown because a worker stopped or a store was unavailable'];

describe('Interactions Endpoint: processes that die', function () {
  this.timeout(180_000); // processes start, and a dead worker's job is found after seconds
  let scene: RaceScene;
  let doomed: OwnProcess;
  beforeEach(async () => {
    scene = await startRaceScene({ LOG_LEVEL: 'silent' });
  });
  afterEach(async () => {
    doomed.kill('SIGKILL');
    await doomed.ended;
    await scene.close();
  });

  const killedWorker = async (failpoint: Failpoint | ''): Promise<void> => {
    doomed = await startOwn('worker', scene.api.platform.config, { failpoint });
  };
  const died = async (): Promise<void> => {
    expect((await doomed.ended)[1]).to.equal('SIGKILL');
  };
  /** Runs `act` while another worker works, until it has also found the job that the dead one left, and ended it. */
  const withNextWorker = async (act: () => Promise<void>): Promise<void> => {
    const next = startWorker(scene.worker, createMetrics('worker'));
    const ops = await openOpsPlatform(scene.api.platform.config, scene.worker.log);
    try {
      await act();
      const queue = ops.queues.find(({ name }) => name === 'endpoints') ?? expect.fail();
      await until(async () => (await queue.getJobCountByTypes('active', 'waiting', 'delayed')) === 0, 'the dead worker’s job');
    } finally {
      await ops.close();
      await next.close();
    }
  };
  /** The interaction ends unanswered: the person hears so once, and its owner that nothing is known. */
  const expiresUnknown = async (id: string, posted: unknown[]): Promise<void> => {
    await scene.post(id); // whoever runs its job again while there is time sends nothing
    expect(scene.posted()).to.deep.equal(posted);
    await scene.age(id, 3_000);
    await withNextWorker(async () => {
      expect(await scene.heardStates(id)).to.deep.equal(['expired']);
      await until(async () => (await scene.stored(id)).obAt === undefined, 'all is delivered');
    });
    expect(await scene.heardStates(id)).to.deep.equal(['expired']);
    expect(scene.posted()).to.deep.equal(posted);
    expect(await scene.answersTo(id)).to.deep.equal([]);
    await scene.age(id, 6_000, 'deliveredAt');
    expect(await scene.logged(id)).to.deep.equal(lost);
  };
  it('a worker that dies after its claim: no request is ever sent, the person is told once that it expired', async () => {
    await killedWorker('after-endpoint-claim');
    const id = await scene.use();
    await died();
    await expiresUnknown(id, []);
  });

  it('a worker that dies when it has the answer: it is not applied, and the request is not repeated', async () => {
    scene.endpoint.answer(reply(200, { type: 'message', content: 'x' }));
    await killedWorker('after-endpoint-reply');
    const id = await scene.use();
    await died();
    await expiresUnknown(id, [id]);
  });

  it('a worker that dies while the endpoint thinks: the request is not repeated, not even when the endpoint answers at last', async () => {
    const held: ServerResponse[] = [];
    scene.endpoint.answer((_received, response) => void held.push(response));
    await killedWorker('');
    const id = await scene.use();
    await until(() => held.length > 0, 'the request');
    doomed.kill('SIGKILL');
    await died();
    await expiresUnknown(id, [id]);
  });

  it('while it is not known whether the outcome still comes, the log leaves it out', async () => {
    await killedWorker('after-endpoint-claim');
    const id = await scene.use();
    await died();
    await scene.age(id, 4_000, 'deliveredAt');
    expect(await scene.logged(id)).to.equal(null);
    await scene.age(id, 5_000, 'deliveredAt');
    expect(await scene.logged(id)).to.deep.equal(lost);
  });

  it('a callback may still answer what a dead worker had posted', async () => {
    await killedWorker('after-endpoint-reply');
    const id = await scene.use();
    await died();
    expect((await scene.send('callback', id, { type: 'message', content: 'by callback' })).status).to.equal(201);
    await withNextWorker(async () => {
      expect(await scene.heardStates(id)).to.deep.equal(['answered']);
    });
    expect(scene.posted()).to.deep.equal([id]);
    expect(await scene.answersTo(id)).to.deep.equal(['by callback']);
  });

  it('a worker that dies when the answer is decided: its message stands once, the person is told once', async () => {
    scene.endpoint.answer(reply(200, { type: 'message', content: 'decided' }));
    await killedWorker('after-answer-write');
    const id = await scene.use();
    await died();
    expect(await scene.answersTo(id)).to.deep.equal([]);
    await withNextWorker(async () => {
      expect(await scene.heardStates(id)).to.deep.equal(['answered']);
      await until(async () => (await scene.stored(id)).obAt === undefined, 'all is delivered');
    });
    expect(scene.posted()).to.deep.equal([id]);
    expect(await scene.answersTo(id)).to.deep.equal(['decided']);
    expect(await scene.heardStates(id)).to.deep.equal(['answered']);
  });

  it('an api that dies before it asks for the job: the sweep has it posted, once, in time to be answered', async () => {
    scene.endpoint.answer(reply(200, { type: 'message', content: 'in time' }));
    doomed = await startOwn('api', scene.api.platform.config, { failpoint: 'after-invoke-write' });
    const path = `/api/channels/${scene.channelId}/commands/${scene.commands.hello}/invoke`;
    const headers = { Authorization: scene.asPerson, 'Content-Type': 'application/json' };
    const status = await fetch(doomed.url + path, { method: 'POST', headers, body: '{}' }).then(
      (answer) => answer.status,
      () => null,
    );
    expect(status).to.equal(null);
    await died();
    const id = String((await scene.api.platform.db.interactions.findOne({}).lean())?._id);
    const consumers = scene.worker.consume(handlers, () => undefined);
    try {
      // Its age is set, not waited for: the sweep leaves what is younger than half a second to the job.
      await scene.age(id, -60_000);
      await sweepUnposted(scene.worker);
      expect((await scene.stored(id)).deliveredAt).to.equal(null);
      await scene.age(id, 500);
      await sweepUnposted(scene.worker);
      await scene.age(id, -60_000);
      expect(await scene.heardStates(id)).to.deep.equal(['answered']);
      expect(await scene.answersTo(id)).to.deep.equal(['in time']);
      expect(scene.posted()).to.deep.equal([id]);
    } finally {
      await consumers.close();
    }
  });
});
