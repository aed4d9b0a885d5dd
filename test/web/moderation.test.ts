import { expect } from 'chai';
import type { Page } from 'playwright-core';
import type { Channel } from '../../lib/contract/channel.ts';
import type { Server } from '../../lib/contract/server.ts';
import { type Person, type Site, signUp, startSite, usePages } from './browser.ts';

describe('web: changes by a moderator show in another window at once', () => {
  let site: Site;
  let owner: Person;
  let member: Person;
  let server: Server;
  let general = '';
  const open = usePages();

  before(async () => {
    site = await startSite();
    [owner, member] = await Promise.all([signUp(site, 'Olga'), signUp(site, 'Max')]);
    ({ body: server } = await site.call<Server>('POST', '/api/servers', { as: owner.as, body: { name: 'Order' } }));
    general = server.channels.find(({ kind }) => kind === 'text')?.id ?? '';
  });
  after(() => site?.close());

  const join = async (): Promise<void> => {
    const invite = await site.call<{ code: string }>('POST', `/api/servers/${server.id}/invites`, { as: owner.as, body: {} });
    expect((await site.call('POST', `/api/invites/${invite.body.code}`, { as: member.as })).status).to.equal(200);
  };
  const openPage = async (): Promise<Page> => {
    const page = await open(site, member);
    await page.goto(`/servers/${server.id}/${general}`);
    await page.getByRole('heading', { name: 'general', level: 1 }).waitFor();
    return page;
  };
  const overwrite = (channelId: string, deny: number): Promise<unknown> =>
    site.call('PUT', `/api/channels/${channelId}/overwrites/${server.id}`, { as: owner.as, body: { allow: 0, deny } });

  it('removes the composer when Send Messages is denied, and shows it when it is allowed again', async () => {
    await join();
    const page = await openPage();
    const field = page.getByRole('textbox', { name: 'Message general' });
    await field.waitFor();
    await overwrite(general, 2);
    await field.waitFor({ state: 'detached' });
    await overwrite(general, 0);
    await field.waitFor();
  });

  it('updates the list when a channel is created, renamed, hidden, shown and deleted, and leaves a channel that becomes hidden', async () => {
    await join();
    const page = await openPage();
    const list = page.getByRole('navigation', { name: 'Channels' });
    const { body: channel } = await site.call<Channel>('POST', `/api/servers/${server.id}/channels`, {
      as: owner.as,
      body: { name: 'news', kind: 'text' },
    });
    await list.getByRole('link', { name: 'news' }).click();
    await page.getByRole('heading', { name: 'news', level: 1 }).waitFor();
    await site.call('PATCH', `/api/channels/${channel.id}`, { as: owner.as, body: { name: 'latest' } });
    await page.getByRole('heading', { name: 'latest', level: 1 }).waitFor();
    await overwrite(channel.id, 1);
    await page.getByRole('heading', { name: 'general', level: 1 }).waitFor();
    expect(await list.getByRole('link', { name: 'latest' }).count()).to.equal(0);
    await overwrite(channel.id, 0);
    await list.getByRole('link', { name: 'latest' }).waitFor();
    await site.call('DELETE', `/api/channels/${channel.id}`, { as: owner.as });
    await list.getByRole('link', { name: 'latest' }).waitFor({ state: 'detached' });
  });

  it('offers the server settings when a role allows them, and removes them with the role', async () => {
    await join();
    const page = await openPage();
    const settings = page.getByRole('link', { name: 'Server settings' });
    expect(await settings.count()).to.equal(0);
    const { body: role } = await site.call<{ id: string }>('POST', `/api/servers/${server.id}/roles`, {
      as: owner.as,
      body: { name: 'Helpers', permissions: 1 << 8 },
    });
    const held = `/api/servers/${server.id}/members/${member.id}/roles/${role.id}`;
    await site.call('PUT', held, { as: owner.as });
    await settings.waitFor();
    await site.call('DELETE', held, { as: owner.as });
    await settings.waitFor({ state: 'detached' });
  });

  it('leaves the server of a kicked member, and shows the notice', async () => {
    await join();
    const page = await openPage();
    await site.call('DELETE', `/api/servers/${server.id}/members/${member.id}`, { as: owner.as });
    await page.getByRole('heading', { name: 'Hello, Max' }).waitFor();
    expect(await page.getByRole('navigation', { name: 'Servers' }).getByRole('link', { name: 'Order' }).count()).to.equal(0);
    await page.getByRole('link', { name: /^Direct messages, 1 unread/ }).waitFor();
  });
});
