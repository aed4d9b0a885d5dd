import { expect } from 'chai';
import type { Locator, Page } from 'playwright-core';
import type { Channel } from '../../lib/contract/channel.ts';
import type { Message } from '../../lib/contract/message.ts';
import type { ReadState } from '../../lib/contract/read.ts';
import type { Server } from '../../lib/contract/server.ts';
import { until } from '../harness/scene.ts';
import { type Person, type Site, signUp, startSite, useScreens } from './browser.ts';

const many = 170;

describe('web: the list of messages', function () {
  this.timeout(180_000);
  let site: Site;
  let ada: Person;
  let ben: Person;
  let server: Server;
  let long: { id: string; path: string; messages: string[] };
  const open = useScreens();

  const post = async <T>(as: Person, path: string, body: unknown): Promise<T> => {
    const answer = await site.call<T>('POST', path, { as: as.as, body });
    if (answer.status >= 300) throw new Error(`${path}: ${answer.status}`);
    return answer.body;
  };
  const say = (as: Person, channelId: string, content: string): Promise<Message> =>
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
    for (let at = 0; at < many; at += 10) {
      const some = await Promise.all(
        Array.from({ length: 10 }, (_, more) =>
          say(more % 3 ? ada : ben, channel.id, `number ${at + more} ${'word '.repeat((at + more) % 30)}`),
        ),
      );
      long.messages.push(...some.map(({ id }) => id).sort());
    }
  });
  after(() => site?.close());

  const enter = async (as: Person, path: string): Promise<Page> => {
    const page = await open(site, as);
    await page.goto(path);
    return page;
  };
  const scroller = (page: Page): Locator => page.getByRole('group', { name: /^Messages of/ });
  const message = (page: Page, number: number): Locator => page.locator(`#message-${long.messages[number]}`);
  /** Where each message in view stands, by its id. */
  const tops = (page: Page): Promise<Record<string, number>> =>
    scroller(page).evaluate((box) => {
      const view = box.getBoundingClientRect();
      const inView = [...box.querySelectorAll('article')].map((one) => [one.id, one.getBoundingClientRect().top] as const);
      return Object.fromEntries(inView.filter(([, top]) => top > view.top && top < view.bottom));
    });
  /** How far the messages of `before` have moved. */
  const moved = async (page: Page, before: Record<string, number>): Promise<number> => {
    const now = Object.fromEntries(
      await page.locator('article').evaluateAll((all) => all.map((one) => [one.id, one.getBoundingClientRect().top])),
    );
    return Math.max(...Object.entries(before).map(([id, top]) => Math.abs((now[id] ?? Number.POSITIVE_INFINITY) - top)));
  };

  it('pages up to the beginning while what is in view stays where it is, and few messages are on the page', async () => {
    const page = await enter(ada, long.path);
    await message(page, many - 1).waitFor();
    const { worst, most } = await scroller(page).evaluate(async (box) => {
      // Without a function that has a name: what compiles this file would wrap it in what the page does not know.
      const view = box.getBoundingClientRect();
      const seen = { worst: 0, most: 0 };
      // Every frame is compared with the one before it, also those in which a page arrives.
      for (let frames = 0; frames < 3_000 && (!box.querySelector('.list-start') || box.scrollTop > 0); frames++) {
        if (frames % 6 === 0) box.scrollTop -= 500;
        // The oldest on the page may lose its author's line when others come above it.
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
    await page.getByText('The history begins here.').waitFor();
    expect(worst).to.be.below(2);
    expect(most).to.be.below(180);
  });

  it('counts what comes while older messages are read, without moving them, and follows again at the end', async () => {
    const page = await enter(ada, long.path);
    await message(page, many - 1).waitFor();
    await scroller(page).hover();
    await page.mouse.wheel(0, -600);
    await page.getByRole('button', { name: 'Jump to newest' }).waitFor();
    const before = await tops(page);
    for (const text of ['late one', 'late two']) await say(ben, long.id, text);
    await page.getByText('2 new messages').waitFor();
    expect(await moved(page, before)).to.be.below(2);
    await page.getByRole('button', { name: 'Jump to newest' }).click();
    await page.getByRole('article').getByText('late two').waitFor();
    await say(ben, long.id, 'late three');
    await page.getByRole('article').getByText('late three').waitFor();
    await page.getByText(/new messages?$/).waitFor({ state: 'hidden' });
  });

  it('a link to an old message shows it in the middle of its surroundings, and there is a way to the newest', async () => {
    const page = await enter(ada, `${long.path}?message=${long.messages[40]}`);
    await message(page, 40).waitFor();
    await page.getByText('You are looking at old messages').waitFor();
    const [box, view] = [await message(page, 40).boundingBox(), await scroller(page).boundingBox()];
    expect(Math.abs((box?.y ?? 0) + (box?.height ?? 0) / 2 - ((view?.y ?? 0) + (view?.height ?? 0) / 2))).to.be.below(40);
    await page.getByRole('button', { name: 'Jump to newest' }).click();
    await message(page, many - 1).waitFor();
  });

  it('opens at the first message that was not read, and counts it as read at the end', async () => {
    const room = await makeChannel('unread');
    const first = await say(ada, room.id, 'read by Ben');
    await site.call('PUT', `/api/channels/${room.id}/read`, { as: ben.as, body: { messageId: first.id } });
    for (let at = 0; at < 40; at++) await say(ada, room.id, `unread ${at}`);
    const page = await enter(ben, room.path);
    const line = page.getByText('New', { exact: true });
    await line.waitFor();
    expect(await line.isVisible()).to.equal(true);
    await page.getByRole('article').getByText('unread 0', { exact: true }).waitFor();
    const marked = page.waitForRequest((request) => request.method() === 'PUT' && request.url().endsWith(`/channels/${room.id}/read`));
    await page.getByRole('button', { name: 'Jump to newest' }).click();
    await page.getByRole('article').getByText('unread 39', { exact: true }).waitFor();
    await marked;
    // The next mark is not due yet when the page is left: it goes then.
    const last = await say(ada, room.id, 'last word');
    await page.getByRole('article').getByText('last word', { exact: true }).waitFor();
    await page.goto('about:blank');
    const readByBen = async (): Promise<string | null | undefined> => {
      const { body } = await site.call<ReadState[]>('GET', '/api/users/@me/reads', { as: ben.as });
      return body.find(({ channelId }) => channelId === room.id)?.readMessageId;
    };
    await until(async () => (await readByBen()) === last.id, 'the last mark');
  });

  it('by keyboard: from message to message, to its tools and its menu', async () => {
    const page = await enter(ada, long.path);
    await message(page, many - 1).waitFor();
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

  it('covers the posts of a spoiler channel, and asks before an age-restricted one', async () => {
    const [covered, adult] = [await makeChannel('covered', 'spoiler'), await makeChannel('adult', 'age_restricted')];
    await say(ben, covered.id, 'the butler did it');
    await say(ben, adult.id, 'for adults');
    const page = await enter(ada, covered.path);
    await page.getByRole('button', { name: /Click to show/ }).waitFor();
    expect(await page.getByText('the butler did it').count()).to.equal(0);
    await page.getByRole('button', { name: /Click to show/ }).click();
    await page.getByText('the butler did it').waitFor();
    await page.goto(adult.path);
    await page.getByRole('heading', { name: 'adult is for adults' }).waitFor();
    expect(await page.getByText('for adults', { exact: true }).count()).to.equal(0);
    await page.getByRole('button', { name: /18 or older/ }).click();
    await page.getByText('for adults', { exact: true }).waitFor();
    await page.reload();
    await page.getByText('for adults', { exact: true }).waitFor();
  });
});
