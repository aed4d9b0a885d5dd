import { expect } from 'chai';
import type { Page } from 'playwright-core';
import type { Message } from '../../lib/contract/message.ts';
import { until } from '../harness/scene.ts';
import { useHarbour } from './harbour.ts';

describe('web: messages on their way', function () {
  this.timeout(180_000);
  let page: Page;
  const harbour = useHarbour();
  const { ask, newChannel, messagesIn, screen, open } = harbour;

  const field = () => page.getByRole('textbox', { name: /^Message / });

  it('a message that did not get through is sent again by itself, and stands there once; those after it wait', async () => {
    const channelId = await newChannel('lost');
    page = await screen(harbour.bob);
    // Nothing is heard of it over the gateway.
    await page.routeWebSocket(/\/gateway/, (socket) => {
      const server = socket.connectToServer();
      server.onMessage((frame) => String(frame).includes('MESSAGE_CREATE') || socket.send(frame));
    });
    let tries = 0;
    await page.route(`**/api/channels/${channelId}/messages`, async (route) => {
      if (route.request().method() !== 'POST' || ++tries > 2) return route.continue();
      // The first does not arrive; of the second the answer is lost.
      if (tries === 2) await route.fetch();
      await route.abort();
    });
    await page.goto(`/servers/${harbour.home.id}/${channelId}`);
    await field().fill('one');
    await field().press('Enter');
    await field().fill('two');
    await field().press('Enter');
    await until(async () => (await messagesIn(channelId)).some(({ content }) => content === 'two'), 'both messages');
    expect((await messagesIn(channelId)).map(({ content }) => content)).to.deep.equal(['one', 'two']);
    expect(tries).to.equal(4);
  });

  it('a message that is refused can be put back, with its mention and file; a reply to what is gone becomes none', async () => {
    const channelId = await newChannel('refused');
    const original = await ask<Message>(harbour.ada, 'POST', `/api/channels/${channelId}/messages`, { content: 'soon gone' });
    page = await screen(harbour.bob);
    // Nobody tells that what is answered goes.
    await page.routeWebSocket(/\/gateway/, (socket) => {
      const server = socket.connectToServer();
      server.onMessage((frame) => String(frame).includes('MESSAGE_DELETE') || socket.send(frame));
    });
    await page.goto(`/servers/${harbour.home.id}/${channelId}`);
    await page.getByRole('article').getByText('soon gone').hover();
    await page.getByRole('button', { name: 'Reply' }).first().click();
    await ask(harbour.ada, 'DELETE', `/api/channels/${channelId}/messages/${original.id}`);
    await field().fill(`<@${harbour.ada.id}> yes`);
    await page.locator('input[type=file]').setInputFiles({ name: 'note.txt', mimeType: 'text/plain', buffer: Buffer.from('words') });
    await field().press('Enter');
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    expect(await field().inputValue()).to.equal('@Ada Lovelace yes');
    expect(await page.evaluate('document.activeElement?.tagName')).to.equal('TEXTAREA');
    await page.getByRole('button', { name: 'Send again' }).waitFor({ state: 'detached' });
    await field().press('Enter');
    await until(async () => (await messagesIn(channelId)).length === 1, 'the message');
    const [sent] = await messagesIn(channelId);
    expect([sent?.content, sent?.attachments.map(({ filename }) => filename), sent?.reply ?? null]).to.deep.equal([
      `<@${harbour.ada.id}> yes`,
      ['note.txt'],
      null,
    ]);
  });

  it('slow mode keeps the button and says how long', async () => {
    const channelId = await newChannel('slow');
    await ask(harbour.ada, 'PATCH', `/api/channels/${channelId}`, { slowmodeSecs: 600 });
    page = await open(harbour.bob, channelId);
    await page.getByText('Slow mode: 10 minutes between messages').waitFor();
    await field().fill('once');
    await field().press('Enter');
    await page.getByText(/You can write again in \d+ s/).waitFor();
    await field().fill('twice');
    expect(await page.getByRole('button', { name: 'Send', exact: true }).isDisabled()).to.equal(true);
    await field().press('Enter');
    expect((await messagesIn(channelId)).length).to.equal(1);
  });
});
