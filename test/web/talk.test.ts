import { expect } from 'chai';
import type { Locator, Page } from 'playwright-core';
import type { Server } from '../../lib/contract/server.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { type Person, type Site, signUp, startSite, usePages } from './browser.ts';
import { addTalkingBot, type TalkingBot } from './talking-bot.ts';

describe('web: a conversation of two people and a bot', () => {
  let site: Site;
  let ada: Person;
  let ben: Person;
  let bot: TalkingBot;
  let server: Server;
  let channelPath = '';
  const open = usePages();

  before(async () => {
    site = await startSite();
    [ada, ben] = await Promise.all([signUp(site, 'Ada'), signUp(site, 'Ben')]);
    ({ body: server } = await site.call<Server>('POST', '/api/servers', { as: ada.as, body: { name: 'Talk' } }));
    const invite = await site.call<{ code: string }>('POST', `/api/servers/${server.id}/invites`, { as: ada.as, body: {} });
    await site.call('POST', `/api/invites/${invite.body.code}`, { as: ben.as });
    await site.call('POST', `/api/servers/${server.id}/roles`, { as: ada.as, body: { name: 'Crew' } });
    channelPath = `/servers/${server.id}/${server.channels.find(({ kind }) => kind === 'text')?.id}`;
    bot = await addTalkingBot(site, ada, server.id);
  });
  after(async () => {
    await bot?.close();
    await site?.close();
  });

  const openPage = async (as: Person): Promise<Page> => {
    const page = await open(site, as);
    await page.goto(channelPath);
    await field(page).waitFor();
    return page;
  };
  const field = (page: Page): Locator => page.getByRole('textbox', { name: 'Message general' });
  /** The first message with a text. A reply to it, which quotes it, comes later. */
  const message = (page: Page, text: string): Locator => page.getByRole('article').filter({ hasText: text }).first();
  const sendMessage = async (page: Page, text: string): Promise<void> => {
    await field(page).fill(text);
    await field(page).press('Enter');
    await message(page, text).waitFor();
  };
  const clickTool = async (page: Page, text: string, name: string): Promise<void> => {
    await message(page, text).hover();
    await message(page, text).getByRole('button', { name, exact: true }).click();
  };

  it('shows messages, edits, replies, reactions and deletions of the other person', async () => {
    const [hers, his] = await Promise.all([openPage(ada), openPage(ben)]);
    await sendMessage(hers, 'Hello Ben');
    await message(his, 'Hello Ben').waitFor();

    await clickTool(his, 'Hello Ben', 'React');
    await his.getByLabel('Search emoji').fill('thumbs up');
    await his
      .getByRole('button', { name: /thumbs up/i })
      .first()
      .click();
    await message(hers, 'Hello Ben')
      .getByRole('button', { name: /1 reaction/ })
      .click();
    await message(his, 'Hello Ben')
      .getByRole('button', { name: /2 reactions/ })
      .waitFor();

    await clickTool(his, 'Hello Ben', 'Reply');
    await sendMessage(his, 'Hello Ada');
    const answer = message(hers, 'Hello Ada');
    await answer.getByText('Hello Ben').waitFor();

    await field(hers).focus();
    await field(hers).press('ArrowUp');
    await hers.getByRole('textbox', { name: 'Edit message' }).fill('Good morning Ben');
    await hers.keyboard.press('Enter');
    await message(his, 'Good morning Ben').getByText('edited').waitFor();
    await message(his, 'Hello Ada').getByText('Good morning Ben').waitFor();

    await clickTool(hers, 'Good morning Ben', 'More');
    await hers.getByRole('menuitem', { name: 'Delete' }).click();
    await hers.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await message(his, 'Hello Ada')
      .getByText(/deleted/i)
      .waitFor();
  });

  it('sends a file with its name, and shows an image', async () => {
    const [hers, his] = await Promise.all([openPage(ada), openPage(ben)]);
    const sharp = (await import('sharp')).default;
    const png = await sharp({ create: { width: 40, height: 30, channels: 3, background: '#336699' } })
      .png()
      .toBuffer();
    await hers.locator('input[type=file]').setInputFiles([
      { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('some notes') },
      { name: 'blue.png', mimeType: 'image/png', buffer: png },
    ]);
    await hers.getByText('notes.txt').waitFor();
    await sendMessage(hers, 'Two files');
    const there = message(his, 'Two files');
    await there.getByText('notes.txt').waitFor();
    const image = there.locator('img').last();
    await image.waitFor();
    const isShown = '[...document.querySelectorAll("article img")].some((one) => one.naturalWidth === 40)';
    await waitUntil(() => his.evaluate<boolean>(isShown), 'the image');
  });

  const runCommand = async (page: Page, name: string): Promise<void> => {
    await field(page).fill(`/${name}`);
    await page
      .getByRole('option')
      .filter({ hasText: `/${name}` })
      .first()
      .waitFor();
    await field(page).press('Enter');
  };

  it('shows an immediate, a deferred, an ephemeral and a missing response to a command', async () => {
    const [hers, his] = await Promise.all([openPage(ada), openPage(ben)]);
    await runCommand(hers, 'answer');
    await message(his, 'Answered at once').getByText('/answer').waitFor();

    await runCommand(hers, 'defer');
    await hers.getByText('Parrot is thinking').waitFor();
    const deferred = bot.received.find(({ data }) => data.name === 'defer');
    if (!deferred) throw new Error('the bot did not receive the command');
    expect(await bot.followUp(deferred, { content: 'Thought it over' })).to.equal(201);
    await message(his, 'Thought it over').waitFor();
    await hers.getByText('Parrot is thinking').waitFor({ state: 'detached' });

    await runCommand(hers, 'secret');
    await message(hers, 'Between us').getByText('Only you can see this').waitFor();
    await runCommand(hers, 'silent');
    await hers.getByText('Parrot did not respond').waitFor();
    expect(await message(his, 'Between us').count()).to.equal(0);
    await hers.reload();
    await message(hers, 'Thought it over').waitFor();
    expect(await message(hers, 'Between us').count()).to.equal(0);
  });

  it('offers a field for every option type, and shows an error at its field', async () => {
    const page = await openPage(ada);
    await runCommand(page, 'every');
    const form = page.getByRole('form', { name: 'Command every' });
    const fillOption = (name: string, value: string): Promise<void> => form.getByLabel(`${name} (required)`).fill(value);
    await fillOption('text', 'some words');
    await fillOption('count', 'three');
    await fillOption('share', '0.5');
    await form.getByLabel('sure (required)').selectOption('true');
    for (const [name, value] of [
      ['person', 'Ben'],
      ['group', 'Crew'],
      ['place', 'general'],
    ] as const) {
      await fillOption(name, value);
      await page.getByRole('option').filter({ hasText: value }).first().click();
    }
    await form.getByRole('button', { name: 'Send' }).click();
    const count = form.getByLabel('count (required)');
    await form.locator('[aria-invalid=true]').waitFor();
    expect(await count.getAttribute('aria-invalid')).to.equal('true');
    await fillOption('count', '3');
    await form.getByRole('button', { name: 'Send' }).click();
    await message(page, 'Got {').waitFor();
    const got = bot.received.findLast(({ data }) => data.name === 'every')?.data.options;
    const crew = (await site.call<{ id: string; name: string }[]>('GET', `/api/servers/${server.id}/roles`, { as: ada.as })).body.find(
      ({ name }) => name === 'Crew',
    );
    expect(got).to.deep.equal([
      { name: 'text', type: 'string', value: 'some words' },
      { name: 'count', type: 'integer', value: 3 },
      { name: 'share', type: 'number', value: 0.5 },
      { name: 'sure', type: 'boolean', value: true },
      { name: 'person', type: 'user', value: ben.id },
      { name: 'group', type: 'role', value: crew?.id },
      { name: 'place', type: 'channel', value: channelPath.split('/').at(-1) },
    ]);
  });
});
