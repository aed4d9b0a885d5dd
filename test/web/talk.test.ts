import type { Locator, Page } from 'playwright-core';
import { waitUntil } from '../harness/interaction-fixture.ts';
import type { Person } from './browser.ts';
import { useWebFixture } from './web-fixture.ts';

describe('web: a conversation of two people', () => {
  const fixture = useWebFixture();

  const openPage = async (as: Person): Promise<Page> => {
    const page = await fixture.openChannel(as, fixture.server.channels.find(({ kind }) => kind === 'text')?.id ?? '');
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
    const [hers, his] = await Promise.all([openPage(fixture.ada), openPage(fixture.bob)]);
    await sendMessage(hers, 'Hello Bob');
    await message(his, 'Hello Bob').waitFor();

    await clickTool(his, 'Hello Bob', 'React');
    await his.getByLabel('Search emoji').fill('thumbs up');
    await his
      .getByRole('button', { name: /thumbs up/i })
      .first()
      .click();
    await message(hers, 'Hello Bob')
      .getByRole('button', { name: /1 reaction/ })
      .click();
    await message(his, 'Hello Bob')
      .getByRole('button', { name: /2 reactions/ })
      .waitFor();

    await clickTool(his, 'Hello Bob', 'Reply');
    await sendMessage(his, 'Hello Ada');
    const answer = message(hers, 'Hello Ada');
    await answer.getByText('Hello Bob').waitFor();

    await field(hers).focus();
    await field(hers).press('ArrowUp');
    await hers.getByRole('textbox', { name: 'Edit message' }).fill('Good morning Bob');
    await hers.keyboard.press('Enter');
    await message(his, 'Good morning Bob').getByText('edited').waitFor();
    await message(his, 'Hello Ada').getByText('Good morning Bob').waitFor();

    await clickTool(hers, 'Good morning Bob', 'More');
    await hers.getByRole('menuitem', { name: 'Delete' }).click();
    await hers.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await message(his, 'Hello Ada')
      .getByText(/deleted/i)
      .waitFor();
  });

  it('sends a file with its name, and shows an image', async () => {
    const [hers, his] = await Promise.all([openPage(fixture.ada), openPage(fixture.bob)]);
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
});
