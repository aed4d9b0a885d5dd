import { expect } from 'chai';
import type { Locator, Page } from 'playwright-core';
import type { Message } from '../../lib/contract/message.ts';
import type { ReadState } from '../../lib/contract/read.ts';
import { insertMessages } from '../harness/insert-messages.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { useWebFixture } from './web-fixture.ts';

/** The position of the only unread message that mentions Bob. */
const mentionAt = 60;

describe('web: catching up on many unread messages', () => {
  const fixture = useWebFixture();
  const { request, newChannel, openPage, openChannel } = fixture;

  const post = (as: typeof fixture.ada, channelId: string, content: string): Promise<Message> =>
    request<Message>(as, 'POST', `/api/channels/${channelId}/messages`, { content });
  const markRead = (channelId: string, messageId: string): Promise<unknown> =>
    request(fixture.bob, 'PUT', `/api/channels/${channelId}/read`, { messageId });
  /** Returns a channel with 60 messages that Bob has read and `count` that he has not, one of which mentions him, and the ids of the latter. */
  const channelWithUnread = async (name: string, count = 130): Promise<{ channelId: string; unread: string[] }> => {
    const channelId = await newChannel(name);
    const insert = (contents: string[]): Promise<string[]> =>
      insertMessages(
        fixture.site.platform,
        { channelId, serverId: fixture.server.id },
        contents.map((content) => ({ authorId: fixture.ada.id, content })),
      );
    await insert(Array.from({ length: 59 }, (_, at) => `old ${at}`));
    await markRead(channelId, (await post(fixture.ada, channelId, 'last read')).id);
    const unread = await insert(
      Array.from({ length: count - 1 }, (_, at) => (at === mentionAt ? `<@${fixture.bob.id}> look` : `unread ${at}`)),
    );
    const last = await post(fixture.ada, channelId, `unread ${count - 1}`);
    return { channelId, unread: [...unread, last.id] };
  };
  const readState = async (channelId: string): Promise<ReadState | undefined> =>
    (await request<ReadState[]>(fixture.bob, 'GET', '/api/users/@me/reads')).find((one) => one.channelId === channelId);
  const scroller = (page: Page): Locator => page.getByRole('group', { name: /^Messages in/ });
  const waitForText = (page: Page, text: string): Promise<void> => page.getByRole('article').getByText(text, { exact: true }).waitFor();
  /** Returns the text of the message below the line "New". */
  const firstNew = async (page: Page): Promise<string | undefined> => {
    await page.locator('.new-line').waitFor();
    return page
      .locator('.new-line + article')
      .getByText(/unread|look/)
      .first()
      .innerText();
  };
  /** Scrolls down in steps until `isDone`. */
  const scrollDown = async (page: Page, isDone: () => Promise<boolean>): Promise<void> => {
    await scroller(page).hover();
    await waitUntil(async () => {
      await page.mouse.wheel(0, 300);
      return isDone();
    }, 'the end of scrolling');
  };

  it('opens at the first unread message, keeps a mention further down, and marks what came into view up to the present', async () => {
    const { channelId, unread } = await channelWithUnread('far');
    const page = await openChannel(fixture.bob, channelId);
    expect(await firstNew(page)).to.equal('unread 0');
    expect(await page.getByText('unread 0', { exact: true }).isVisible()).to.equal(true);
    await waitUntil(async () => ((await readState(channelId))?.readMessageId ?? '') >= (unread[0] ?? ''), 'the mark of what is in view');
    expect(await readState(channelId)).to.include({ mentions: 1 });
    await page.getByRole('link', { name: 'far 1 mention' }).waitFor();
    expect(((await readState(channelId))?.readMessageId ?? '') < (unread[mentionAt] ?? '')).to.equal(true);
    await scrollDown(page, () => page.getByRole('link', { name: 'far unread' }).isVisible());
    await scrollDown(page, async () => (await readState(channelId))?.readMessageId === unread.at(-1));
    await waitForText(page, 'unread 129');
    await page.getByRole('link', { name: 'far', exact: true }).waitFor();
    await post(fixture.ada, channelId, 'live again');
    await waitForText(page, 'live again');
  });

  it('jumps to the present and back, and keeps a mention in between unread', async () => {
    const { channelId, unread } = await channelWithUnread('jumped');
    const page = await openChannel(fixture.bob, channelId);
    await waitForText(page, 'unread 0');
    await page.getByRole('button', { name: 'Jump to newest' }).click();
    await waitForText(page, 'unread 129');
    await page.getByText('1 unread mention above').waitFor();
    expect(await readState(channelId)).to.include({ mentions: 1 });
    await post(fixture.ada, channelId, 'one more');
    await waitForText(page, 'one more');
    expect(((await readState(channelId))?.readMessageId ?? '') < (unread[mentionAt] ?? '')).to.equal(true);
    await page.getByRole('button', { name: 'Jump to first unread' }).click();
    await page.getByText('1 unread mention above').waitFor({ state: 'detached' });
    await scrollDown(page, () => page.getByRole('link', { name: 'jumped unread' }).isVisible());
    await page.getByRole('button', { name: 'Jump to newest' }).click();
    await page.getByRole('link', { name: 'jumped', exact: true }).waitFor();
  });

  it('says that mentions are above only if they are', async () => {
    const { channelId, unread } = await channelWithUnread('linked', 120);
    const page = await openPage(fixture.bob);
    await page.goto(`/servers/${fixture.server.id}/${channelId}?message=${unread[mentionAt - 40]}`);
    await page.getByText('Unread messages above').waitFor();
    await page.goto(`/servers/${fixture.server.id}/${channelId}?message=${unread[mentionAt + 40]}`);
    await page.getByText('1 unread mention above').waitFor();
  });

  it('marks everything as read when told to', async () => {
    const { channelId } = await channelWithUnread('skipped');
    const page = await openChannel(fixture.bob, channelId);
    await waitForText(page, 'unread 0');
    await page.getByRole('button', { name: 'Jump to newest' }).click();
    await page.getByRole('button', { name: 'Mark as read' }).click();
    await page.getByRole('link', { name: 'skipped', exact: true }).waitFor();
    await waitUntil(async () => (await readState(channelId))?.mentions === 0, 'the mark');
  });

  it('opens a channel whose newest page is already loaded at the first unread message', async () => {
    const [{ channelId }, other] = [await channelWithUnread('seen-before', 1), await newChannel('elsewhere')];
    const page = await openChannel(fixture.bob, channelId);
    await waitForText(page, 'unread 0');
    await page.getByRole('link', { name: 'elsewhere', exact: true }).click();
    await page.getByRole('heading', { name: 'elsewhere' }).first().waitFor();
    for (let at = 1; at < 120; at++) await post(fixture.ada, channelId, `unread ${at}`);
    await page.getByRole('link', { name: 'seen-before unread' }).click();
    expect(await firstNew(page)).to.equal('unread 1');
    expect(other).to.be.a('string');
  });

  it('opens a conversation that was never read at its first message', async () => {
    const dm = await request<{ id: string }>(fixture.ada, 'POST', '/api/users/@me/channels', { recipientId: fixture.bob.id });
    const contents = Array.from({ length: 119 }, (_, at) => ({ authorId: fixture.ada.id, content: `unread ${at}` }));
    await insertMessages(fixture.site.platform, { channelId: dm.id, serverId: null }, contents);
    await post(fixture.ada, dm.id, 'unread 119');
    const page = await openPage(fixture.bob);
    await page.goto(`/dms/${dm.id}`);
    expect(await firstNew(page)).to.equal('unread 0');
    await page.getByText('This is the beginning of your conversation.').waitFor();
  });

  it('marks nothing while another window has the focus, and only what is in view afterwards', async () => {
    const { channelId, unread } = await channelWithUnread('behind', 1);
    const page = await openPage(fixture.bob);
    await page.addInitScript({ content: 'Document.prototype.hasFocus = () => !document.documentElement.dataset.behind' });
    await page.goto(`/servers/${fixture.server.id}/${channelId}`);
    await waitUntil(async () => (await readState(channelId))?.readMessageId === unread[0], 'the first mark');
    await page.evaluate("document.documentElement.dataset.behind = 'yes'; dispatchEvent(new Event('blur'))");
    for (let at = 1; at < 70; at++)
      await post(fixture.ada, channelId, at === mentionAt - 30 ? `<@${fixture.bob.id}> look` : `unread ${at}`);
    await waitForText(page, 'unread 69');
    expect((await readState(channelId))?.readMessageId).to.equal(unread[0]);
    await page.evaluate("delete document.documentElement.dataset.behind; dispatchEvent(new Event('focus'))");
    await page.getByText('1 unread mention above').waitFor();
    await page.getByRole('button', { name: 'Jump to first unread' }).click();
    expect(await firstNew(page)).to.equal('unread 1');
    await scrollDown(page, async () => (await readState(channelId))?.mentions === 0);
  });

  for (const [kind, away] of [
    ['the loaded messages', false],
    ['messages far from the present', true],
  ] as const)
    it(`shows an own message that is sent while the user looks at older ones: ${kind}`, async () => {
      const { channelId, unread } = await channelWithUnread(away ? 'far-up' : 'up', 70);
      await markRead(channelId, unread.at(-1) ?? '');
      const page = await openPage(fixture.bob);
      // The list is rendered after the message is stored, as on a slow machine.
      await page.addInitScript({
        content: 'const frames = requestAnimationFrame; window.requestAnimationFrame = (run) => setTimeout(() => frames(run), 300)',
      });
      await page.goto(`/servers/${fixture.server.id}/${channelId}${away ? `?message=${unread[0]}` : ''}`);
      await waitForText(page, away ? 'unread 0' : 'unread 69');
      for (let at = 0; at < 4; at++) {
        await scroller(page).hover();
        await page.mouse.wheel(0, -500);
        await page.getByRole('button', { name: 'Jump to newest' }).waitFor();
        await page.getByRole('textbox', { name: /^Message / }).fill(`mine ${at}`);
        await page.keyboard.press('Enter');
        await waitUntil(
          () =>
            page
              .getByRole('article')
              .getByText(`mine ${at}`, { exact: true })
              .last()
              .evaluate((one) => {
                const [row, box] = [one.getBoundingClientRect(), one.closest('.message-scroll')?.getBoundingClientRect()];
                return row.bottom <= (box?.bottom ?? 0) + 1;
              }),
          'the own message in view',
        );
      }
      await page.getByText(/new messages?$/).waitFor({ state: 'detached' });
    });

  it('counts only messages of others as new while the user looks at older ones', async () => {
    const { channelId, unread } = await channelWithUnread('counted', 70);
    await markRead(channelId, unread.at(-1) ?? '');
    const page = await openChannel(fixture.bob, channelId);
    await waitForText(page, 'unread 69');
    await scroller(page).hover();
    await page.mouse.wheel(0, -500);
    await page.getByRole('button', { name: 'Jump to newest' }).waitFor();
    // From another device.
    await post(fixture.bob, channelId, 'mine');
    await post(fixture.ada, channelId, 'unread by Bob');
    await page.getByText('1 new message', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Jump to newest' }).click();
    expect(await firstNew(page)).to.equal('unread by Bob');
  });
});
