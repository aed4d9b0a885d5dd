import type { ServerResponse } from 'node:http';
import { expect } from 'chai';
import { createLog } from '../../lib/base/log.ts';
import type { MessageDoc } from '../../lib/store/mongo/models/message.ts';
import { openApiPlatform } from '../../lib/store/platform.ts';
import { page, sendPage } from '../harness/previews.ts';
import { until } from '../harness/scene.ts';
import { startSite } from '../harness/site.ts';
import { startStack } from '../harness/stack.ts';
import { testConfig } from '../harness/stores.ts';
import { makeWorld } from '../harness/world.ts';

describe('link previews: a worker killed while the site is asked', function () {
  this.timeout(180_000); // processes start, and a dead worker's job is found after seconds

  it('another worker finishes the work, once', async () => {
    let asked = (): void => undefined;
    const arrived = new Promise<void>((resolve) => (asked = resolve));
    const held: ServerResponse[] = [];
    const site = await startSite((_request, response) => {
      if (held.push(response) === 1) asked();
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
      const [doomed, other] = stack.workers;
      await other?.stop('SIGTERM'); // so that the one to be killed has the job
      const world = await makeWorld(platform, { bots: 1, channels: 1 });
      const posted = await fetch(`${stack.apiUrl()}/api/channels/${world.channelIds[0]}/messages`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${world.ownerToken}`, 'Content-Type': 'application/json' },
        body: JSON.stringify({ content: `${site.url}/page` }),
      });
      const { id } = (await posted.json()) as { id: string };
      const stored = async (): Promise<MessageDoc> => (await platform.db.messages.findOne({ _id: id }).lean()) as MessageDoc;
      await arrived;
      await doomed?.stop('SIGKILL');
      expect((await stored()).previewsAt).to.be.instanceOf(Date);
      await other?.start();
      for (let tries = 0; tries < 4 && (await stored()).previewsAt; tries++)
        await until(async () => (await stored()).previewsAt === undefined, 'the mark goes').catch(() => undefined);
      await until(async () => (await stored()).obAt === undefined, 'the event is delivered');
      expect(await stored()).to.deep.include({ previews: [{ url: `${site.url}/page`, title: 'found' }], editedAt: null });
      expect(site.asked).to.deep.equal(['/page', '/page']);
    } finally {
      await stack.close();
      await platform.close();
      await site.close();
    }
  });
});
