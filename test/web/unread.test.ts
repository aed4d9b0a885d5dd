import { expect } from 'chai';
import type { Page } from 'playwright-core';
import type { Message } from '../../lib/contract/message.ts';
import type { ReadState } from '../../lib/contract/read.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { useWebFixture, type WebFixture } from './web-fixture.ts';

describe('web: unread messages', () => {
  const fixture = useWebFixture();
  const { request, newChannel, openPage, openChannel } = fixture;

  const post = (as: WebFixture['ada'], channelId: string, content: string): Promise<Message> =>
    request<Message>(as, 'POST', `/api/channels/${channelId}/messages`, { content });
  const readTo = async (channelId: string): Promise<string | null | undefined> =>
    (await request<ReadState[]>(fixture.bob, 'GET', '/api/users/@me/reads')).find((one) => one.channelId === channelId)?.readMessageId;
  const waitForTitle = (page: Page, wanted: RegExp): Promise<void> =>
    waitUntil(async () => wanted.test(await page.title()), `the title ${wanted}`);

  it('counts an own message as read, without the line "New" above it', async () => {
    const channelId = await newChannel('own');
    const before = await post(fixture.ada, channelId, 'before');
    await request(fixture.bob, 'PUT', `/api/channels/${channelId}/read`, { messageId: before.id });
    const mine = await post(fixture.bob, channelId, 'mine');
    await waitUntil(async () => (await readTo(channelId)) === mine.id, 'the mark');
    const page = await openChannel(fixture.bob, channelId);
    await page.getByRole('article').getByText('mine').waitFor();
    expect(await page.locator('.new-line').count()).to.equal(0);
  });

  it('marks a channel as read in every window', async () => {
    const [channelId, other] = [await newChannel('both'), await newChannel('aside')];
    const aside = await openChannel(fixture.bob, other);
    await aside.getByRole('link', { name: 'both', exact: true }).waitFor();
    await post(fixture.ada, channelId, `news for <@${fixture.bob.id}>`);
    await aside.getByRole('link', { name: 'both 1 mention' }).waitFor();
    const reader = await openChannel(fixture.bob, channelId);
    await reader.getByRole('article').getByText('news for').waitFor();
    await reader.bringToFront();
    await aside.getByRole('link', { name: 'both', exact: true }).waitFor();
  });

  it('shows the number of unread direct messages and mentions in the title of every page', async () => {
    const [channelId, other] = [await newChannel('counted'), await newChannel('title')];
    const dm = await request<{ id: string }>(fixture.ada, 'POST', '/api/users/@me/channels', { recipientId: fixture.bob.id });
    const page = await openChannel(fixture.bob, other);
    await waitForTitle(page, /^title · Parlance$/);
    await post(fixture.ada, dm.id, 'psst');
    await waitForTitle(page, /^\(1\) title · Parlance$/);
    await post(fixture.ada, channelId, `<@${fixture.bob.id}>`);
    await waitForTitle(page, /^\(2\) title · Parlance$/);
    await page.getByRole('link', { name: 'Your settings' }).click();
    await waitForTitle(page, /^\(2\) /);
    await page.goto(`/dms/${dm.id}`);
    await waitForTitle(page, /^\(1\) Ada Lovelace · Parlance$/);
  });

  it('updates the badges of other channels when a mention is edited out, or the mention or the newest message is deleted', async () => {
    const other = await newChannel('looking');
    const channels = { edited: await newChannel('edited'), deleted: await newChannel('deleted'), newest: await newChannel('newest') };
    const page = await openChannel(fixture.bob, other);
    await page.getByRole('link', { name: 'newest', exact: true }).waitFor();
    const mention = `<@${fixture.bob.id}>`;
    const edited = await post(fixture.ada, channels.edited, mention);
    await post(fixture.ada, channels.deleted, 'first');
    const deleted = await post(fixture.ada, channels.deleted, mention);
    const newest = await post(fixture.ada, channels.newest, 'gone soon');
    for (const name of ['edited 1 mention', 'deleted 1 mention', 'newest unread'])
      await page.getByRole('link', { name, exact: true }).waitFor();
    /** The number in the title, which earlier tests have raised, too. */
    const counted = async (): Promise<number> => Number(/^\((\d+)\) looking /.exec(await page.title())?.[1] ?? 0);
    await waitUntil(async () => (await counted()) >= 2, 'the mentions in the title');
    const before = await counted();
    await request(fixture.ada, 'PATCH', `/api/channels/${channels.edited}/messages/${edited.id}`, { content: 'nobody' });
    await page.getByRole('link', { name: 'edited unread', exact: true }).waitFor();
    await request(fixture.ada, 'DELETE', `/api/channels/${channels.deleted}/messages/${deleted.id}`);
    await page.getByRole('link', { name: 'deleted unread', exact: true }).waitFor();
    await request(fixture.ada, 'DELETE', `/api/channels/${channels.newest}/messages/${newest.id}`);
    await page.getByRole('link', { name: 'newest', exact: true }).waitFor();
    await waitUntil(async () => (await counted()) === before - 2, 'the title without the mentions');
  });

  it('shows a pinned message in the panel as it was edited', async () => {
    const channelId = await newChannel('pinned');
    const message = await post(fixture.ada, channelId, 'before');
    await request(fixture.ada, 'PUT', `/api/channels/${channelId}/pins/${message.id}`);
    const page = await openChannel(fixture.bob, channelId);
    await page.getByRole('button', { name: /pinned/i }).click();
    const panel = page.getByRole('complementary', { name: 'Pinned messages' });
    await panel.getByText('before').waitFor();
    await request(fixture.ada, 'PATCH', `/api/channels/${channelId}/messages/${message.id}`, { content: 'after' });
    await panel.getByText('after').waitFor();
  });

  it('shows that somebody types for a while only', async () => {
    const dm = await request<{ id: string }>(fixture.ada, 'POST', '/api/users/@me/channels', { recipientId: fixture.bob.id });
    const channelId = await newChannel('typed');
    for (const [id, path] of [
      [channelId, `/servers/${fixture.server.id}/${channelId}`],
      [dm.id, `/dms/${dm.id}`],
    ] as const) {
      const page = await openPage(fixture.bob);
      await page.goto(path);
      await page.getByRole('textbox', { name: /^Message / }).waitFor();
      await request(fixture.ada, 'POST', `/api/channels/${id}/typing`);
      await page.getByText('Ada Lovelace is typing…').waitFor();
      await page.evaluate('{ const now = Date.now; Date.now = () => now() - 3_600_000; }'); // the clock is set back
      await page.getByText('Ada Lovelace is typing…').waitFor({ state: 'detached' });
    }
  });

  it('hides a long spoiler in the preview of a reply', async () => {
    const channelId = await newChannel('spoiled');
    const original = await post(fixture.ada, channelId, `||${'secret '.repeat(60)}||`);
    await request(fixture.ada, 'POST', `/api/channels/${channelId}/messages`, { content: 'answer', replyTo: original.id });
    const page = await openChannel(fixture.bob, channelId);
    await page.getByRole('article').getByText('answer').waitFor();
    await page.getByRole('link', { name: 'Ada Lovelace (spoiler)' }).waitFor();
    await request(fixture.ada, 'PATCH', `/api/channels/${channelId}/messages/${original.id}`, {
      content: `now ||${'secret '.repeat(60)}||`,
    });
    await page.getByRole('link', { name: 'Ada Lovelace now (spoiler)' }).waitFor();
    expect(await page.getByText(/secret/).count()).to.equal(0);
  });

  it('says that messages from the platform cannot be replied to', async () => {
    await request(fixture.ada, 'PUT', `/api/servers/${fixture.server.id}/bans/${fixture.bob.id}`, {});
    const page = await openPage(fixture.bob);
    await page.goto('/dms');
    await page.getByRole('navigation', { name: 'Direct messages' }).getByRole('link').filter({ hasNotText: 'Ada' }).click();
    await page.getByText('You can’t reply to messages from Parlance.').waitFor();
    expect(await page.getByRole('textbox').count()).to.equal(0);
    expect(await page.getByText('Offline').count()).to.equal(0);
    const channelId = page.url().split('/').at(-1);
    const refused = await fixture.site.call('POST', `/api/channels/${channelId}/messages`, { as: fixture.bob.as, body: { content: 'x' } });
    expect(refused.status).to.equal(403);
    await waitUntil(async () => (await readTo(channelId ?? '')) !== null, 'the mark');
  });
});
