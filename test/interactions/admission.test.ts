// These tests cover which uses are refused while too many wait (docs/operations.md#under-too-much-load).
import { expect } from 'chai';
import { composeId } from '../../lib/base/ids.ts';
import { limits } from '../../lib/base/limits.ts';
import type { Command } from '../../lib/contract/command.ts';
import { createAdmission } from '../../lib/store/queue/admission.ts';
import { expectError } from '../harness/expect-error.ts';
import { startInteractionFixture, waitUntil } from '../harness/interaction-fixture.ts';
import { consumeJobs } from '../harness/jobs.ts';
import { send } from '../harness/requests.ts';
import { botOf, setApplication } from '../harness/seed.ts';
import { make, use } from '../harness/use.ts';

const nowMs = Date.now();
const busy = { ms: limits.usesWaitMsBusy, jobs: limits.usesWaitingBusy };
const full = { ms: limits.usesWaitMsFull, jobs: limits.usesWaitingFull };

/** The ids of `count` jobs that have waited for `ms`, shared by an application and a server. */
const waitingJobs = (count: number, ms: number, application = 'a', server = 's'): string[] =>
  Array.from({ length: count }, (_, at) => `ixp-${composeId(nowMs - ms, 0, at)}-${application}-${server}`);

describe('Admission: which of those that share a queue are taken', () => {
  const rows: [what: string, waiting: string[], taken: Record<string, boolean>][] = [
    ['an empty queue takes all', [], { 'a s': true }],
    ['jobs that wait for a short time refuse nobody', waitingJobs(busy.jobs - 1, busy.ms - 1), { 'a s': true, 'b t': true }],
    ['a busy queue refuses the only application of the only server', waitingJobs(1, busy.ms + 1), { 'a s': false }],
    ['and takes other applications of this server', waitingJobs(1, busy.ms + 1), { 'b s': true, 'b t': true }],
    ['and other servers of the only application', waitingJobs(1, busy.ms + 1), { 'a t': true }],
    [
      'and refuses an application with others, and a server with others, of which a job waits',
      [...waitingJobs(1, busy.ms + 1), ...waitingJobs(1, 0, 'b', 't')],
      { 'a t': false, 'b s': false, 'a x': false, 'x s': false, 'x y': true },
    ],
    ['a queue of many new jobs is busy, too', waitingJobs(busy.jobs, 0), { 'a s': false, 'b t': true }],
    ['a full queue refuses all', waitingJobs(1, full.ms + 1), { 'a s': false, 'b t': false }],
    ['a queue of very many new jobs is full, too', waitingJobs(full.jobs, 0), { 'a s': false, 'b t': false }],
    ['jobs of other kinds count, without a time', Array.from({ length: full.jobs }, (_, at) => String(at)), { 'a s': false }],
  ];
  for (const [what, waiting, taken] of rows)
    it(what, async () => {
      for (const [sharers, expected] of Object.entries(taken)) {
        const hasRoom = createAdmission(
          async () => waiting,
          () => nowMs,
        );
        expect(await hasRoom('endpoints', sharers.split(' ')), sharers).to.equal(expected);
      }
    });

  it('counts what it has taken since it read the queue', async () => {
    const hasRoom = createAdmission(
      async () => waitingJobs(busy.jobs - 2, 0),
      () => nowMs,
    );
    const taken: boolean[] = [];
    for (let n = 0; n < 3; n++) taken.push(await hasRoom('endpoints', ['b', 't']));
    expect(taken).to.deep.equal([true, true, false]);
  });

  it('rejects while the queue cannot be read, and reads it again', async () => {
    const answers = [() => Promise.reject(new Error('away')), () => Promise.resolve([])];
    const hasRoom = createAdmission(
      async () => (answers.shift() ?? expect.fail())(),
      () => nowMs,
    );
    expect(await hasRoom('endpoints', ['a', 's']).catch((error: Error) => error.message)).to.equal('away');
    expect(await hasRoom('endpoints', ['a', 's'])).to.equal(true);
  });
});

describe('Admission: uses while jobs wait and a worker lives', () => {
  const fixture = use(startInteractionFixture);
  const owner = make(async () => fixture.person);
  const paths: string[] = [];
  before(async () => {
    await fixture.connect();
    for (const at of [0, 1]) {
      const bot = fixture.seeded.bots[at] ?? expect.fail();
      const list = `/api/applications/${bot.applicationId}/commands`;
      const [command] = await send<Command[]>(fixture.api, 200, botOf(fixture.seeded, at), 'PUT', list, [
        { name: 'hello', description: 'x' },
      ]);
      paths.push(`/api/channels/${fixture.channelId}/commands/${command?.id}/invoke`);
    }
  });

  for (const [kind, url] of Object.entries({ 'post-interaction': 'https://endpoint.example/', 'deliver-interaction': null }))
    it(`${kind}: refuses those of whom a job waits, then everybody, stores nothing, and takes them again`, async () => {
      const { api, worker, seeded } = fixture;
      const [first, second] = paths;
      for (const bot of seeded.bots) await setApplication(api.platform, bot, { interactionsEndpointUrl: url });
      const invoke = (path: string | undefined) => api.call('POST', String(path), { as: owner.as, body: {} });
      const countStored = () => api.platform.db.interactions.countDocuments();
      const waits = async (ms: number) => {
        const interactionId = composeId(worker.now() - ms, 1, 0);
        const applicationId = String(seeded.bots[0]?.applicationId);
        await worker.jobs.enqueue(kind as 'post-interaction', { interactionId, applicationId, placeId: seeded.serverId });
        await worker.shares.recordHeartbeat();
        await new Promise((resolve) => setTimeout(resolve, 110)); // an API process uses a reading for 100 ms
      };
      await waits(busy.ms + 500);
      const stored = await countStored();
      const refused = await invoke(first);
      expectError(refused, 503, 'unavailable');
      expect([refused.headers.get('retry-after'), await countStored()]).to.deep.equal(['1', stored]);
      const isOnline = url !== null; // only the first bot is connected
      expect((await invoke(second)).status).to.equal(isOnline ? 202 : 409);
      await waits(full.ms + 1_000);
      for (const path of paths) expectError(await invoke(path), 503, 'unavailable');
      const consumers = consumeJobs(worker, {});
      try {
        const queue = url === null ? 'interactions' : 'endpoints';
        await waitUntil(async () => (await api.platform.jobs.countWaiting(queue)) === 0, 'the worker');
        await waitUntil(async () => (await invoke(first)).status === 202, 'a use is taken');
      } finally {
        await consumers.close();
      }
    });
});
