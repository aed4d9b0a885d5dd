import { expect } from 'chai';
import { limits } from '../../lib/base/limits.ts';
import { createLog } from '../../lib/base/log.ts';
import { sweepImages } from '../../lib/domain/files/image-conversion.ts';
import { openOpsPlatform, openWorkerPlatform, type WorkerPlatform } from '../../lib/store/platform.ts';
import { handlers } from '../../workers/handlers.ts';
import { fileDocs, formOf, type Sent, sendBody } from '../files/fixture.ts';
import { startTestApi, type TestApi } from '../harness/api.ts';
import { until } from '../harness/scene.ts';
import { makeWorld, type World } from '../harness/world.ts';
import { pngOf } from './fixtures.ts';

/** A file that says it is an image of 25 megapixels. */
const large: Sent = { name: 'a.png', bytes: pngOf({ width: 5_000, height: 5_000 }, 10), type: 'image/png' };
const perMessage = limits.filesPerMessage;
const mostMessages = limits.imageMegapixelsWaiting / 25 / perMessage;

describe('images of several accounts that wait for their conversion', function () {
  this.timeout(180_000);
  let api: TestApi;
  let worker: WorkerPlatform;
  let world: World;
  let running: { close(): Promise<void> } | undefined;
  beforeEach(async () => {
    api = await startTestApi();
    worker = await openWorkerPlatform(api.platform.config, createLog('test', 'silent'));
    world = await makeWorld(api.platform, { bots: 2, channels: 1 });
  });
  afterEach(async () => {
    await running?.close();
    await worker.close();
    await api.close();
  });

  const post = (slot: number, files: readonly Sent[]) =>
    sendBody(
      `${api.url}/api/channels/${world.channelIds[0]}/messages`,
      `Bot ${world.bots[slot]?.token}`,
      formOf({ content: 'look' }, files),
    );
  const emptyQueue = async (): Promise<void> => {
    const ops = await openOpsPlatform(api.platform.config, createLog('test', 'silent'));
    await ops.queues.find(({ name }) => name === 'media')?.drain();
    await ops.close();
  };
  const several = Array.from({ length: perMessage }, () => large);
  const waiting = (count: number): Promise<void> =>
    until(async () => (await worker.waiting('media')) === count, `${count} images on the queue`);
  /** Takes the conversions off the queue; answers whose images they were, in this order. */
  const take = async (count: number): Promise<string[]> => {
    const began: string[] = [];
    const idle = Object.fromEntries(Object.keys(handlers).map((name) => [name, () => Promise.resolve()])) as unknown as typeof handlers;
    const accounts = new Map((await fileDocs(api)).map(({ _id, accountId }) => [_id, String(accountId)]));
    running = worker.consume(
      {
        ...idle,
        'convert-image': async (_platform, { fileId }) => void began.push(accounts.get(fileId) ?? ''),
      },
      () => undefined,
    );
    await until(async () => began.length === count && (await worker.waiting('media')) === 0, 'the conversions');
    return began;
  };

  it('take turns by account: one posted after forty of another account is converted second; more than 1,000 megapixels of one account get 429', async () => {
    const attacks = Array.from({ length: mostMessages + 2 }, () => post(0, several));
    await waiting(mostMessages * perMessage);
    const victims = [post(1, [large]), post(1, [large])];
    await waiting(mostMessages * perMessage + 2);
    const order = await take(mostMessages * perMessage + 2);
    const victim = world.bots[1]?.id ?? '';
    expect([order.indexOf(victim), order.lastIndexOf(victim)]).to.deep.equal([1, 3]);

    const answers = await Promise.all(attacks);
    const refused = answers.filter(({ status }) => status !== 201);
    expect(refused.map(({ status, body, headers }) => [status, body.code, headers.get('retry-after')])).to.deep.equal(
      Array(2).fill([429, 'images_waiting', '10']),
    );
    expect((await Promise.all(victims)).map(({ status }) => status)).to.deep.equal([201, 201]);
    const ask = { queue: 'media', accountId: String(world.bots[0]?.id), costs: [25], maxWaiting: 0 } as const;
    await until(async () => (await worker.reservePriorities(ask)) !== null, 'room for the account again');
  });

  it('the sweep puts lost ones on the queue again, by account, and leaves those that are on it', async () => {
    const posts = [post(0, several), post(1, [large])];
    await waiting(perMessage + 1);
    await api.platform.db.files.updateMany({}, { $set: { createdAt: new Date(Date.now() - 60_000) } });
    await sweepImages(worker);
    expect(await worker.waiting('media')).to.equal(perMessage + 1);
    const probe = { queue: 'media', accountId: String(world.bots[0]?.id), costs: [0] } as const;
    expect(await worker.reservePriorities(probe), 'nothing was charged twice').to.deep.equal([25 * perMessage + 1]);
    await emptyQueue();
    await sweepImages(worker);
    await waiting(perMessage + 1);
    const order = await take(perMessage + 1);
    expect(order.indexOf(world.bots[1]?.id ?? '')).to.be.at.most(1);
    await Promise.all(posts);
  });
});
