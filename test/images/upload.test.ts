import { expect } from 'chai';
import sharp from 'sharp';
import { startGateway } from '../../apps/gateway/node.ts';
import { createLog } from '../../lib/base/log.ts';
import { createMetrics } from '../../lib/base/metrics.ts';
import type { Message } from '../../lib/contract/message.ts';
import { openGatewayPlatform, openWorkerPlatform } from '../../lib/store/platform.ts';
import { startWorker } from '../../workers/start.ts';
import { expectNoOrphans, fileDocs, formOf, getFile, type Posted, type Sent, sendBody } from '../files/fixture.ts';
import { startTestApi, type TestApi } from '../harness/api.ts';
import { until } from '../harness/scene.ts';
import { type Ear, listenAs, startWhole, type Whole } from '../harness/whole.ts';
import { makeWorld, type World } from '../harness/world.ts';
import { picture } from './fixtures.ts';

const place = {
  IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '51/1 30/1 3230/100' },
  IFD0: { Copyright: 'somebody at home' },
};
const post = (api: TestApi, world: World, files: readonly Sent[], content = 'look') =>
  sendBody(`${api.url}/api/channels/${world.channelIds[0]}/messages`, `Bearer ${world.ownerToken}`, formOf({ content }, files));
/** What an attachment says of its file. */
const said = ({ attachments }: Pick<Message, 'attachments'>) =>
  attachments.map(({ filename, contentType, width, height }) => [filename, contentType, width, height]);
const ended = async (api: TestApi): Promise<void> => {
  await until(async () => (await fileDocs(api)).every(({ original }) => original === undefined), 'the uploads to be deleted');
  await expectNoOrphans(api);
};

describe('POST /api/channels/{channelId}/messages with images, a worker running', function () {
  this.timeout(180_000);
  let whole: Whole;
  let world: World;
  before(async () => {
    whole = await startWhole();
    world = await makeWorld(whole.platform, { bots: 1, channels: 1 });
  });
  after(() => whole.close());
  afterEach(() => ended(whole));

  it('201 carries the converted attachment, and so do GET and MESSAGE_CREATE; the file is WebP without the place it was taken at', async () => {
    const ear = await listenAs(whole, world.bots[0]?.token ?? '');
    const jpeg = await picture().withMetadata({ orientation: 6 }).withExifMerge(place).jpeg().toBuffer();
    const { status, body } = await post(whole, world, [{ name: 'IMG_1.JPG', bytes: jpeg, type: 'image/jpeg' }]);
    expect(status).to.equal(201);
    expect(said(body)).to.deep.equal([['IMG_1.webp', 'image/webp', 48, 64]]);
    const created = await ear.hears(({ t }) => t === 'MESSAGE_CREATE');
    expect((created.d as Message).attachments).to.deep.equal(body.attachments);
    const [attachment] = body.attachments;
    const served = await getFile(whole, attachment as Posted['attachments'][number]);
    expect([served.status, served.headers.get('content-type'), served.body.length]).to.deep.equal([200, 'image/webp', attachment?.size]);
    expect(served.headers.get('content-disposition')).to.match(/^inline/);
    expect((await sharp(served.body).metadata()).exif).to.equal(undefined);
    expect(served.body.includes('somebody')).to.equal(false);
    await ear.client.close();
  });

  it('each file of a message takes its own way: what moves stays, what is broken or no image is a plain file', async () => {
    const [png, gif] = [await picture().png().toBuffer(), await picture().gif().toBuffer()];
    const { status, body } = await post(whole, world, [
      { name: 'a.png', bytes: png, type: 'image/png' },
      { name: 'b.gif', bytes: gif, type: 'image/gif' },
      { name: 'c.png', bytes: png.subarray(0, 60), type: 'image/png' },
      { name: 'd.png', bytes: '<svg xmlns="http://www.w3.org/2000/svg"/>', type: 'image/png' },
      { name: 'e.txt', bytes: png, type: 'text/plain' },
    ]);
    expect(status).to.equal(201);
    expect(said(body)).to.deep.equal([
      ['a.webp', 'image/webp', 64, 48],
      ['b.gif', 'image/gif', 64, 48],
      ['c.png', 'application/octet-stream', null, null],
      ['d.png', 'application/octet-stream', null, null],
      ['e.webp', 'image/webp', 64, 48],
    ]);
    const [, kept, broken] = await Promise.all(body.attachments.map((one) => getFile(whole, one)));
    expect([kept?.body.equals(gif), broken?.body.equals(png.subarray(0, 60))]).to.deep.equal([true, true]);
    expect(broken?.headers.get('content-disposition')).to.match(/^attachment/);
    for (const one of body.attachments) expect((await getFile(whole, one)).body.length, one.filename).to.equal(one.size);
  });
});

