import { expect } from 'chai';
import type { Page } from 'playwright-core';
import type { Message } from '../../lib/contract/message.ts';
import type { ReadState } from '../../lib/contract/read.ts';
import { until } from '../harness/scene.ts';
import { type Harbour, useHarbour } from './harbour.ts';

describe('web: what is unread', function () {
  this.timeout(180_000);
  const harbour = useHarbour();
  const { ask, newChannel, screen, open } = harbour;

  const post = (as: Harbour['ada'], channelId: string, content: string): Promise<Message> =>
    ask<Message>(as, 'POST', `/api/channels/${channelId}/messages`, { content });
  const readTo = async (channelId: string): Promise<string | null | undefined> =>
    (await ask<ReadState[]>(harbour.bob, 'GET', '/api/users/@me/reads')).find((one) => one.channelId === channelId)?.readMessageId;
  const title = (page: Page, wanted: RegExp): Promise<void> => until(async () => wanted.test(await page.title()), `the title ${wanted}`);

  it('an own post is read when the page is opened, and "New" is not above it', async () => {
    const channelId = await newChannel('own');
    const before = await post(harbour.ada, channelId, 'before');
    await ask(harbour.bob, 'PUT', `/api/channels/${channelId}/read`, { messageId: before.id });
    const mine = await post(harbour.bob, channelId, 'mine');
    await until(async () => (await readTo(channelId)) === mine.id, 'the mark');
    const page = await open(harbour.bob, channelId);
    await page.getByRole('article').getByText('mine').waitFor();
    expect(await page.locator('.new-line').count()).to.equal(0);
  });

  it('a channel that is read in one window is read in the other', async () => {
    const [channelId, other] = [await newChannel('both'), await newChannel('aside')];
    const aside = await open(harbour.bob, other);
    await aside.getByRole('link', { name: 'both', exact: true }).waitFor();
    await post(harbour.ada, channelId, `news for <@${harbour.bob.id}>`);
    await aside.getByRole('link', { name: 'both 1 mentions' }).waitFor();
    const reader = await open(harbour.bob, channelId);
    await reader.getByRole('article').getByText('news for').waitFor();
    await reader.bringToFront();
    await aside.getByRole('link', { name: 'both', exact: true }).waitFor();
  });

  it('the title of every page counts unread direct messages and mentions', async () => {
    const [channelId, other] = [await newChannel('counted'), await newChannel('title')];
    const dm = await ask<{ id: string }>(harbour.ada, 'POST', '/api/users/@me/channels', { recipientId: harbour.bob.id });
    const page = await open(harbour.bob, other);
    await title(page, /^title · Parlance$/);
    await post(harbour.ada, dm.id, 'psst');
    await title(page, /^\(1\) title · Parlance$/);
    await post(harbour.ada, channelId, `<@${harbour.bob.id}>`);
    await title(page, /^\(2\) title · Parlance$/);
    await page.getByRole('link', { name: 'Your settings' }).click();
    await title(page, /^\(2\) /);
    await page.goto(`/dms/${dm.id}`);
    await title(page, /^\(1\) Ada Lovelace · Parlance$/);
  });

  it('the messages of the platform cannot be answered, and the page says so', async () => {
    await ask(harbour.ada, 'PUT', `/api/servers/${harbour.home.id}/bans/${harbour.bob.id}`, {});
    const page = await screen(harbour.bob);
    await page.goto('/dms');
    await page.getByRole('navigation', { name: 'Direct messages' }).getByRole('link').filter({ hasNotText: 'Ada' }).click();
    await page.getByText('You can’t reply to messages from Parlance.').waitFor();
    expect(await page.getByRole('textbox').count()).to.equal(0);
    expect(await page.getByText('Offline').count()).to.equal(0);
    const channelId = page.url().split('/').at(-1);
    const refused = await harbour.site.call('POST', `/api/channels/${channelId}/messages`, { as: harbour.bob.as, body: { content: 'x' } });
    expect(refused.status).to.equal(403);
    await until(async () => (await readTo(channelId ?? '')) !== null, 'the mark');
  });
});
