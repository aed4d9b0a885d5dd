import { expect } from 'chai';
import type { Page } from 'playwright-core';
import type { Channel } from '../../lib/contract/channel.ts';
import { useWebFixture } from './web-fixture.ts';

describe('web: changes by a moderator show in another window at once', () => {
  let general = '';
  let page: Page;
  const fixture = useWebFixture();
  const change = <T>(method: string, path: string, body?: unknown): Promise<T> => fixture.request<T>(fixture.ada, method, path, body);
  const overwrite = (channelId: string, deny: number): Promise<unknown> =>
    change('PUT', `/api/channels/${channelId}/overwrites/${fixture.server.id}`, { allow: 0, deny });

  before(() => {
    general = fixture.server.channels.find(({ kind }) => kind === 'text')?.id ?? '';
  });
  beforeEach(async () => {
    page = await fixture.openChannel(fixture.bob, general);
    await page.getByRole('heading', { name: 'general', level: 1 }).waitFor();
  });

  it('removes the composer when Send Messages is denied, and shows it when it is allowed again', async () => {
    const field = page.getByRole('textbox', { name: 'Message general' });
    await field.waitFor();
    await overwrite(general, 2);
    await field.waitFor({ state: 'detached' });
    await overwrite(general, 0);
    await field.waitFor();
  });

  it('updates the list when a channel is created, renamed, hidden, shown and deleted, and leaves a channel that becomes hidden', async () => {
    const list = page.getByRole('navigation', { name: 'Channels' });
    const channel = await change<Channel>('POST', `/api/servers/${fixture.server.id}/channels`, { name: 'news', kind: 'text' });
    await list.getByRole('link', { name: 'news' }).click();
    await page.getByRole('heading', { name: 'news', level: 1 }).waitFor();
    await change('PATCH', `/api/channels/${channel.id}`, { name: 'latest' });
    await page.getByRole('heading', { name: 'latest', level: 1 }).waitFor();
    await overwrite(channel.id, 1);
    await page.getByRole('heading', { name: 'general', level: 1 }).waitFor();
    expect(await list.getByRole('link', { name: 'latest' }).count()).to.equal(0);
    await overwrite(channel.id, 0);
    await list.getByRole('link', { name: 'latest' }).waitFor();
    await change('DELETE', `/api/channels/${channel.id}`);
    await list.getByRole('link', { name: 'latest' }).waitFor({ state: 'detached' });
  });

  it('offers the server settings when a role allows them, and removes them with the role', async () => {
    const settings = page.getByRole('link', { name: 'Server settings' });
    expect(await settings.count()).to.equal(0);
    const at = `/api/servers/${fixture.server.id}`;
    const role = await change<{ id: string }>('POST', `${at}/roles`, { name: 'Helpers', permissions: 1 << 8 });
    const held = `${at}/members/${fixture.bob.id}/roles/${role.id}`;
    await change('PUT', held);
    await settings.waitFor();
    await change('DELETE', held);
    await settings.waitFor({ state: 'detached' });
  });

  it('leaves the server of a kicked member, and shows the notice', async () => {
    await change('DELETE', `/api/servers/${fixture.server.id}/members/${fixture.bob.id}`);
    await page.getByRole('heading', { name: 'Hello, Bob' }).waitFor();
    expect(await page.getByRole('navigation', { name: 'Servers' }).getByRole('link', { name: 'Harbour' }).count()).to.equal(0);
    await page.getByRole('link', { name: /^Direct messages, 1 unread/ }).waitFor();
  });
});
