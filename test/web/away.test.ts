import { expect } from 'chai';
import type { Page } from 'playwright-core';
import type { Channel } from '../../lib/contract/channel.ts';
import type { Server } from '../../lib/contract/server.ts';
import type { RoleProcess } from '../harness/stack.ts';
import { type Person, signUp, usePages } from './browser.ts';
import { type Processes, startProcesses } from './processes.ts';

describe('web: gateway nodes are killed while people use a channel', () => {
  let site: Processes;
  let ada: Person;
  let server: Server;
  let channelId = '';
  const open = usePages();

  before(async () => {
    site = await startProcesses(2);
    ada = await signUp(site, 'Ada');
    ({ body: server } = await site.call<Server>('POST', '/api/servers', { as: ada.as, body: { name: 'Talk' } }));
    channelId = server.channels.find(({ kind }) => kind === 'text')?.id ?? '';
  });
  after(() => site?.close());

  const post = async (content: string): Promise<void> => {
    const { status } = await site.call('POST', `/api/channels/${channelId}/messages`, { as: ada.as, body: { content } });
    expect(status).to.equal(201);
  };
  /** Waits until the page is connected. After many failures it waits for up to 60 s, unless the browser tells it that the network is back. */
  const untilConnected = async (page: Page): Promise<void> => {
    await page.evaluate("dispatchEvent(new Event('online'))");
    await page.getByText('Connection lost').waitFor({ state: 'detached', timeout: 120_000 });
  };
  const numbers = (count: number): string[] => Array.from({ length: count }, (_, at) => `number ${String(at).padStart(3, '0')}`);

  it('shows messages that were posted and edited while all nodes were down, each once, in order', async () => {
    const page = await open(site, ada);
    await page.goto(`/servers/${server.id}/${channelId}`);
    const texts = numbers(60);
    const list = page.getByRole('log').or(page.locator('.message-list')).first();
    for (const text of texts.slice(0, 20)) await post(text);
    await list.getByText('number 019').waitFor();
    const [first] = (await site.call<{ id: string }[]>('GET', `/api/channels/${channelId}/messages?limit=100`, { as: ada.as })).body;
    // Kill both nodes, so that the page cannot reconnect at once.
    await Promise.all(site.gateways.map((node) => node.stop('SIGKILL')));
    await page.getByText('Connection lost').waitFor();
    for (const text of texts.slice(20, 40)) await post(text);
    await site.call('PATCH', `/api/channels/${channelId}/messages/${first?.id}`, { as: ada.as, body: { content: 'number 000 again' } });
    await page.getByRole('textbox', { name: 'Message general' }).fill('number written while away');
    await page.keyboard.press('Enter');
    await site.gateways[0]?.start();
    await untilConnected(page);
    await list.getByText('number written while away').waitFor();
    for (const text of texts.slice(40)) await post(text);
    await list.getByText('number 059').waitFor();
    const shownTexts = async (): Promise<string[]> => {
      const all = await page.locator('article .markup').allInnerTexts();
      return all.filter((text) => text.startsWith('number'));
    };
    expect(await shownTexts()).to.deep.equal(['number 000 again', ...texts.slice(1, 40), 'number written while away', ...texts.slice(40)]);
  });

  it('resumes the session after a restart and loads nothing again', async () => {
    const guest = await signUp(site, 'Gus');
    const invite = await site.call<{ code: string }>('POST', `/api/servers/${server.id}/invites`, { as: ada.as, body: {} });
    await site.call('POST', `/api/invites/${invite.body.code}`, { as: guest.as });
    const aside = await site.call<Channel>('POST', `/api/servers/${server.id}/channels`, {
      as: ada.as,
      body: { name: 'aside', kind: 'text' },
    });
    const page = await open(site, guest);
    const loaded: string[] = [];
    page.on('request', (request) => {
      const { pathname } = new URL(request.url());
      if (request.method() === 'GET' && pathname.startsWith('/api/') && pathname !== '/api/gateway') loaded.push(pathname);
    });
    await page.goto(`/servers/${server.id}/${channelId}`);
    await post('before the node is killed');
    await page.getByRole('article').getByText('before the node is killed').waitFor();
    await Promise.all(site.gateways.map((node) => node.stop('SIGKILL')));
    await page.getByText('Connection lost').waitFor();
    loaded.length = 0;
    await post('while no node is there');
    const body = { content: `for <@${guest.id}>` };
    await site.call('POST', `/api/channels/${aside.body.id}/messages`, { as: ada.as, body });
    await site.call('POST', `/api/servers/${server.id}/channels`, { as: ada.as, body: { name: 'made-meanwhile', kind: 'text' } });
    await site.gateways[0]?.start();
    await untilConnected(page);
    await page.getByRole('article').getByText('while no node is there').waitFor();
    await page.getByRole('link', { name: 'aside 1 mention' }).waitFor();
    await page.getByRole('link', { name: 'made-meanwhile', exact: true }).waitFor();
    expect(loaded).to.deep.equal([]);
  });

  it('reconnects to the other node when one of two is killed', async () => {
    // The tests above have left only the first node running.
    const [first, second] = site.gateways;
    await second?.start();
    const page = await open(site, ada);
    await page.goto(`/servers/${server.id}/${channelId}`);
    await page.getByText('number 059').waitFor();
    const killAndPost = async (node: RoleProcess | undefined): Promise<void> => {
      await node?.stop('SIGKILL');
      await post(`without ${node?.port}`);
      await page
        .getByRole('article')
        .filter({ hasText: `without ${node?.port}` })
        .waitFor({ timeout: 60_000 });
    };
    await killAndPost(first);
    await first?.start();
    await killAndPost(second);
  });
});
