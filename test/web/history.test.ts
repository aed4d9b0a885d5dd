import { expect } from 'chai';
import type { Locator, Page } from 'playwright-core';
import type { Channel } from '../../lib/contract/channel.ts';
import type { Message } from '../../lib/contract/message.ts';
import type { ReadState } from '../../lib/contract/read.ts';
import type { Server } from '../../lib/contract/server.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { type Person, type Site, signUp, startSite, usePages } from './browser.ts';

const messageCount = 170;

describe('web: the message list', () => {
  let site: Site;
  let ada: Person;
  let ben: Person;
  let server: Server;
  let long: { id: string; path: string; messages: string[] };
  const open = usePages();

  const post = async <T>(as: Person, path: string, body: unknown): Promise<T> => {
    const answer = await site.call<T>('POST', path, { as: as.as, body });
    if (answer.status >= 300) throw new Error(`${path}: ${answer.status}`);
    return answer.body;
  };
  const sendMessage = (as: Person, channelId: string, content: string): Promise<Message> =>
    post<Message>(as, `/api/channels/${channelId}/messages`, { content });
  const makeChannel = async (name: string, contentMode = 'default'): Promise<{ id: string; path: string }> => {
    const { id } = await post<Channel>(ada, `/api/servers/${server.id}/channels`, { name, kind: 'text', parentId: null });
    await site.call('PATCH', `/api/channels/${id}`, { as: ada.as, body: { contentMode } });
    return { id, path: `/servers/${server.id}/${id}` };
  };

  before(async () => {
    site = await startSite({ RATE_LIMIT: 'off' });
    [ada, ben] = await Promise.all([signUp(site, 'Ada'), signUp(site, 'Ben')]);
    server = await post<Server>(ada, '/api/servers', { name: 'Archive' });
    const { code } = await post<{ code: string }>(ada, `/api/servers/${server.id}/invites`, {});
    await post(ben, `/api/invites/${code}`, {});
    const channel = await makeChannel('long');
    long = { ...channel, messages: [] };
    for (let at = 0; at < messageCount; at += 10) {
      const some = await Promise.all(
        Array.from({ length: 10 }, (_, more) =>
          sendMessage(more % 3 ? ada : ben, channel.id, `number ${at + more} ${'word '.repeat((at + more) % 30)}`),
        ),
      );
      long.messages.push(...some.map(({ id }) => id).sort());
    }
  });
  after(() => site?.close());

  const openPage = async (as: Person, path: string): Promise<Page> => {
    const page = await open(site, as);
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
    const page = await openPage(ada, long.path);
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
    const page = await openPage(ada, long.path);
    await message(page, messageCount - 1).waitFor();
    await scroller(page).hover();
    await page.mouse.wheel(0, -600);
    await page.getByRole('button', { name: 'Jump to newest' }).waitFor();
    const before = await visibleTops(page);
    for (const text of ['late one', 'late two']) await sendMessage(ben, long.id, text);
    await page.getByText('2 new messages').waitFor();
    expect(await largestShift(page, before)).to.be.below(2);
    await page.getByRole('button', { name: 'Jump to newest' }).click();
    await page.getByRole('article').getByText('late two').waitFor();
    await sendMessage(ben, long.id, 'late three');
    await page.getByRole('article').getByText('late three').waitFor();
    await page.getByText(/new messages?$/).waitFor({ state: 'hidden' });
  });

  it('opens a link to an old message in the middle of the view, and offers to jump to the newest', async () => {
    const page = await openPage(ada, `${long.path}?message=${long.messages[40]}`);
    await message(page, 40).waitFor();
    await page.getByText('You’re viewing older messages').waitFor();
    const [box, view] = [await message(page, 40).boundingBox(), await scroller(page).boundingBox()];
    expect(Math.abs((box?.y ?? 0) + (box?.height ?? 0) / 2 - ((view?.y ?? 0) + (view?.height ?? 0) / 2))).to.be.below(40);
    await page.getByRole('button', { name: 'Jump to newest' }).click();
    await message(page, messageCount - 1).waitFor();
  });

  it('opens at the first unread message, and marks the channel as read at the end', async () => {
    const room = await makeChannel('unread');
    const first = await sendMessage(ada, room.id, 'read by Ben');
    await site.call('PUT', `/api/channels/${room.id}/read`, { as: ben.as, body: { messageId: first.id } });
    for (let at = 0; at < 40; at++) await sendMessage(ada, room.id, `unread ${at}`);
    const page = await openPage(ben, room.path);
    const line = page.getByText('New', { exact: true });
    await line.waitFor();
    expect(await line.isVisible()).to.equal(true);
    await page.getByRole('article').getByText('unread 0', { exact: true }).waitFor();
    const marked = page.waitForRequest((request) => request.method() === 'PUT' && request.url().endsWith(`/channels/${room.id}/read`));
    await page.getByRole('button', { name: 'Jump to newest' }).click();
    await page.getByRole('article').getByText('unread 39', { exact: true }).waitFor();
    await marked;
    // The next read mark is not due yet when the page is closed, so it is sent then.
    const last = await sendMessage(ada, room.id, 'last word');
    await page.getByRole('article').getByText('last word', { exact: true }).waitFor();
    await page.goto('about:blank');
    const readByBen = async (): Promise<string | null | undefined> => {
      const { body } = await site.call<ReadState[]>('GET', '/api/users/@me/reads', { as: ben.as });
      return body.find(({ channelId }) => channelId === room.id)?.readMessageId;
    };
    await waitUntil(async () => (await readByBen()) === last.id, 'the last mark');
  });

  it('moves by keyboard between messages, to the tools and the menu of a message', async () => {
    const page = await openPage(ada, long.path);
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
    await sendMessage(ben, covered.id, 'the butler did it');
    await sendMessage(ben, adult.id, 'for adults');
    const page = await openPage(ada, covered.path);
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
