import type { ServerResponse } from 'node:http';
import { expect } from 'chai';
import { createMetrics } from '../../lib/base/metrics.ts';
import type { MessageDoc } from '../../lib/store/mongo/models/message.ts';
import { startWorker } from '../../workers/start.ts';
import { startTestApi, startTestApiWithWorker } from '../harness/api.ts';
import { makePerson, makeServer, postMessage } from '../harness/factories.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { expireLocks } from '../harness/jobs.ts';
import { startOwn } from '../harness/own-process.ts';
import { page, sendPage, startSite } from '../harness/site.ts';

describe('link previews: a worker killed during the request to the site', () => {
  it('another worker finishes the job once', async () => {
    let markRequested = (): void => undefined;
    const requested = new Promise<void>((resolve) => (markRequested = resolve));
    const responses: ServerResponse[] = [];
    const site = await startSite((_request, response) => {
      if (responses.push(response) === 1) markRequested();
      else sendPage(response, page('found'));
    });
    const api = await startTestApiWithWorker(() => startTestApi({ OUTBOUND_ALLOW: site.pair }));
    const { config, db } = api.platform;
    const killed = await startOwn('worker', config);
    try {
      const owner = await makePerson(api);
      const { general } = await makeServer(api, owner);
      const { id } = await postMessage(api, owner, general, `${site.url}/page`);
      const stored = async (): Promise<MessageDoc> => (await db.messages.findOne({ _id: id })) as MessageDoc;
      await requested;
      killed.kill();
      await killed.ended;
      expect((await stored()).previewsAt).to.be.instanceOf(Date);
      await expireLocks(config, 'previews');
      const another = startWorker(api.worker, createMetrics('worker'));
      try {
        await waitUntil(async () => (await stored()).previewsAt === undefined, 'previewsAt is removed');
        await waitUntil(async () => (await stored()).outboxAt === undefined, 'the event is relayed');
      } finally {
        await another.close();
      }
      expect(await stored()).to.deep.include({ previews: [{ url: `${site.url}/page`, title: 'found' }], editedAt: null });
      expect(site.asked).to.deep.equal(['/page', '/page']);
    } finally {
      killed.kill();
      await api.close();
      await site.close();
    }
  });
});
