import { expect } from 'chai';
import type { CDPSession, Page } from 'playwright-core';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { useWebFixture } from './web-fixture.ts';

describe('web: input methods and scripts', () => {
  const fixture = useWebFixture();
  const { newChannel, messagesIn } = fixture;

  /** Begins a composition in the field that has the focus. */
  const compose = async (page: Page, text: string): Promise<CDPSession> => {
    const session = await page.context().newCDPSession(page);
    await session.send('Input.imeSetComposition', { text, selectionStart: text.length, selectionEnd: text.length });
    return session;
  };
  /** Presses the Enter that confirms a composition: during it, as in Chromium, and after it with the key code 229, as in Safari. */
  const confirm = async (page: Page): Promise<void> => {
    await page.evaluate(`for (const more of [{ isComposing: true }, { keyCode: 229 }])
      document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true, ...more }))`);
  };

  /** Fields in which Enter does something. `done` shows that it did. */
  const fields: Record<
    string,
    { open: (page: Page, name: string) => Promise<unknown>; done: (page: Page, name: string) => Promise<boolean> }
  > = {
    composer: {
      open: (page, name) => page.getByRole('textbox', { name: `Message ${name}` }).fill('text'),
      done: async (page) => (await page.getByRole('article').count()) > 1,
    },
    edit: {
      async open(page, name) {
        await page.getByRole('textbox', { name: `Message ${name}` }).press('ArrowUp');
        await page.getByRole('textbox', { name: 'Edit message' }).fill('changed');
      },
      done: async (page) => (await page.getByRole('textbox', { name: 'Edit message' }).count()) === 0,
    },
    'quick switcher': {
      async open(page) {
        await page.keyboard.press('Control+k');
        await page.getByRole('combobox', { name: 'Search servers' }).fill('general');
        await page.getByRole('option', { name: 'general' }).waitFor();
      },
      done: async (page) => (await page.getByRole('dialog').count()) === 0,
    },
    'emoji picker': {
      async open(page) {
        await page.getByRole('button', { name: 'Emoji', exact: true }).click();
        await page.getByLabel('Search emoji').fill('tada');
        await page.getByRole('button', { name: /party popper/i }).waitFor();
      },
      done: async (page) => (await page.getByLabel('Search emoji').count()) === 0,
    },
    completion: {
      async open(page, name) {
        await page.getByRole('textbox', { name: `Message ${name}` }).pressSequentially('@Bo');
        await page.getByRole('option', { name: 'Bob' }).waitFor();
      },
      done: async (page) => (await page.getByRole('option', { name: 'Bob' }).count()) === 0,
    },
  };
  it('only confirms a composition by its Enter', async () => {
    const page = await fixture.openPage(fixture.bob);
    for (const [what, { open, done }] of Object.entries(fields)) {
      const name = `enter-${what.replaceAll(' ', '-')}`;
      const channelId = await newChannel(name);
      await fixture.request(fixture.bob, 'POST', `/api/channels/${channelId}/messages`, { content: 'mine' });
      await page.goto(`/servers/${fixture.server.id}/${channelId}`);
      await page.getByRole('article').getByText('mine').waitFor();
      await open(page, name);
      await confirm(page);
      expect(await done(page, name), what).to.equal(false);
      await page.keyboard.press('Enter');
      await waitUntil(() => done(page, name), `Enter to work in ${what} after the composition`);
    }
  });

  it('does not submit a form by the Enter that confirms a composition', async () => {
    const page = await fixture.openPage(fixture.bob);
    await page.goto('/');
    await page.getByLabel('Server name').focus();
    await compose(page, 'みなと');
    await page.keyboard.press('Enter');
    expect(await page.getByLabel('Server name').inputValue()).to.equal('みなと');
    expect(page.url()).to.equal(`${fixture.site.origin}/`);
  });

  it('suggests people after letters and punctuation of scripts without spaces, and mentions them before such letters', async () => {
    const channelId = await newChannel('scripts');
    const page = await fixture.openChannel(fixture.bob, channelId);
    const field = page.getByRole('textbox', { name: 'Message scripts' });
    await field.pressSequentially('こんにちは@Ada');
    await page.getByRole('option', { name: 'Ada Lovelace' }).click();
    await field.press('Backspace');
    await page.keyboard.insertText('さん。@Bo');
    await page.getByRole('option', { name: 'Bob' }).waitFor();
    await field.press('Enter');
    await field.press('Enter');
    await waitUntil(async () => (await messagesIn(channelId)).length > 0, 'the message');
    expect((await messagesIn(channelId))[0]?.content).to.equal(`こんにちは<@${fixture.ada.id}>さん。<@${fixture.bob.id}>`);
  });

  it('suggests people, channels and emoji while a message is edited, but no commands', async () => {
    const channelId = await newChannel('editing');
    await fixture.request(fixture.bob, 'POST', `/api/channels/${channelId}/messages`, { content: 'old' });
    const page = await fixture.openChannel(fixture.bob, channelId);
    await page.getByRole('article').getByText('old').waitFor();
    await page.getByRole('textbox', { name: 'Message editing' }).press('ArrowUp');
    const field = page.getByRole('textbox', { name: 'Edit message' });
    await field.fill('/');
    expect(await page.getByRole('listbox').count()).to.equal(0);
    await field.fill('');
    await field.pressSequentially('for @Ada');
    const option = page.getByRole('option', { name: 'Ada Lovelace' });
    await option.waitFor();
    // The list is not cut off by the list of messages.
    await option.click();
    await field.pressSequentially(':tada');
    await page.getByRole('option').first().waitFor();
    await field.press('Tab');
    await field.press('Enter');
    await field.waitFor({ state: 'detached' });
    expect((await messagesIn(channelId))[0]?.content.trim()).to.equal(`for <@${fixture.ada.id}> 🎉`);
  });

  it('writes Hebrew and Arabic from right to left in every field for text', async () => {
    const channelId = await newChannel('rtl');
    await fixture.request(fixture.bob, 'POST', `/api/channels/${channelId}/messages`, { content: 'mine' });
    const page = await fixture.openPage(fixture.bob);
    const expectDirections = async (label: RegExp): Promise<void> => {
      const field = page.getByLabel(label).and(page.locator('input:not([type=radio]), textarea')).first();
      for (const [text, expected] of [
        ['שלום', 'rtl'],
        ['hello', 'ltr'],
        ['مرحبا', 'rtl'],
      ] as const) {
        await field.fill(text);
        expect(await page.evaluate('getComputedStyle(document.activeElement).direction'), label.source).to.equal(expected);
      }
      await field.fill('');
    };
    await page.goto(`/servers/${fixture.server.id}/${channelId}`);
    await page.getByRole('article').getByText('mine').waitFor();
    await expectDirections(/^Message /);
    await page.getByRole('textbox', { name: /^Message / }).press('ArrowUp');
    await expectDirections(/^Edit message/);
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Emoji', exact: true }).click();
    await expectDirections(/^Search emoji/);
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+k');
    await expectDirections(/^Search servers/);
    for (const [path, ...labels] of [
      ['/', /^Server name/],
      ['/settings/profile', /^Display name/, /^About/],
      ['/settings/status', /status/i],
      ['/developers/reference', /^Search the reference/],
    ] as const) {
      await page.goto(path);
      for (const label of labels) await expectDirections(label);
    }
  });
});
