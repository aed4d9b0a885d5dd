import { expect } from 'chai';
import type { Locator, Page } from 'playwright-core';
import type { Message } from '../../lib/contract/message.ts';
import type { ReadState } from '../../lib/contract/read.ts';
import { insertMessages } from '../harness/insert-messages.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import type { Person } from './browser.ts';
import { useWebFixture } from './web-fixture.ts';

const messageCount = 170;

describe('web: the message list', () => {
  let long: { id: string; path: string; messages: string[] };
  const fixture = useWebFixture();
  const { request } = fixture;

  const sendMessage = (as: Person, channelId: string, content: string): Promise<Message> =>
    request<Message>(as, 'POST', `/api/channels/${channelId}/messages`, { content });
  const makeChannel = async (name: string, contentMode = 'default'): Promise<{ id: string; path: string }> => {
    const id = await fixture.newChannel(name);
    if (contentMode !== 'default') await request(fixture.ada, 'PATCH', `/api/channels/${id}`, { contentMode });
    return { id, path: `/servers/${fixture.server.id}/${id}` };
  };

  before(async () => {
    const { site, server, ada, bob } = fixture;
    const channel = await makeChannel('long');
    const contents = Array.from({ length: messageCount - 1 }, (_, at) => ({
      authorId: (at % 10) % 3 ? ada.id : bob.id,
      content: `number ${at} ${'word '.repeat(at % 30)}`,
    }));
    const messages = await insertMessages(site.platform, { channelId: channel.id, serverId: server.id }, contents);
    const last = await sendMessage(bob, channel.id, `number ${messageCount - 1}`);
    await request(ada, 'PUT', `/api/channels/${channel.id}/read`, { messageId: last.id });
    long = { ...channel, messages: [...messages, last.id] };
  });

  const openPage = async (as: Person, path: string): Promise<Page> => {
    const page = await fixture.openPage(as);
    await page.goto(path);
    return page;
  };
  const scroller = (page: Page): Locator => page.getByRole('group', { name: /^Messages in/ });
  const message = (page: Page, number: number): Locator => page.locator(`#message-${long.messages[number]}`);
  /** Returns the vertical position of each message in view, by its id. */
  const visibleTops = (page: Page): Promise<Record<string, number>> =>
    scroller(page).evaluate((box) => {
      const view = box.getBoundingClientRect();
      const inView = [...box.querySelectorAll('article')].map((one) => [one.id, one.getBoundingClientRect().top] as const);
      return Object.fromEntries(inView.filter(([, top]) => top > view.top && top < view.bottom));
    });
  /** Returns how far the messages of `before` have moved, in pixels. */
  const largestShift = async (page: Page, before: Record<string, number>): Promise<number> => {
    const now = Object.fromEntries(
      await page.locator('article').evaluateAll((all) => all.map((one) => [one.id, one.getBoundingClientRect().top])),
    );
    return Math.max(...Object.entries(before).map(([id, top]) => Math.abs((now[id] ?? Number.POSITIVE_INFINITY) - top)));
  };

  it('loads older messages up to the beginning without moving the view, and renders few messages', async () => {
    const page = await openPage(fixture.ada, long.path);
    await message(page, messageCount - 1).waitFor();
    const { worst, most } = await scroller(page).evaluate(async (box) => {
      // No named functions here: the compiler wraps them in a helper that does not exist in the page.
      const view = box.getBoundingClientRect();
      const seen = { worst: 0, most: 0 };
      // Compare every frame with the previous one, including those in which a page of messages is inserted.
      for (let frames = 0; frames < 3_000 && (!box.querySelector('.list-start') || box.scrollTop > 0); frames++) {
        if (frames % 6 === 0) box.scrollTop -= 500;
        // The oldest message may lose its author line when messages are inserted above it, so it is skipped.
        const before = [...box.querySelectorAll('article')]
          .slice(1)
          .map((one) => [one.id, one.getBoundingClientRect().top] as const)
          .filter(([, top]) => top > view.top && top < view.bottom);
        await new Promise((done) => box.ownerDocument.defaultView?.requestAnimationFrame(done));
        const now = new Map([...box.querySelectorAll('article')].map((one) => [one.id, one.getBoundingClientRect().top]));
        for (const [id, top] of before) seen.worst = Math.max(seen.worst, Math.abs((now.get(id) ?? Number.POSITIVE_INFINITY) - top));
        seen.most = Math.max(seen.most, now.size);
      }
      return seen;
    });
    await page.getByText('This is the beginning of this channel.').waitFor();
    expect(worst).to.be.below(2);
    expect(most).to.be.below(180);
  });

  it('counts new messages while the user views older ones, without moving the view, and follows new ones again at the end', async () => {
    const page = await openPage(fixture.ada, long.path);
    await message(page, messageCount - 1).waitFor();
    await scroller(page).hover();
    await page.mouse.wheel(0, -600);
    await page.getByRole('button', { name: 'Jump to newest' }).waitFor();
    const before = await visibleTops(page);
    for (const text of ['late one', 'late two']) await sendMessage(fixture.bob, long.id, text);
    await page.getByText('2 new messages').waitFor();
    expect(await largestShift(page, before)).to.be.below(2);
    await page.getByRole('button', { name: 'Jump to newest' }).click();
    await page.getByRole('article').getByText('late two').waitFor();
    await sendMessage(fixture.bob, long.id, 'late three');
    await page.getByRole('article').getByText('late three').waitFor();
    await page.getByText(/new messages?$/).waitFor({ state: 'hidden' });
  });

  it('opens a link to an old message in the middle of the view, and offers to jump to the newest', async () => {
    const page = await openPage(fixture.ada, `${long.path}?message=${long.messages[40]}`);
    await message(page, 40).waitFor();
    await page.getByText('You’re viewing older messages').waitFor();
    const [box, view] = [await message(page, 40).boundingBox(), await scroller(page).boundingBox()];
    expect(Math.abs((box?.y ?? 0) + (box?.height ?? 0) / 2 - ((view?.y ?? 0) + (view?.height ?? 0) / 2))).to.be.below(40);
    await page.getByRole('button', { name: 'Jump to newest' }).click();
    await message(page, messageCount - 1).waitFor();
  });

  it('sends a read mark that is not due yet when the page is closed', async () => {
    const room = await makeChannel('closed');
    const page = await openPage(fixture.bob, room.path);
    await page.getByRole('textbox', { name: 'Message closed' }).waitFor();
    const marked = page.waitForRequest((one) => one.method() === 'PUT' && one.url().endsWith(`/channels/${room.id}/read`));
    await sendMessage(fixture.ada, room.id, 'first word');
    await marked;
    const last = await sendMessage(fixture.ada, room.id, 'last word');
    await page.getByRole('article').getByText('last word', { exact: true }).waitFor();
    await page.goto('about:blank');
    const readByBob = async (): Promise<string | null | undefined> =>
      (await request<ReadState[]>(fixture.bob, 'GET', '/api/users/@me/reads')).find(({ channelId }) => channelId === room.id)
        ?.readMessageId;
    await waitUntil(async () => (await readByBob()) === last.id, 'the last mark');
  });

  it('moves by keyboard between messages, to the tools and the menu of a message', async () => {
    const page = await openPage(fixture.ada, long.path);
    await message(page, messageCount - 1).waitFor();
    await scroller(page).focus();
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('ArrowUp');
    const focused = page.locator('article:focus');
    await focused.getByRole('toolbar').waitFor();
    await focused.getByRole('button', { name: 'More', exact: true }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('menuitem', { name: 'Reply' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('menuitem', { name: 'Reply' }).waitFor({ state: 'detached' });
  });

  it('hides the messages of a spoiler channel until clicked, and asks for confirmation in an age-restricted channel', async () => {
    const [covered, adult] = [await makeChannel('covered', 'spoiler'), await makeChannel('adult', 'age_restricted')];
    await sendMessage(fixture.bob, covered.id, 'the butler did it');
    await sendMessage(fixture.bob, adult.id, 'for adults');
    const page = await openPage(fixture.ada, covered.path);
    await page.getByRole('button', { name: /Click to show/ }).waitFor();
    expect(await page.getByText('the butler did it').count()).to.equal(0);
    await page.getByRole('button', { name: /Click to show/ }).click();
    await page.getByText('the butler did it').waitFor();
    await page.goto(adult.path);
    await page.getByRole('heading', { name: 'adult is age-restricted' }).waitFor();
    expect(await page.getByText('for adults', { exact: true }).count()).to.equal(0);
    await page.getByRole('button', { name: /18 or older/ }).click();
    await page.getByText('for adults', { exact: true }).waitFor();
    await page.reload();
    await page.getByText('for adults', { exact: true }).waitFor();
  });
});
