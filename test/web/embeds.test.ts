import { createServer, type Server as HttpServer } from 'node:http';
import { expect } from 'chai';
import sharp from 'sharp';
import { freePort } from '../../apps/local/probe.ts';
import type { Application } from '../../lib/contract/application.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { useWebFixture } from './web-fixture.ts';

describe('web: embed images', () => {
  let host: HttpServer;
  let images: string;
  let bot: string;
  const fixture = useWebFixture(async () => {
    const picture = await sharp({ create: { width: 40, height: 20, channels: 3, background: '#16a34a' } })
      .png()
      .toBuffer();
    const port = await freePort();
    images = `http://localhost:${port}`;
    host = createServer(({ url }, response) => {
      if (url === '/there.png') response.writeHead(200, { 'Content-Type': 'image/png' }).end(picture);
      else response.writeHead(404).end();
    });
    await new Promise<void>((resolve) => host.listen(port, 'localhost', resolve));
    return { OUTBOUND_ALLOW: `localhost:${port}` };
  });
  before(async () => {
    const { id, token } = await fixture.request<Application & { token: string }>(fixture.ada, 'POST', '/api/applications', {
      name: 'Painter',
    });
    await fixture.request(fixture.ada, 'POST', `/api/applications/${id}/authorize`, { serverId: fixture.server.id, permissions: 3 });
    bot = `Bot ${token}`;
  });
  after(() => host?.close());

  it('loads embed images through the proxy, retries once after 503, and removes the box of an image that does not exist', async () => {
    const channelId = await fixture.newChannel('pictures');
    for (const name of ['there.png', 'nowhere.png']) {
      const body = { embeds: [{ title: name, image: { url: `${images}/${name}` } }] };
      expect((await fixture.site.call('POST', `/api/channels/${channelId}/messages`, { as: bot, body })).status).to.equal(201);
    }
    const page = await fixture.openPage(fixture.bob);
    const tries = new Map<string, number>();
    await page.route('**/images/**', (route) => {
      const url = route.request().url();
      tries.set(url, (tries.get(url) ?? 0) + 1);
      return tries.get(url) === 1 ? route.fulfill({ status: 503 }) : route.continue();
    });
    await page.goto(`/servers/${fixture.server.id}/${channelId}`);
    const image = (name: string) => page.getByRole('article').filter({ hasText: name }).locator('img.embed-image');
    await page.locator('img.embed-image.gone').waitFor({ state: 'attached' });
    expect(await image('nowhere.png').isVisible()).to.equal(false);
    const there = image('there.png');
    await waitUntil(async () => (await there.evaluate((element: { naturalWidth: number }) => element.naturalWidth)) === 40, 'the image');
    expect(await there.isVisible()).to.equal(true);
    expect([...tries.values()]).to.deep.equal([2, 2]);
  });
});
