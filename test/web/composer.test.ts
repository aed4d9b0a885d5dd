import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import type { Message } from '../../lib/contract/message.ts';
import type { Server } from '../../lib/contract/server.ts';
import { until } from '../harness/scene.ts';
import { type Person, type Site, signUp, startSite, useScreens } from './browser.ts';

describe('web: the composer', function () {
  this.timeout(180_000);
  let site: Site;
  let ada: Person;
  let bob: Person;
  let home: Server;
  let page: Page;
  const screen = useScreens();

  const ask = async <T>(as: Person, method: string, path: string, body?: unknown): Promise<T> => {
    const answer = await site.call<T>(method, path, { as: as.as, ...(body === undefined ? {} : { body }) });
    expect(answer.status, `${method} ${path} ${JSON.stringify(answer.body)}`).to.be.lessThan(300);
    return answer.body;
  };
  const newChannel = async (name: string): Promise<string> =>
    (await ask<{ id: string }>(ada, 'POST', `/api/servers/${home.id}/channels`, { name, kind: 'text' })).id;
  const open = async (channelId: string): Promise<void> => {
    page = await screen(site, bob);
    await page.goto(`/servers/${home.id}/${channelId}`);
  };
  const field = () => page.getByRole('textbox', { name: /^Message / });
  const messagesIn = (channelId: string): Promise<Message[]> => ask(ada, 'GET', `/api/channels/${channelId}/messages`);
  const firstIn = async (channelId: string): Promise<Message> => {
    await until(async () => (await messagesIn(channelId)).length > 0, 'a message');
    return (await messagesIn(channelId))[0] as Message;
  };

  before(async () => {
    site = await startSite();
    [ada, bob] = [await signUp(site, 'Ada Lovelace'), await signUp(site, 'Bob')];
    home = await ask<Server>(ada, 'POST', '/api/servers', { name: 'Harbour' });
    const { code } = await ask<{ code: string }>(ada, 'POST', `/api/servers/${home.id}/invites`, {});
    await ask(bob, 'POST', `/api/invites/${code}`);
  });
  after(() => site?.close());

  it('people, roles, channels and emoji are completed by keyboard, and sent as the spec writes them', async () => {
    const channelId = await newChannel('names');
    const role = await ask<{ id: string }>(ada, 'POST', `/api/servers/${home.id}/roles`, { name: 'Crew' });
    await open(channelId);
    await field().pressSequentially('Hi @ada');
    await page.getByRole('option', { name: /Ada Lovelace/ }).waitFor();
    await page.keyboard.press('Enter');
    await field().pressSequentially('and @cr');
    await page.getByRole('option', { name: /Crew/ }).waitFor();
    await page.keyboard.press('Tab');
    await field().pressSequentially('in #nam');
    await page.getByRole('option', { name: /names/ }).click();
    await field().pressSequentially(':tada');
    await page.getByRole('option', { name: /:tada:/ }).waitFor();
    await page.keyboard.press('Enter');
    expect(await field().inputValue()).to.equal('Hi @Ada Lovelace and @Crew in #names 🎉 ');
    await page.keyboard.press('Enter');
    const { content, mentions, mentionRoles } = await firstIn(channelId);
    expect(content).to.equal(`Hi <@${ada.id}> and <@&${role.id}> in <${site.origin}/servers/${home.id}/${channelId}> 🎉`);
    expect([mentions, mentionRoles]).to.deep.equal([[ada.id], [role.id]]);
    await page.getByRole('article').getByText('@Crew').waitFor();
    await field().press('ArrowUp');
    const edit = page.getByRole('textbox', { name: 'Edit the message' });
    expect(await edit.inputValue()).to.match(/^Hi @Ada Lovelace and @Crew in </);
    await edit.press('End');
    await edit.pressSequentially('!');
    await edit.press('Enter');
    await until(async () => (await firstIn(channelId)).content === `${content}!`, 'the edit');
  });

  it('@everyone is offered only to who may ping everyone; Escape closes the list and not the text', async () => {
    await open(await newChannel('everyone'));
    await field().pressSequentially('@');
    await page.getByRole('option', { name: /Ada/ }).waitFor();
    expect(await page.getByRole('option', { name: /everyone/ }).count()).to.equal(0);
    await page.keyboard.press('Escape');
    await page.getByRole('option').first().waitFor({ state: 'detached' });
    expect(await field().inputValue()).to.equal('@');
  });

  it('Shift and Enter break the line; what is written stays with its channel', async () => {
    const [one, other] = [await newChannel('one'), await newChannel('other')];
    await open(one);
    await field().pressSequentially('first');
    await page.keyboard.press('Shift+Enter');
    await field().pressSequentially('second');
    await page.getByRole('link', { name: 'other', exact: true }).click();
    await page.getByRole('textbox', { name: 'Message other' }).waitFor();
    expect(await field().inputValue()).to.equal('');
    await page.getByRole('link', { name: 'one', exact: true }).click();
    await page.getByRole('textbox', { name: 'Message one' }).waitFor();
    expect(await field().inputValue()).to.equal('first\nsecond');
    await field().press('Enter');
    expect((await firstIn(one)).content).to.equal('first\nsecond');
    expect(await messagesIn(other)).to.deep.equal([]);
  });

  it('a reply pings or not, Escape takes it back, and the arrow up edits what was written last', async () => {
    const channelId = await newChannel('replies');
    const original = await ask<Message>(ada, 'POST', `/api/channels/${channelId}/messages`, { content: 'To be answered' });
    await open(channelId);
    const article = page.getByRole('article').filter({ hasText: 'To be answered' });
    const reply = async (): Promise<void> => {
      await article.first().hover();
      await page.getByRole('button', { name: 'Reply' }).first().click();
      await page.getByText('Replying to Ada Lovelace').waitFor();
    };
    await reply();
    await page.keyboard.press('Escape');
    await page.getByText('Replying to').waitFor({ state: 'detached' });
    await reply();
    await page.getByRole('button', { name: 'Ping on' }).click();
    await field().fill('Quietly answered');
    await field().press('Enter');
    await until(async () => (await messagesIn(channelId)).length === 2, 'the answer');
    const answer = (await messagesIn(channelId)).at(-1);
    expect([answer?.reply?.id, answer?.mentions]).to.deep.equal([original.id, []]);
    await page.getByRole('article').getByText('Quietly answered').waitFor();
    await field().press('ArrowUp');
    await page.getByRole('textbox', { name: /edit/i }).fill('Better answered');
    await page.keyboard.press('Enter');
    await until(async () => (await messagesIn(channelId)).at(-1)?.content === 'Better answered', 'the edit');
  });

  it('what is too long is counted in code points and not sent', async () => {
    await open(await newChannel('long'));
    await field().fill('🎉'.repeat(2000));
    await page.getByText('0 left').waitFor();
    await field().fill('🎉'.repeat(2001));
    await page.getByText('1 characters too many').waitFor();
    expect(await page.getByRole('button', { name: 'Send', exact: true }).isDisabled()).to.equal(true);
  });

  it('files are chosen, pasted and dropped; those that cannot be sent say why', async () => {
    const channelId = await newChannel('files');
    await open(channelId);
    const folder = await mkdtemp(join(tmpdir(), 'parlance-composer-'));
    const file = async (name: string, size: number): Promise<string> => {
      await writeFile(join(folder, name), '');
      await truncate(join(folder, name), size);
      return join(folder, name);
    };
    const chosen = [await file('good.txt', 20), await file('empty.txt', 0), await file('large.txt', 10 * 1024 * 1024 + 1)];
    await page.locator('input[type=file]').setInputFiles(chosen);
    await page.getByText('This file is empty.').waitFor();
    await page.getByText('Larger than 10 MB.').waitFor();
    expect(await page.getByRole('button', { name: 'Send', exact: true }).isDisabled()).to.equal(true);
    await page.getByRole('button', { name: 'Remove empty.txt' }).click();
    await page.getByRole('button', { name: 'Remove large.txt' }).click();
    const holding = (name: string) => `(() => {
      const data = new DataTransfer();
      data.items.add(new File(['x'], '${name}', { type: 'text/plain' }));
      return data;
    })()`;
    await page.evaluate(
      `document.activeElement.dispatchEvent(new ClipboardEvent('paste', { clipboardData: ${holding('pasted.txt')}, bubbles: true, cancelable: true }))`,
    );
    const dataTransfer = await page.evaluateHandle(holding('dropped.txt'));
    for (const event of ['dragover', 'drop']) await page.getByRole('main').dispatchEvent(event, { dataTransfer });
    await page.getByText('dropped.txt').waitFor();
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    const { attachments } = await firstIn(channelId);
    expect(attachments.map(({ filename }) => filename)).to.deep.equal(['good.txt', 'pasted.txt', 'dropped.txt']);
    await rm(folder, { recursive: true });
  });

  it('a message that did not get through is sent again by itself, and stands there once; those after it wait', async () => {
    const channelId = await newChannel('lost');
    page = await screen(site, bob);
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
    await page.goto(`/servers/${home.id}/${channelId}`);
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
    const original = await ask<Message>(ada, 'POST', `/api/channels/${channelId}/messages`, { content: 'soon gone' });
    page = await screen(site, bob);
    // Nobody tells that what is answered goes.
    await page.routeWebSocket(/\/gateway/, (socket) => {
      const server = socket.connectToServer();
      server.onMessage((frame) => String(frame).includes('MESSAGE_DELETE') || socket.send(frame));
    });
    await page.goto(`/servers/${home.id}/${channelId}`);
    await page.getByRole('article').getByText('soon gone').hover();
    await page.getByRole('button', { name: 'Reply' }).first().click();
    await ask(ada, 'DELETE', `/api/channels/${channelId}/messages/${original.id}`);
    await field().fill(`<@${ada.id}> yes`);
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
      `<@${ada.id}> yes`,
      ['note.txt'],
      null,
    ]);
  });

  it('slow mode keeps the button and says how long', async () => {
    const channelId = await newChannel('slow');
    await ask(ada, 'PATCH', `/api/channels/${channelId}`, { slowmodeSecs: 600 });
    await open(channelId);
    await page.getByText('Slow mode: 10 minutes between messages').waitFor();
    await field().fill('once');
    await field().press('Enter');
    await page.getByText(/You can write again in \d+ s/).waitFor();
    await field().fill('twice');
    expect(await page.getByRole('button', { name: 'Send', exact: true }).isDisabled()).to.equal(true);
    await field().press('Enter');
    expect((await messagesIn(channelId)).length).to.equal(1);
  });

  it('who may not write is told why, and who may not attach is offered no files, at once', async () => {
    const channelId = await newChannel('quiet');
    await open(channelId);
    await page.getByRole('button', { name: 'Attach files' }).waitFor();
    await ask(ada, 'PUT', `/api/channels/${channelId}/overwrites/${home.id}`, { allow: 0, deny: 1 << 2 });
    await page.getByRole('button', { name: 'Attach files' }).waitFor({ state: 'detached' });
    await ask(ada, 'PUT', `/api/channels/${channelId}/overwrites/${home.id}`, { allow: 0, deny: 1 << 1 });
    await page.getByText(/needs the permission Send Messages/).waitFor();
  });

  it('who types is shown to the others', async () => {
    const channelId = await newChannel('typing');
    await open(channelId);
    await field().waitFor();
    await ask(ada, 'POST', `/api/channels/${channelId}/typing`);
    await page.getByText('Ada Lovelace is typing …').waitFor();
  });
});
