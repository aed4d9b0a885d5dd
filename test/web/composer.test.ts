import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import type { Message } from '../../lib/contract/message.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { useWebFixture } from './web-fixture.ts';

describe('web: the composer', () => {
  let page: Page;
  const fixture = useWebFixture();
  const { request, newChannel, messagesIn } = fixture;

  const open = async (channelId: string): Promise<void> => {
    page = await fixture.openChannel(fixture.bob, channelId);
  };
  const field = () => page.getByRole('textbox', { name: /^Message / });
  /** Waits until the stored message is shown, because a message that is being sent cannot be edited. */
  const posted = (text: string): Promise<void> => page.locator('article:not(.outgoing)').getByText(text).waitFor();
  const firstIn = async (channelId: string): Promise<Message> => {
    await waitUntil(async () => (await messagesIn(channelId)).length > 0, 'a message');
    return (await messagesIn(channelId))[0] as Message;
  };

  it('completes people, roles, channels and emoji by keyboard, and sends them as markup', async () => {
    const channelId = await newChannel('names');
    const role = await request<{ id: string }>(fixture.ada, 'POST', `/api/servers/${fixture.server.id}/roles`, { name: 'Crew' });
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
    expect(content).to.equal(`Hi <@${fixture.ada.id}> and <@&${role.id}> in <#${channelId}> 🎉`);
    expect([mentions, mentionRoles]).to.deep.equal([[fixture.ada.id], [role.id]]);
    await posted('@Crew');
    await field().press('ArrowUp');
    const edit = page.getByRole('textbox', { name: 'Edit message' });
    expect(await edit.inputValue()).to.equal('Hi @Ada Lovelace and @Crew in #names 🎉');
    await edit.press('End');
    await edit.pressSequentially('!');
    await edit.press('Enter');
    await waitUntil(async () => (await firstIn(channelId)).content === `${content}!`, 'the edit');
  });

  it('links a mentioned channel by its name, and no channel that the user may not see', async () => {
    const [channelId, other, secret] = [await newChannel('signposts'), await newChannel('harbour-walk'), await newChannel('back-room')];
    await request(fixture.ada, 'PUT', `/api/channels/${secret}/overwrites/${fixture.server.id}`, { allow: 0, deny: 1 });
    await open(channelId);
    await field().pressSequentially('Meet at #walk');
    await page.getByRole('option', { name: /harbour-walk/ }).waitFor();
    await page.keyboard.press('Enter');
    expect(await field().inputValue()).to.equal('Meet at #harbour-walk ');
    await field().pressSequentially(`not in <#${secret}>`);
    await field().press('Enter');
    expect((await firstIn(channelId)).content).to.equal(`Meet at <#${other}> not in <#${secret}>`);
    await posted('#unknown channel');
    const markup = page.locator('article:not(.outgoing) .markup');
    expect(await markup.innerText()).to.equal('Meet at #harbour-walk not in #unknown channel');
    const links = markup.getByRole('link');
    expect(await links.allInnerTexts()).to.deep.equal(['#harbour-walk']);
    expect(await links.getAttribute('href')).to.equal(`/servers/${fixture.server.id}/${other}`);
    await request(fixture.ada, 'PATCH', `/api/channels/${other}`, { name: 'pier' });
    await markup.getByRole('link', { name: '#pier' }).click();
    await page.getByRole('textbox', { name: 'Message pier' }).waitFor();
  });

  it('does not offer @everyone without the permission; Escape closes the list and keeps the text', async () => {
    await open(await newChannel('everyone'));
    await field().pressSequentially('@');
    await page.getByRole('option', { name: /Ada/ }).waitFor();
    expect(await page.getByRole('option', { name: /everyone/ }).count()).to.equal(0);
    await page.keyboard.press('Escape');
    await page.getByRole('option').first().waitFor({ state: 'detached' });
    expect(await field().inputValue()).to.equal('@');
  });

  it('says while one writes, and shows afterwards, that @everyone notifies nobody', async () => {
    const channelId = await newChannel('no-alarm');
    await open(channelId);
    const note = page.getByText('@everyone will notify nobody: you don’t have the permission “Mention Everyone” here');
    await field().fill('dear @everyone');
    await note.waitFor();
    await field().fill('dear \\@everyone');
    await note.waitFor({ state: 'detached' });
    await field().fill('dear @everyone');
    await field().press('Enter');
    await request(fixture.ada, 'POST', `/api/channels/${channelId}/messages`, { content: 'from the owner to @everyone' });
    const background = async (text: string): Promise<unknown> => {
      await posted(text);
      return page.evaluate(
        `getComputedStyle([...document.querySelectorAll('.everyone')].find((one) => one.parentElement.textContent === '${text}')).backgroundColor`,
      );
    };
    expect(await background('dear @everyone')).to.equal('rgba(0, 0, 0, 0)');
    expect(await background('from the owner to @everyone')).not.to.equal('rgba(0, 0, 0, 0)');
  });

  it('inserts a line break with Shift+Enter, and keeps a draft for each channel', async () => {
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

  it('turns the ping of a reply off, cancels a reply with Escape, and edits the last message with ↑', async () => {
    const channelId = await newChannel('replies');
    const original = await request<Message>(fixture.ada, 'POST', `/api/channels/${channelId}/messages`, { content: 'A question' });
    await open(channelId);
    const article = page.getByRole('article').filter({ hasText: 'A question' });
    const reply = async (): Promise<void> => {
      await article.first().hover();
      const focusWhenShown = page.evaluate(`new Promise((resolve) =>
        new MutationObserver(() => document.querySelector('.composer-to') && resolve(document.activeElement?.tagName))
          .observe(document.body, { childList: true, subtree: true }))`);
      await page.getByRole('button', { name: 'Reply' }).first().click();
      expect(await focusWhenShown).to.equal('TEXTAREA');
      await page.getByText('Replying to Ada Lovelace').waitFor();
    };
    await reply();
    await page.keyboard.press('Escape');
    await page.getByText('Replying to').waitFor({ state: 'detached' });
    await reply();
    await page.getByRole('button', { name: 'Ping on' }).click();
    await field().fill('A silent reply');
    await field().press('Enter');
    await waitUntil(async () => (await messagesIn(channelId)).length === 2, 'the reply');
    const answer = (await messagesIn(channelId)).at(-1);
    expect([answer?.reply?.id, answer?.mentions]).to.deep.equal([original.id, []]);
    await posted('A silent reply');
    await field().press('ArrowUp');
    await page.getByRole('textbox', { name: /edit/i }).fill('An edited reply');
    await page.keyboard.press('Enter');
    await waitUntil(async () => (await messagesIn(channelId)).at(-1)?.content === 'An edited reply', 'the edit');
  });

  it('counts code points and does not send a message that is too long', async () => {
    await open(await newChannel('long'));
    await field().fill('🎉'.repeat(2000));
    await page.getByText('0 characters left').waitFor();
    await field().fill('🎉'.repeat(2001));
    await page.getByText('1 character too many').waitFor();
    expect(await page.getByRole('button', { name: 'Send', exact: true }).isDisabled()).to.equal(true);
  });

  it('attaches files by dialog, paste and drop, and says why a file cannot be sent', async () => {
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
    await page.getByText('This file is larger than 10 MB.').waitFor();
    expect(await page.getByRole('button', { name: 'Send', exact: true }).isDisabled()).to.equal(true);
    await page.getByRole('button', { name: 'Remove empty.txt' }).click();
    await page.getByRole('button', { name: 'Remove large.txt' }).click();
    const transferOf = (name: string) => `(() => {
      const data = new DataTransfer();
      data.items.add(new File(['x'], '${name}', { type: 'text/plain' }));
      return data;
    })()`;
    await page.evaluate(
      `document.activeElement.dispatchEvent(new ClipboardEvent('paste', { clipboardData: ${transferOf('pasted.txt')}, bubbles: true, cancelable: true }))`,
    );
    const dataTransfer = await page.evaluateHandle(transferOf('dropped.txt'));
    for (const event of ['dragover', 'drop']) await page.getByRole('main').dispatchEvent(event, { dataTransfer });
    await page.getByText('dropped.txt').waitFor();
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    const { attachments } = await firstIn(channelId);
    expect(attachments.map(({ filename }) => filename)).to.deep.equal(['good.txt', 'pasted.txt', 'dropped.txt']);
    await rm(folder, { recursive: true });
  });

  it('hides the attach button, and says why the user cannot write, as soon as a permission is denied', async () => {
    const channelId = await newChannel('quiet');
    await open(channelId);
    await page.getByRole('button', { name: 'Attach files' }).waitFor();
    await request(fixture.ada, 'PUT', `/api/channels/${channelId}/overwrites/${fixture.server.id}`, { allow: 0, deny: 1 << 2 });
    await page.getByRole('button', { name: 'Attach files' }).waitFor({ state: 'detached' });
    await request(fixture.ada, 'PUT', `/api/channels/${channelId}/overwrites/${fixture.server.id}`, { allow: 0, deny: 1 << 1 });
    await page.getByText(/permission to send messages/).waitFor();
  });

  it('shows who is typing', async () => {
    const channelId = await newChannel('typing');
    await open(channelId);
    await field().waitFor();
    await request(fixture.ada, 'POST', `/api/channels/${channelId}/typing`);
    await page.getByText('Ada Lovelace is typing…').waitFor();
  });
});
