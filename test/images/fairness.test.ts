import { expect } from 'chai';
import { limits } from '../../lib/base/limits.ts';
import { createLog } from '../../lib/base/log.ts';
import { sweepImages } from '../../lib/domain/files/image-conversion.ts';
import { openOpsPlatform } from '../../lib/store/platform.ts';
import { fileDocs, formOf, type Sent, sendBody } from '../files/fixture.ts';
import { startTestApiWithWorker } from '../harness/api.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { consumeJobs } from '../harness/jobs.ts';
import { botOf, seedServer } from '../harness/seed.ts';
import { make, use } from '../harness/use.ts';
import { pngOf } from './fixtures.ts';

/** A file whose header declares an image of 25 megapixels. */
const largeImage: Sent = { name: 'a.png', bytes: pngOf({ width: 5_000, height: 5_000 }, 10), type: 'image/png' };
const perMessage = limits.filesPerMessage;
const maxMessages = limits.imageMegapixelsWaiting / 25 / perMessage;

describe('conversion queue with images of several accounts', () => {
  const api = use(startTestApiWithWorker, { each: true });
  const seeded = make(() => seedServer(api.platform, { bots: 2, channels: 1 }), { each: true });
  let running: { close(): Promise<void> } | undefined;
  afterEach(() => running?.close());

  const post = (slot: number, files: readonly Sent[]) =>
    sendBody(`${api.url}/api/channels/${seeded.channelIds[0]}/messages`, botOf(seeded, slot).as, formOf({ content: 'look' }, files));
  const emptyQueue = async (): Promise<void> => {
    const ops = await openOpsPlatform(api.platform.config, createLog('test', 'silent'));
    await ops.queues.find(({ name }) => name === 'media')?.drain();
    await ops.close();
  };
  const fullMessage = Array.from({ length: perMessage }, () => largeImage);
  const waiting = (count: number): Promise<void> =>
    waitUntil(async () => (await api.worker.jobs.countWaiting('media')) === count, `${count} images are queued`);
  /** Runs `count` conversion jobs from the queue; returns the account ids of their images, in order. */
  const runJobs = async (count: number): Promise<string[]> => {
    const started: string[] = [];
    const accounts = new Map((await fileDocs(api)).map(({ _id, accountId }) => [_id, String(accountId)]));
    const recordAccount = async (_platform: unknown, { fileId }: { fileId: string }): Promise<void> =>
      void started.push(accounts.get(fileId) ?? '');
    running = consumeJobs(api.worker, { 'convert-image': recordAccount });
    await waitUntil(
      async () => started.length === count && (await api.worker.jobs.countWaiting('media')) === 0,
      'the conversions have run',
    );
    return started;
  };

  it('an image posted after 40 of another account is converted second; 429 above 1,000 megapixels of one account', async () => {
    const flood = Array.from({ length: maxMessages + 2 }, () => post(0, fullMessage));
    await waiting(maxMessages * perMessage);
    const others = [post(1, [largeImage]), post(1, [largeImage])];
    await waiting(maxMessages * perMessage + 2);
    const order = await runJobs(maxMessages * perMessage + 2);
    const otherId = botOf(seeded, 1).id;
    expect([order.indexOf(otherId), order.lastIndexOf(otherId)]).to.deep.equal([1, 3]);

    const answers = await Promise.all(flood);
    const refused = answers.filter(({ status }) => status !== 201);
    expect(refused.map(({ status, body, headers }) => [status, body.code, headers.get('retry-after')])).to.deep.equal(
      Array(2).fill([429, 'images_waiting', '10']),
    );
    expect((await Promise.all(others)).map(({ status }) => status)).to.deep.equal([201, 201]);
    const request = { queue: 'media', accountId: botOf(seeded).id, costs: [25], maxWaiting: 0 } as const;
    await waitUntil(async () => (await api.worker.jobs.reservePriorities(request)) !== null, 'the account may post again');
  });

  it('the sweep enqueues lost jobs again, alternating by account, and no job twice', async () => {
    const posts = [post(0, fullMessage), post(1, [largeImage])];
    await waiting(perMessage + 1);
    await api.platform.db.files.updateMany({}, { $set: { createdAt: new Date(Date.now() - 60_000) } });
    await sweepImages(api.worker);
    expect(await api.worker.jobs.countWaiting('media')).to.equal(perMessage + 1);
    const probe = { queue: 'media', accountId: botOf(seeded).id, costs: [0] } as const;
    expect(await api.worker.jobs.reservePriorities(probe), 'nothing was counted twice').to.deep.equal([25 * perMessage + 1]);
    await emptyQueue();
    await sweepImages(api.worker);
    await waiting(perMessage + 1);
    const order = await runJobs(perMessage + 1);
    expect(order.indexOf(botOf(seeded, 1).id)).to.be.at.most(1);
    await Promise.all(posts);
  });
});
