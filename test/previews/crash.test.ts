import type { ServerResponse } from 'node:http';
import { expect } from 'chai';
import { createLog } from '../../lib/base/log.ts';
import type { MessageDoc } from '../../lib/store/mongo/models/message.ts';
import { openApiPlatform } from '../../lib/store/platform.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { seedServer } from '../harness/seed.ts';
import { page, sendPage, startSite } from '../harness/site.ts';
import { startStack } from '../harness/stack.ts';
import { testConfig } from '../harness/stores.ts';

describe('link previews: a worker killed during the request to the site', () => {
  it('another worker finishes the job once', async () => {
    let markRequested = (): void => undefined;
    const requested = new Promise<void>((resolve) => (markRequested = resolve));
    const responses: ServerResponse[] = [];
    const site = await startSite((_request, response) => {
      if (responses.push(response) === 1) markRequested();
      else sendPage(response, page('found'));
    });
    const config = testConfig({ OUTBOUND_ALLOW: site.pair });
    const { MONGODB_URL, REDIS_URL, REDIS_PREFIX } = config;
    const env = { MONGODB_URL, REDIS_URL, REDIS_PREFIX, APP_KEY: config.APP_KEY.toString('base64') };
    const stack = await startStack(
      { api: 1, gateway: 0, worker: 2 },
      { ...env, OUTBOUND_ALLOW: site.pair, RATE_LIMIT: 'off', LOG_LEVEL: 'error' },
    );
    const platform = await openApiPlatform(config, createLog('test', 'error'));
    try {
      const [killed, other] = stack.workers;
      await other?.stop('SIGTERM'); // so that the worker to kill gets the job
      const seeded = await seedServer(platform, { bots: 1, channels: 1 });
      const posted = await fetch(`${stack.apiUrl()}/api/channels/${seeded.channelIds[0]}/messages`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${seeded.ownerToken}`, 'Content-Type': 'application/json' },
        body: JSON.stringify({ content: `${site.url}/page` }),
      });
      const { id } = (await posted.json()) as { id: string };
      const stored = async (): Promise<MessageDoc> => (await platform.db.messages.findOne({ _id: id })) as MessageDoc;
      await requested;
      await killed?.stop('SIGKILL');
      expect((await stored()).previewsAt).to.be.instanceOf(Date);
      await other?.start();
      for (let tries = 0; tries < 4 && (await stored()).previewsAt; tries++)
        await waitUntil(async () => (await stored()).previewsAt === undefined, 'previewsAt is removed').catch(() => undefined);
      await waitUntil(async () => (await stored()).outboxAt === undefined, 'the event is relayed');
      expect(await stored()).to.deep.include({ previews: [{ url: `${site.url}/page`, title: 'found' }], editedAt: null });
      expect(site.asked).to.deep.equal(['/page', '/page']);
    } finally {
      await stack.close();
      await platform.close();
      await site.close();
    }
  });
});
