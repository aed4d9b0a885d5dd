import { expect } from 'chai';
import sharp from 'sharp';
import { createMetrics } from '../../lib/base/metrics.ts';
import type { Message } from '../../lib/contract/message.ts';
import { startWorker } from '../../workers/start.ts';
import { expectNoOrphans, fileDocs, formOf, getFile, type Posted, type Sent, sendBody } from '../files/fixture.ts';
import { startTestApiWithWorker, type TestApi } from '../harness/api.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { type EventRecorder, recordEvents, startNode, startParlance } from '../harness/parlance.ts';
import { send } from '../harness/requests.ts';
import { botOf, ownerOf, type SeededServer, seedServer } from '../harness/seed.ts';
import { make, use } from '../harness/use.ts';
import { brokenPng, gif, picture, png } from './fixtures.ts';

const location = {
  IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '51/1 30/1 3230/100' },
  IFD0: { Copyright: 'somebody at home' },
};
const post = (api: TestApi, seeded: SeededServer, files: readonly Sent[], content = 'look') =>
  sendBody(`${api.url}/api/channels/${seeded.channelIds[0]}/messages`, ownerOf(seeded).as, formOf({ content }, files));
/** The name, type and size of each attachment. */
const factsOf = ({ attachments }: Pick<Message, 'attachments'>) =>
  attachments.map(({ filename, contentType, width, height }) => [filename, contentType, width, height]);
const conversionsFinished = async (api: TestApi): Promise<void> => {
  await waitUntil(async () => (await fileDocs(api)).every(({ original }) => original === undefined), 'the uploads are deleted');
  await expectNoOrphans(api);
};

describe('POST /api/channels/{channelId}/messages with images while a worker runs', () => {
  const parlance = use(startParlance);
  const seeded = make(() => seedServer(parlance.platform, { bots: 1, channels: 1 }));
  afterEach(() => conversionsFinished(parlance));

  it('201, GET and MESSAGE_CREATE have the converted attachment, a WebP without the location of the photograph', async () => {
    const recorder = await recordEvents(parlance, botOf(seeded).token);
    const jpeg = await picture().withMetadata({ orientation: 6 }).withExifMerge(location).jpeg().toBuffer();
    const { status, body } = await post(parlance, seeded, [{ name: 'IMG_1.JPG', bytes: jpeg, type: 'image/jpeg' }]);
    expect(status).to.equal(201);
    expect(factsOf(body)).to.deep.equal([['IMG_1.webp', 'image/webp', 48, 64]]);
    const created = await recorder.waitFor(({ t }) => t === 'MESSAGE_CREATE');
    expect((created.d as Message).attachments).to.deep.equal(body.attachments);
    const [attachment] = body.attachments;
    const served = await getFile(parlance, attachment as Posted['attachments'][number]);
    expect([served.status, served.headers.get('content-type'), served.body.length]).to.deep.equal([200, 'image/webp', attachment?.size]);
    expect(served.headers.get('content-disposition')).to.match(/^inline/);
    expect((await sharp(served.body).metadata()).exif).to.equal(undefined);
    expect(served.body.includes('somebody')).to.equal(false);
    await recorder.client.close();
  });

  it('converts each file of a message by its content: animated ones stay, broken ones and other files become application/octet-stream', async () => {
    const { status, body } = await post(parlance, seeded, [
      { name: 'a.png', bytes: png, type: 'image/png' },
      { name: 'b.gif', bytes: gif, type: 'image/gif' },
      { name: 'c.png', bytes: brokenPng, type: 'image/png' },
      { name: 'd.png', bytes: '<svg xmlns="http://www.w3.org/2000/svg"/>', type: 'image/png' },
      { name: 'e.txt', bytes: png, type: 'text/plain' },
    ]);
    expect(status).to.equal(201);
    expect(factsOf(body)).to.deep.equal([
      ['a.webp', 'image/webp', 64, 48],
      ['b.gif', 'image/gif', 64, 48],
      ['c.png', 'application/octet-stream', null, null],
      ['d.png', 'application/octet-stream', null, null],
      ['e.webp', 'image/webp', 64, 48],
    ]);
    const [, kept, broken] = await Promise.all(body.attachments.map((one) => getFile(parlance, one)));
    expect([kept?.body.equals(gif), broken?.body.equals(brokenPng)]).to.deep.equal([true, true]);
    expect(broken?.headers.get('content-disposition')).to.match(/^attachment/);
    for (const one of body.attachments) expect((await getFile(parlance, one)).body.length, one.filename).to.equal(one.size);
  });
});

describe('POST /api/channels/{channelId}/messages with images without a worker', () => {
  const api = use(startTestApiWithWorker);
  const gateway = use(() => startNode(api.platform.config));
  const seeded = make(() => seedServer(api.platform, { bots: 1, channels: 1 }));

  it('201 after 10 s with the final URL, which returns 503 until a worker has converted the image and sent MESSAGE_UPDATE', async () => {
    const recorders: EventRecorder[] = [
      await recordEvents(gateway, botOf(seeded).token, ['MESSAGE_UPDATE']),
      await recordEvents(gateway, seeded.ownerToken),
    ];
    const startedAt = performance.now();
    const images: Sent[] = [
      { name: 'a.png', bytes: png, type: 'image/png' },
      { name: 'b.png', bytes: brokenPng, type: 'image/png' },
    ];
    const [one, two] = await Promise.all(images.map((image) => post(api, seeded, [image])));
    expect(performance.now() - startedAt).to.be.at.least(9_900);
    const posted = [one, two].map((answer) => answer?.body as Posted);
    expect([one?.status, two?.status]).to.deep.equal([201, 201]);
    expect(posted.map(factsOf)).to.deep.equal([[['a.webp', 'image/webp', null, null]], [['b.webp', 'image/webp', null, null]]]);
    for (const { attachments } of posted) {
      const waiting = await getFile(api, attachments[0] as Posted['attachments'][number]);
      expect([waiting.status, Number(waiting.headers.get('retry-after')) > 0]).to.deep.equal([503, true]);
      expect(waiting.body.includes('PNG')).to.equal(false);
    }

    const running = startWorker(api.worker, createMetrics('worker'));
    const results = await Promise.all(
      recorders.flatMap((recorder) =>
        posted.map(({ id }) => recorder.waitFor(({ t, d }) => t === 'MESSAGE_UPDATE' && (d as Message).id === id)),
      ),
    );
    const updated = results.slice(0, posted.length).map(({ d }) => d as Message);
    expect(updated.map(factsOf)).to.deep.equal([[['a.webp', 'image/webp', 64, 48]], [['b.png', 'application/octet-stream', null, null]]]);
    expect(updated.map(({ editedAt }) => editedAt)).to.deep.equal([null, null]);
    for (const [at, { attachments, channelId, id }] of updated.entries()) {
      // The URL of the 201 stays valid. The event has the same URL, or one with the new name of the file.
      for (const source of [posted[at], updated[at]]) {
        const served = await getFile(api, source?.attachments[0] as Posted['attachments'][number]);
        expect([served.status, served.body.length]).to.deep.equal([200, attachments[0]?.size]);
      }
      const read = await send<Message>(api, 200, ownerOf(seeded), 'GET', `/api/channels/${channelId}/messages/${id}`);
      expect(read.attachments).to.deep.equal(attachments);
    }
    await conversionsFinished(api);
    for (const recorder of recorders) expect(recorder.received.filter(({ t }) => t === 'MESSAGE_UPDATE')).to.have.length(2);
    await running.close();
    for (const recorder of recorders) await recorder.client.close();
  });
});
