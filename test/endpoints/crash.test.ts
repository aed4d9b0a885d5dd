import { expect } from 'chai';
import type { Failpoint } from '../../lib/base/failpoint.ts';
import { createMetrics } from '../../lib/base/metrics.ts';
import { sweepUnposted } from '../../lib/domain/jobs/interactions.ts';
import { openOpsPlatform } from '../../lib/store/platform.ts';
import { handlers } from '../../workers/handlers.ts';
import { startWorker } from '../../workers/start.ts';
import { reply } from '../harness/endpoint.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { expireLocks } from '../harness/jobs.ts';
import { expectKilled, type OwnProcess, sendFatal, useOwnProcess } from '../harness/own-process.ts';
import { use } from '../harness/use.ts';
import { startRaceFixture } from './race-fixture.ts';

const unknownOutcome = [null, 'failed', 'the outcome is unknown because of a failure of the service'];

describe('Interactions Endpoint: killed processes', () => {
  const startProcess = useOwnProcess(() => fixture.api.platform.config);
  const fixture = use(() => startRaceFixture({ LOG_LEVEL: 'silent' }), { each: true });
  /** Uses the command and lets `act` run while the only worker is one that dies at `failpoint`. Returns the interaction's id once it is dead. */
  const useAndKill = async (
    failpoint: Failpoint | '',
    act: (worker: OwnProcess) => Promise<void> = async () => undefined,
  ): Promise<string> => {
    const worker = await startProcess('worker', failpoint);
    const id = await fixture.use();
    await expectKilled(worker, () => act(worker));
    return id;
  };
  /** Runs `act` while another worker runs, and waits until that worker has finished the job of the killed one. */
  const withNextWorker = async (act: () => Promise<void>): Promise<void> => {
    await expireLocks(fixture.api.platform.config, 'endpoints');
    const next = startWorker(fixture.worker, createMetrics('worker'));
    const ops = await openOpsPlatform(fixture.api.platform.config, fixture.worker.log);
    try {
      await act();
      const queue = ops.queues.find(({ name }) => name === 'endpoints') ?? expect.fail();
      await waitUntil(async () => (await queue.getJobCountByTypes('active', 'waiting', 'delayed')) === 0, 'the job of the killed worker');
    } finally {
      await ops.close();
      await next.close();
    }
  };
  /** Expects that the interaction expires, that the person receives this once, and that the log says the outcome is unknown. */
  const expectExpired = async (id: string, posted: unknown[]): Promise<void> => {
    await fixture.post(id); // running the job again in time sends nothing
    expect(fixture.posted()).to.deep.equal(posted);
    await fixture.age(id, 3_000);
    await withNextWorker(async () => {
      expect(await fixture.receivedStates(id)).to.deep.equal(['expired']);
      await waitUntil(async () => (await fixture.stored(id)).outboxAt === undefined, 'all events are relayed');
    });
    expect(await fixture.receivedStates(id)).to.deep.equal(['expired']);
    expect(fixture.posted()).to.deep.equal(posted);
    expect(await fixture.answersTo(id)).to.deep.equal([]);
    await fixture.age(id, 6_000, 'deliveredAt');
    expect(await fixture.logged(id)).to.deep.equal(unknownOutcome);
  };
  it('worker killed after its claim: no request is sent, the person receives `expired` once, and the log omits it until the outcome is known', async () => {
    const id = await useAndKill('after-endpoint-claim');
    await fixture.age(id, 4_000, 'deliveredAt');
    expect(await fixture.logged(id)).to.equal(null);
    await fixture.age(id, 5_000, 'deliveredAt');
    expect(await fixture.logged(id)).to.deep.equal(unknownOutcome);
    await expectExpired(id, []);
  });

  it('worker killed when it has the answer: the answer is not applied and the request not repeated', async () => {
    fixture.endpoint.answer(reply(200, { type: 'message', content: 'x' }));
    const id = await useAndKill('after-endpoint-reply');
    await expectExpired(id, [id]);
  });

  it('worker killed during two requests: none is repeated, a callback can still answer one, and the other expires', async () => {
    const held = fixture.hold();
    let other = '';
    const id = await useAndKill('', async (worker) => {
      await waitUntil(() => held.length > 0, 'the request');
      other = await fixture.use();
      await waitUntil(() => held.length > 1, 'the other request');
      worker.kill();
    });
    expect((await fixture.send('callback', other, { type: 'message', content: 'by callback' })).status).to.equal(201);
    await withNextWorker(async () => {
      expect(await fixture.receivedStates(other)).to.deep.equal(['answered']);
    });
    await expectExpired(id, [id, other]);
    expect(await fixture.answersTo(other)).to.deep.equal(['by callback']);
  });

  for (const [step, failpoint, stored] of [
    ['the answer was decided', 'after-answer-write', []],
    ['its message was stored', 'after-answer-message', ['decided']],
    ['its events are in the log', 'after-answer-append', ['decided']],
  ] as const)
    it(`worker killed after ${step}: the message is posted once and the person receives \`answered\` once`, async () => {
      fixture.endpoint.answer(reply(200, { type: 'message', content: 'decided' }));
      const id = await useAndKill(failpoint);
      expect(await fixture.answersTo(id)).to.deep.equal(stored);
      await withNextWorker(async () => {
        expect(await fixture.receivedStates(id)).to.deep.equal(['answered']);
        await waitUntil(async () => (await fixture.stored(id)).outboxAt === undefined, 'all events are relayed');
      });
      const { messageId, answer } = await fixture.stored(id);
      expect([messageId === null, answer]).to.deep.equal([false, undefined]);
      expect(fixture.posted()).to.deep.equal([id]);
      expect(await fixture.answersTo(id)).to.deep.equal(['decided']);
      expect(await fixture.receivedStates(id)).to.deep.equal(['answered']);
    });

  it('worker killed after the endpoint has failed, before the expiry was enqueued: the sweep expires the interaction once', async () => {
    fixture.endpoint.answer(reply(500));
    const id = await useAndKill('after-endpoint-failure');
    await fixture.age(id, 3_000);
    await withNextWorker(async () => {
      await waitUntil(async () => (await fixture.receivedStates(id)).includes('expired'), 'the expiry');
      await waitUntil(async () => (await fixture.stored(id)).outboxAt === undefined, 'all events are relayed');
    });
    expect(await fixture.receivedStates(id)).to.deep.equal(['created', 'expired']);
    expect(fixture.posted()).to.deep.equal([id]);
  });

  it('api killed before it enqueued the job: the sweep posts the interaction once, in time for the answer', async () => {
    fixture.endpoint.answer(reply(200, { type: 'message', content: 'in time' }));
    const api = await startProcess('api', 'after-invoke-write');
    const path = `/api/channels/${fixture.channelId}/commands/${fixture.commands.hello}/invoke`;
    await sendFatal(api, fixture.asPerson, 'POST', path, {});
    const id = String((await fixture.api.platform.db.interactions.findOne({}))?._id);
    const consumers = fixture.worker.startConsumers(handlers, () => undefined);
    try {
      // The test sets the age: the sweep leaves interactions younger than half a second to the job.
      await fixture.age(id, -60_000);
      await sweepUnposted(fixture.worker);
      expect((await fixture.stored(id)).deliveredAt).to.equal(null);
      await fixture.age(id, 500);
      await sweepUnposted(fixture.worker);
      await fixture.age(id, -60_000);
      expect(await fixture.receivedStates(id)).to.deep.equal(['answered']);
      expect(await fixture.answersTo(id)).to.deep.equal(['in time']);
      expect(fixture.posted()).to.deep.equal([id]);
    } finally {
      await consumers.close();
    }
  });
});
