import { expect } from 'chai';
import type { Page } from 'playwright-core';
import type { Interaction } from '../../lib/contract/interaction.ts';
import type { Message } from '../../lib/contract/message.ts';
import type { Server } from '../../lib/contract/server.ts';
import { type Bot, makeBot, send } from '../harness/factories.ts';
import { until } from '../harness/scene.ts';
import { type Ear, listenAs } from '../harness/whole.ts';
import { type Person, type Site, signUp, startSite, useScreens } from './browser.ts';

const option = (name: string, type: string, required = false) => ({ name, type, required, description: `what is ${name}` });

describe('web: slash commands', function () {
  this.timeout(180_000);
  let site: Site;
  let ada: Person;
  let bot: Bot;
  let server: Server;
  let channelId: string;
  let ear: Ear;
  let page: Page;
  const screen = useScreens();

  const field = () => page.getByRole('textbox', { name: /^Message / });
  const messages = (): Promise<Message[]> => send(site, 200, ada, 'GET', `/api/channels/${channelId}/messages`);
  const taken = new Set<string>();
  /** The next use of a command that the bot is told of. */
  const told = async (name: string): Promise<Interaction> => {
    const { d } = await ear.hears(
      ({ t, d: use }) => t === 'INTERACTION_CREATE' && (use as unknown as Interaction).data.name === name && !taken.has(String(use.id)),
    );
    const use = d as unknown as Interaction;
    taken.add(use.id);
    return use;
  };
  const answer = ({ id, token }: Interaction, body: object, way = 'callback') =>
    site.call('POST', `/api/interactions/${id}/${token}/${way}`, { body: { type: 'message', ...body } });

  before(async () => {
    site = await startSite();
    ada = await signUp(site, 'Ada');
    server = await send<Server>(site, 201, ada, 'POST', '/api/servers', { name: 'Harbour' });
    channelId = server.channels[0]?.id as string;
    bot = await makeBot(site, ada, server.id);
    await send(site, 200, bot, 'PUT', `/api/applications/${bot.applicationId}/commands`, [
      {
        name: 'every',
        description: 'Every type',
        options: [
          option('text', 'string', true),
          ...['integer', 'number', 'boolean', 'user', 'role', 'channel'].map((type) => option(`a-${type}`, type)),
        ],
      },
      { name: 'hello', description: 'Says hello' },
      { name: 'roll', description: 'Rolls a die', kind: 'prefix', prefix: '!' },
    ]);
    ear = await listenAs(site, bot.token);
  });
  after(async () => {
    await ear?.client.close();
    await site?.close();
  });
  beforeEach(async () => {
    page = await screen(site, ada);
    await page.goto(`/servers/${server.id}/${channelId}`);
  });

  it('every type of option is filled in by keyboard; what is wrong is told at its option', async () => {
    const role = await send<{ id: string }>(site, 201, ada, 'POST', `/api/servers/${server.id}/roles`, { name: 'Crew' });
    await field().pressSequentially('/ev');
    await page.getByRole('option', { name: /every/ }).waitFor();
    await page.keyboard.press('Enter');
    // Sent empty: the API says what is required, at the option.
    await page.getByLabel('text (required)').waitFor();
    await page.keyboard.press('Enter');
    await page.getByText('is required', { exact: true }).waitFor();
    await page.getByLabel('text (required)').fill('some words');
    for (const type of ['integer', 'number', 'boolean', 'user', 'role', 'channel'])
      await page.getByRole('button', { name: `a-${type}`, exact: true }).click();
    await page.getByLabel('a-integer', { exact: true }).fill('1.5');
    await page.getByLabel('a-number', { exact: true }).fill('-2.5');
    await page.getByLabel('a-boolean', { exact: true }).selectOption('false');
    await page.getByLabel('a-user', { exact: true }).pressSequentially('ada');
    await page.getByRole('option', { name: /Ada/ }).waitFor();
    await page.keyboard.press('Tab');
    await page.getByLabel('a-role', { exact: true }).pressSequentially('cre');
    await page.getByRole('option', { name: /Crew/ }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByLabel('a-channel', { exact: true }).fill('nowhere');
    await page.getByLabel('text (required)').press('Enter');
    await page.getByText('Choose a channel from the list.').waitFor();
    await page.getByLabel('a-channel', { exact: true }).fill('general');
    await page.getByLabel('text (required)').press('Enter');
    await page.getByText(/must be a whole number/).waitFor();
    expect(await page.getByLabel('a-integer', { exact: true }).getAttribute('aria-invalid')).to.equal('true');
    await page.getByLabel('a-integer', { exact: true }).fill('42');
    await page.getByLabel('a-integer', { exact: true }).press('Enter');
    const use = await told('every');
    expect(use.data.options.map(({ name, value }) => [name, value])).to.deep.equal([
      ['text', 'some words'],
      ['a-integer', 42],
      ['a-number', -2.5],
      ['a-boolean', false],
      ['a-user', ada.id],
      ['a-role', role.id],
      ['a-channel', channelId],
    ]);
    await field().waitFor();
    await answer(use, { content: 'All filled in' });
    await page.getByRole('article').getByText('All filled in').waitFor();
  });

  it('a line of text is a command; a name that is none is sent only when that is meant', async () => {
    await field().fill('/every text: as typed a-user: ');
    await field().press('End');
    await field().pressSequentially('@ada');
    await page.getByRole('option', { name: /Ada/ }).waitFor();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Enter');
    const { data, ...use } = await told('every');
    expect(data.options.map(({ name, value }) => [name, value])).to.deep.equal([
      ['text', 'as typed'],
      ['a-user', ada.id],
    ]);
    await answer({ data, ...use }, { content: 'ok' });
    await until(async () => (await field().inputValue()) === '', 'an empty composer');
    await field().fill('/every a-integer: x');
    await field().press('Enter');
    await page.getByRole('alert').getByText('text', { exact: true }).waitFor();
    await field().fill('/none of this');
    await field().press('Enter');
    await page.getByText('This channel has no command /none.').waitFor();
    expect((await messages()).some(({ content }) => content.startsWith('/none'))).to.equal(false);
    await page.getByRole('button', { name: 'Send as a message' }).click();
    await until(async () => (await messages()).at(-1)?.content === '/none of this', 'the message');
  });

  it('a command that takes nothing goes at once; a deferred answer, one for the person only, and none are shown as such', async () => {
    const use = async (): Promise<Interaction> => {
      await field().pressSequentially('/hello');
      await page.getByRole('option', { name: /hello/ }).waitFor();
      await page.keyboard.press('Enter');
      return told('hello');
    };
    const deferred = await use();
    await answer(deferred, { type: 'defer' });
    await page.getByText(/is thinking/).waitFor();
    await answer(deferred, { content: 'Thought about' }, 'followup');
    await page.getByRole('article').getByText('Thought about').waitFor();
    await page.getByText(/is thinking/).waitFor({ state: 'detached' });
    await answer(await use(), { content: 'For your eyes', ephemeral: true });
    await page.getByRole('article').getByText('For your eyes').waitFor();
    expect((await messages()).some(({ content }) => content === 'For your eyes')).to.equal(false);
    await use();
    await page.getByText(/did not respond/).waitFor();
  });

  it('a prefix command puts in its text; a bot that is away is told of', async () => {
    await field().pressSequentially('/ro');
    await page.getByRole('option', { name: /!roll/ }).waitFor();
    await page.keyboard.press('Tab');
    expect(await field().inputValue()).to.equal('!roll ');
    await field().pressSequentially('2d6');
    await page.keyboard.press('Enter');
    await until(async () => (await messages()).at(-1)?.content === '!roll 2d6', 'the message');
    await ear.client.close();
    await field().fill('/hello');
    await page.keyboard.press('Escape');
    await field().press('Enter');
    await page.getByText('The bot is offline, so the command was not sent.').waitFor();
    expect(await field().inputValue()).to.equal('/hello');
  });
});
