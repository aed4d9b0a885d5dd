import { expect } from 'chai';
import type { Page } from 'playwright-core';
import type { Message } from '../../lib/contract/message.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { useWebFixture } from './web-fixture.ts';

describe('web: sending messages', () => {
  let page: Page;
  const fixture = useWebFixture();
  const { request, newChannel, messagesIn, openPage, openChannel } = fixture;

  const field = () => page.getByRole('textbox', { name: /^Message / });

  it('resends a message after lost requests, posts it once, and posts later messages after it', async () => {
    const channelId = await newChannel('lost');
    page = await openPage(fixture.bob);
    // The gateway does not deliver the messages.
    await page.routeWebSocket(/\/gateway/, (socket) => {
      const server = socket.connectToServer();
      server.onMessage((frame) => String(frame).includes('"t":"MESSAGE_CREATE"') || socket.send(frame));
    });
    let tries = 0;
    await page.route(`**/api/channels/${channelId}/messages`, async (route) => {
      if (route.request().method() !== 'POST' || ++tries > 2) return route.continue();
      // The first request is lost, and so is the response of the second.
      if (tries === 2) await route.fetch();
      await route.abort();
    });
    await page.goto(`/servers/${fixture.server.id}/${channelId}`);
    await field().fill('one');
    await field().press('Enter');
    await field().fill('two');
    await field().press('Enter');
    await waitUntil(async () => (await messagesIn(channelId)).some(({ content }) => content === 'two'), 'both messages');
    expect((await messagesIn(channelId)).map(({ content }) => content)).to.deep.equal(['one', 'two']);
    expect(tries).to.equal(4);
  });

  it('moves a refused message back to the composer with its mention and file, without the deleted original of the reply', async () => {
    const channelId = await newChannel('refused');
    const original = await request<Message>(fixture.ada, 'POST', `/api/channels/${channelId}/messages`, { content: 'soon gone' });
    page = await openPage(fixture.bob);
    // The page does not receive the deletion of the original.
    await page.routeWebSocket(/\/gateway/, (socket) => {
      const server = socket.connectToServer();
      server.onMessage((frame) => String(frame).includes('"t":"MESSAGE_DELETE"') || socket.send(frame));
    });
    await page.goto(`/servers/${fixture.server.id}/${channelId}`);
    await page.getByRole('article').getByText('soon gone').hover();
    await page.getByRole('button', { name: 'Reply' }).first().click();
    await request(fixture.ada, 'DELETE', `/api/channels/${channelId}/messages/${original.id}`);
    await field().fill(`<@${fixture.ada.id}> yes`);
    await page.locator('input[type=file]').setInputFiles({ name: 'note.txt', mimeType: 'text/plain', buffer: Buffer.from('words') });
    await field().press('Enter');
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    expect(await field().inputValue()).to.equal('@Ada Lovelace yes');
    expect(await page.evaluate('document.activeElement?.tagName')).to.equal('TEXTAREA');
    await page.getByRole('button', { name: 'Send again' }).waitFor({ state: 'detached' });
    await field().press('Enter');
    await waitUntil(async () => (await messagesIn(channelId)).length === 1, 'the message');
    const [sent] = await messagesIn(channelId);
    expect([sent?.content, sent?.attachments.map(({ filename }) => filename), sent?.reply ?? null]).to.deep.equal([
      `<@${fixture.ada.id}> yes`,
      ['note.txt'],
      null,
    ]);
  });

  it('disables the send button during slow mode, and shows the remaining time by the time that passes, not by the clock', async () => {
    const channelId = await newChannel('slow');
    await request(fixture.ada, 'PATCH', `/api/channels/${channelId}`, { slowmodeSecs: 600 });
    page = await openChannel(fixture.bob, channelId);
    await page.getByText('Slow mode: 10 minutes between messages').waitFor();
    await field().fill('once');
    await field().press('Enter');
    await page.getByText(/you can send a message in (59\d|600) s/).waitFor();
    await page.evaluate('{ const now = Date.now; Date.now = () => now() - 3_600_000; }'); // the clock of the device is set back
    await field().fill('twice');
    await page.getByText(/you can send a message in (4|5)\d\d s/).waitFor();
    expect(await page.getByRole('button', { name: 'Send', exact: true }).isDisabled()).to.equal(true);
    await field().press('Enter');
    expect((await messagesIn(channelId)).length).to.equal(1);
  });
});
