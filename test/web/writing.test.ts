import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { useWebFixture } from './web-fixture.ts';

describe('web: keyboard input and drafts', () => {
  let page: Page;
  const fixture = useWebFixture();
  const { newChannel, messagesIn } = fixture;

  const open = async (channelId: string): Promise<void> => {
    page = await fixture.openChannel(fixture.bob, channelId);
  };
  const field = (name: string) => page.getByRole('textbox', { name: `Message ${name}` });
  const sent = async (channelId: string): Promise<string | undefined> => {
    await waitUntil(async () => (await messagesIn(channelId)).length > 0, 'a message');
    return (await messagesIn(channelId)).at(-1)?.content;
  };

  it('focuses the composer after a change of channel by keyboard', async () => {
    const [first] = [await newChannel('first'), await newChannel('second')];
    await open(first);
    await field('first').waitFor();
    await page.getByRole('link', { name: 'second', exact: true }).focus();
    await page.keyboard.press('Enter');
    await field('second').waitFor();
    await page.keyboard.type('by link');
    expect(await field('second').inputValue()).to.equal('by link');
    await page.getByRole('link', { name: 'second', exact: true }).focus();
    await page.keyboard.press('Alt+ArrowUp');
    await field('first').waitFor();
    await page.keyboard.type('by key');
    expect(await field('first').inputValue()).to.equal('by key');
    await page.keyboard.press('Control+k');
    await page.keyboard.type('second');
    await page.keyboard.press('Enter');
    await field('second').waitFor();
    await page.keyboard.type(' and name');
    expect(await field('second').inputValue()).to.equal('by link and name');
  });

  it('sends keys that are typed outside of a field to the composer, but not those of a dialog', async () => {
    await open(await newChannel('anywhere'));
    await field('anywhere').waitFor();
    await page.getByRole('button', { name: 'Pinned messages' }).click();
    await page.keyboard.type('to all');
    expect(await field('anywhere').inputValue()).to.equal('to all');
    await page.keyboard.press('Control+k');
    await page.keyboard.type('any');
    expect(await field('anywhere').inputValue()).to.equal('to all');
  });

  it('replaces emoji shortcodes at the closing colon and when sent, except in code and links', async () => {
    const channelId = await newChannel('codes');
    await open(channelId);
    await field('codes').pressSequentially('good :tada');
    await page.getByRole('option', { name: /:tada:/ }).waitFor();
    await field('codes').pressSequentially(':');
    expect(await field('codes').inputValue()).to.equal('good 🎉');
    await field('codes').fill(
      ':smile: at 10:30:45 `:tada:` <:party:123456789012345678> \\:tada: :nothing_such: https://example.org/:tada:/',
    );
    await page.keyboard.press('Enter');
    expect(await sent(channelId)).to.equal(
      '😄 at 10:30:45 `:tada:` <:party:123456789012345678> \\:tada: :nothing_such: https://example.org/:tada:/',
    );
  });

  it('loads a channel when the connection is back, after it failed offline', async () => {
    const [first] = [await newChannel('online'), await newChannel('offline')];
    await open(first);
    await field('online').waitFor();
    await page.context().setOffline(true);
    await page.getByRole('link', { name: 'offline', exact: true }).click();
    const message = page.getByRole('alert').filter({ hasText: 'Can’t connect to Parlance' });
    await message.waitFor();
    await message.getByRole('button', { name: 'Try again' }).waitFor();
    await page.context().setOffline(false);
    await page.getByText('This is the beginning of this channel.').waitFor();
    expect(await message.count()).to.equal(0);
    // The service recovers after a while, without an event in the browser.
    let failures = 0;
    await page.route(`**/api/channels/${first}/messages*`, (route) => (failures++ < 2 ? route.fulfill({ status: 502 }) : route.continue()));
    await page.goto(`/servers/${fixture.server.id}/${first}`);
    await page.getByText('This is the beginning of this channel.').waitFor();
    expect(failures).to.equal(3);
  });

  it('says that a message is sent when the connection is back, and sends it then', async () => {
    const channelId = await newChannel('tunnel');
    await open(channelId);
    await field('tunnel').waitFor();
    await page.context().setOffline(true);
    await field('tunnel').fill('from the train');
    await field('tunnel').press('Enter');
    const message = page.getByRole('article', { name: 'Your message, to be sent when the connection is back' });
    await message.getByText('Will be sent when the connection is back', { exact: true }).waitFor();
    expect(await page.getByText('Not sent').count()).to.equal(0);
    await message.getByRole('button', { name: 'Send again' }).waitFor();
    await page.context().setOffline(false);
    expect(await sent(channelId)).to.equal('from the train');
    await message.waitFor({ state: 'detached' });
    // A refused message is not sent again by itself.
    await page.route(`**/api/channels/${channelId}/messages`, (route) =>
      route.fulfill({ status: 400, json: { code: 'bad', message: 'No.' } }),
    );
    await field('tunnel').fill('refused');
    await field('tunnel').press('Enter');
    await page.getByRole('article', { name: 'Your message, not sent' }).getByText('Not sent', { exact: true }).waitFor();
  });

  it('replaces the suggested name of a thread when the user types', async () => {
    const channelId = await newChannel('threads');
    await fixture.request(fixture.ada, 'POST', `/api/channels/${channelId}/messages`, { content: 'Who brings the rope?' });
    await open(channelId);
    await page.getByRole('article').filter({ hasText: 'Who brings the rope?' }).hover();
    await page.getByRole('button', { name: 'More', exact: true }).click();
    await page.getByRole('menuitem', { name: 'Start a thread' }).click();
    const name = page.getByRole('dialog').getByLabel('Thread name');
    expect(await name.inputValue()).to.equal('Who brings the rope?');
    await page.keyboard.type('Rope');
    expect(await name.inputValue()).to.equal('Rope');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Rope', level: 1 }).waitFor();
  });

  const edit = () => page.getByRole('textbox', { name: 'Edit message' });
  const bar = () => page.getByText('Unfinished edit', { exact: true });
  const begin = async (name: string): Promise<{ channelId: string; messageId: string }> => {
    const channelId = await newChannel(name);
    const { id } = await fixture.request<{ id: string }>(fixture.bob, 'POST', `/api/channels/${channelId}/messages`, {
      content: `Thanks <@${fixture.ada.id}>`,
    });
    await open(channelId);
    await page.getByText('Thanks @Ada Lovelace').waitFor();
    await field(name).press('ArrowUp');
    await edit().fill('Thanks @Ada Lovelace and all');
    return { channelId, messageId: id };
  };

  it('keeps a half-written edit while another channel is open', async () => {
    await newChannel('away');
    const { channelId } = await begin('edited');
    await page.getByRole('link', { name: 'away', exact: true }).click();
    await field('away').waitFor();
    expect(await bar().count()).to.equal(0);
    await page.getByRole('link', { name: 'edited', exact: true }).click();
    await edit().waitFor();
    expect(await edit().inputValue()).to.equal('Thanks @Ada Lovelace and all');
    expect(await bar().count()).to.equal(0);
    await edit().press('Enter');
    await edit().waitFor({ state: 'detached' });
    expect((await messagesIn(channelId))[0]?.content).to.equal(`Thanks <@${fixture.ada.id}> and all`);
  });

  it('offers a half-written edit after a reload, until it is cancelled or discarded', async () => {
    const { channelId } = await begin('reloaded');
    await page.reload();
    await bar().waitFor();
    await page.getByRole('button', { name: 'Continue' }).click();
    await edit().waitFor();
    expect(await edit().inputValue()).to.equal('Thanks @Ada Lovelace and all');
    await edit().press('Escape');
    await page.reload();
    await page.getByText('Thanks @Ada Lovelace').waitFor();
    expect(await bar().count()).to.equal(0);
    await field('reloaded').press('ArrowUp');
    expect(await edit().inputValue()).to.equal('Thanks @Ada Lovelace');
    await edit().fill('Something else');
    await page.reload();
    await bar().waitFor();
    await page.getByRole('button', { name: 'Discard' }).click();
    await bar().waitFor({ state: 'detached' });
    expect((await messagesIn(channelId))[0]?.content).to.equal(`Thanks <@${fixture.ada.id}>`);
  });

  it('keeps what is written in another window of the same channel', async () => {
    await begin('shared');
    const other = await page.context().newPage();
    await other.goto(page.url());
    const otherField = other.getByRole('textbox', { name: 'Message shared' });
    await otherField.waitFor();
    await edit().fill('Edited in the first window');
    await otherField.fill('written in the second');
    await other.close({ runBeforeUnload: false });
    await page.reload();
    await bar().waitFor();
    expect(await field('shared').inputValue()).to.equal('written in the second');
    await page.getByRole('button', { name: 'Continue' }).click();
    expect(await edit().inputValue()).to.equal('Edited in the first window');
  });

  it('makes a half-written edit a draft when the message was deleted', async () => {
    const { channelId, messageId } = await begin('deleted');
    await fixture.request(fixture.ada, 'DELETE', `/api/channels/${channelId}/messages/${messageId}`);
    await bar().waitFor();
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('The message was deleted. Its text is in the field for a new message.').waitFor();
    expect(await field('deleted').inputValue()).to.equal('Thanks @Ada Lovelace and all');
    await bar().waitFor({ state: 'detached' });
    await field('deleted').press('Enter');
    expect(await sent(channelId)).to.equal(`Thanks <@${fixture.ada.id}> and all`);
  });

  // Last, as it logs out.
  it('keeps a draft with its mention after a reload, and removes it when it is sent and at logout', async () => {
    const channelId = await newChannel('draft');
    await open(channelId);
    await field('draft').pressSequentially('for @ada');
    await page.getByRole('option', { name: /Ada Lovelace/ }).waitFor();
    await page.keyboard.press('Enter');
    await page.reload();
    expect(await field('draft').inputValue()).to.equal('for @Ada Lovelace ');
    await field('draft').press('Enter');
    expect(await sent(channelId)).to.match(/^for <@\d+>$/);
    await page.reload();
    expect(await field('draft').inputValue()).to.equal('');
    await field('draft').fill('secret');
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.waitForURL('**/login');
    expect(await page.evaluate('JSON.stringify(localStorage)')).not.to.contain('secret');
  });
});
