import { Worker } from 'bullmq';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { openOpsPlatform } from '../../lib/store/platform.ts';
import { startTestApiWithWorker } from '../harness/api.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { consumeJobs } from '../harness/jobs.ts';
import { make, use } from '../harness/use.ts';

/** Workers of two versions on the same queues (docs/operations/upgrade.md#formats). */
describe('Jobs of a newer version', () => {
  const api = use(startTestApiWithWorker);
  const ops = use(() => openOpsPlatform(api.platform.config, api.platform.log));
  const queue = make(async () => ops.queues.find(({ name }) => name === 'upkeep') ?? expect.fail());
  const failed: string[] = [];
  use(async () => consumeJobs(api.worker, {}, (name, outcome) => void (outcome === 'failed' && failed.push(name))));

  /** Adds a job as a newer version would. */
  const add = async (key: string, more = {}): Promise<string> => {
    const options = { removeOnComplete: true, removeOnFail: true, attempts: 1, deduplication: { id: key, keepLastIfActive: true } };
    return (await queue.add('send-notice-2', { notice: { id: key } }, { ...options, ...more })).id as string;
  };

  it('are left to a newer worker, without counting as failed', async () => {
    const id = await add('left');
    await waitUntil(async () => (await queue.getJobState(id)) === 'delayed', 'the worker left the job');
    const taken: unknown[] = [];
    const connection = new Redis(api.platform.config.REDIS_URL, { maxRetriesPerRequest: null });
    const newer = new Worker('upkeep', async ({ name, data, attemptsMade }) => void taken.push([name, data, attemptsMade]), {
      connection,
      prefix: queue.opts.prefix as string,
    });
    await waitUntil(async () => taken.length > 0, 'the newer worker took the job');
    await newer.close();
    connection.disconnect();
    expect(taken).to.deep.equal([['send-notice-2', { notice: { id: 'left' } }, 0]]);
    expect(failed).to.deep.equal([]);
  });

  it('are removed if nobody took them within 30 s, and no longer block their key', async () => {
    const id = await add('late', { timestamp: Date.now() - 31_000 });
    await waitUntil(async () => (await queue.getJob(id)) === undefined, 'the job was removed');
    expect(await add('late')).to.not.equal(id);
  });
});