describe('POST /api/channels/{channelId}/messages with images, no worker there', function () {
  this.timeout(180_000);
  let api: TestApi;
  let world: World;
  let whole: Whole;
  before(async () => {
    api = await startTestApi();
    const { config } = api.platform;
    const log = createLog('test', config.LOG_LEVEL);
    world = await makeWorld(api.platform, { bots: 1, channels: 1 });
    const [worker, gatewayPlatform] = await Promise.all([openWorkerPlatform(config, log), openGatewayPlatform(config, log)]);
    const gateway = await startGateway(gatewayPlatform, createMetrics('gateway'));
    whole = {
      ...api,
      worker,
      node: gateway.node,
      gatewayUrl: `ws://127.0.0.1:${gateway.port}/gateway?v=1`,
      close: async () => {
        await gateway.close();
        await Promise.all([gatewayPlatform.close(), worker.close()]);
        await api.close();
      },
    };
  });
  after(() => whole.close());

  it('201 after 10 s with the final address, which answers 503 until a worker comes; then the image, and MESSAGE_UPDATE', async () => {
    const ears: Ear[] = [await listenAs(whole, world.bots[0]?.token ?? '', ['MESSAGE_UPDATE']), await listenAs(whole, world.ownerToken)];
    const png = await picture().png().toBuffer();
    const began = performance.now();
    const images: Sent[] = [
      { name: 'a.png', bytes: png, type: 'image/png' },
      { name: 'b.png', bytes: png.subarray(0, 60), type: 'image/png' },
    ];
    const [one, two] = await Promise.all(images.map((image) => post(api, world, [image])));
    expect(performance.now() - began).to.be.at.least(9_900);
    const posted = [one, two].map((answer) => answer?.body as Posted);
    expect([one?.status, two?.status]).to.deep.equal([201, 201]);
    expect(posted.map(said)).to.deep.equal([[['a.webp', 'image/webp', null, null]], [['b.webp', 'image/webp', null, null]]]);
    for (const { attachments } of posted) {
      const waiting = await getFile(api, attachments[0] as Posted['attachments'][number]);
      expect([waiting.status, Number(waiting.headers.get('retry-after')) > 0]).to.deep.equal([503, true]);
      expect(waiting.body.includes('PNG')).to.equal(false);
    }

    const running = startWorker(whole.worker, createMetrics('worker'));
    const results = await Promise.all(
      ears.flatMap((ear) => posted.map(({ id }) => ear.hears(({ t, d }) => t === 'MESSAGE_UPDATE' && (d as Message).id === id))),
    );
    const updated = results.slice(0, posted.length).map(({ d }) => d as Message);
    expect(updated.map(said)).to.deep.equal([[['a.webp', 'image/webp', 64, 48]], [['b.png', 'application/octet-stream', null, null]]]);
    expect(updated.map(({ editedAt }) => editedAt)).to.deep.equal([null, null]);
    for (const [at, { attachments, channelId, id }] of updated.entries()) {
      // The address of the 201 holds for ever; the event has the same, or one by the name that the file now has.
      for (const source of [posted[at], updated[at]]) {
        const served = await getFile(api, source?.attachments[0] as Posted['attachments'][number]);
        expect([served.status, served.body.length]).to.deep.equal([200, attachments[0]?.size]);
      }
      const read = await api.call<Message>('GET', `/api/channels/${channelId}/messages/${id}`, { as: `Bearer ${world.ownerToken}` });
      expect(read.body.attachments).to.deep.equal(attachments);
    }
    await ended(api);
    for (const ear of ears) expect(ear.heard.filter(({ t }) => t === 'MESSAGE_UPDATE')).to.have.length(2);
    await running.close();
    for (const ear of ears) await ear.client.close();
  });
});
