import { expect } from 'chai';
import type { Page } from 'playwright-core';
import type { Interaction } from '../../lib/contract/interaction.ts';
import type { Message } from '../../lib/contract/message.ts';
import { deriveInteractionToken } from '../../lib/store/seal.ts';
import { type Bot, makeBot } from '../harness/factories.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { type EventRecorder, recordEvents } from '../harness/parlance.ts';
import { send } from '../harness/requests.ts';
import { setApplication } from '../harness/seed.ts';
import { useWebFixture } from './web-fixture.ts';

const option = (name: string, type: string, required = false) => ({ name, type, required, description: `the ${name}` });

describe('web: slash commands', () => {
  let bot: Bot;
  let channelId: string;
  let recorder: EventRecorder;
  let page: Page;
  const fixture = useWebFixture();

  const composer = () => page.getByRole('textbox', { name: /^Message / });
  const messages = (): Promise<Message[]> => fixture.messagesIn(channelId);
  const seenIds = new Set<string>();
  /** Waits for the next INTERACTION_CREATE of a command that the bot receives. */
  const nextInvocation = async (name: string): Promise<Interaction> => {
    const { d } = await recorder.waitFor(
      ({ t, d: use }) => t === 'INTERACTION_CREATE' && (use as Interaction).data.name === name && !seenIds.has(String(use.id)),
    );
    const invocation = d as unknown as Interaction;
    seenIds.add(invocation.id);
    return invocation;
  };
  const respond = ({ id, token }: Interaction, body: object, route = 'callback') =>
    fixture.site.call('POST', `/api/interactions/${id}/${token}/${route}`, { body: { type: 'message', ...body } });

  before(async () => {
    const { site, ada, server } = fixture;
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
    recorder = await recordEvents(site, bot.token);
  });
  after(() => recorder?.client.close());
  beforeEach(async () => {
    page = await fixture.openChannel(fixture.ada, channelId);
  });

  it('fills in every option type by keyboard and shows each error at its option', async () => {
    const role = await fixture.request<{ id: string }>(fixture.ada, 'POST', `/api/servers/${fixture.server.id}/roles`, { name: 'Crew' });
    await composer().pressSequentially('/ev');
    await page.getByRole('option', { name: /every/ }).waitFor();
    await page.keyboard.press('Enter');
    // The form is sent empty, so the API reports the required option.
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
    const invocation = await nextInvocation('every');
    expect(invocation.data.options.map(({ name, value }) => [name, value])).to.deep.equal([
      ['text', 'some words'],
      ['a-integer', 42],
      ['a-number', -2.5],
      ['a-boolean', false],
      ['a-user', fixture.ada.id],
      ['a-role', role.id],
      ['a-channel', channelId],
    ]);
    await composer().waitFor();
    await respond(invocation, { content: 'All filled in' });
    await page.getByRole('article').getByText('All filled in').waitFor();
  });

  it('runs a command that is typed as text, and sends an unknown command as a message only after confirmation', async () => {
    await composer().fill('/every text: as typed a-user: ');
    await composer().press('End');
    await composer().pressSequentially('@ada');
    await page.getByRole('option', { name: /Ada/ }).waitFor();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Enter');
    const { data, ...use } = await nextInvocation('every');
    expect(data.options.map(({ name, value }) => [name, value])).to.deep.equal([
      ['text', 'as typed'],
      ['a-user', fixture.ada.id],
    ]);
    await respond({ data, ...use }, { content: 'ok' });
    await waitUntil(async () => (await composer().inputValue()) === '', 'an empty composer');
    await composer().fill('/every a-integer: x');
    await composer().press('Enter');
    await page.getByRole('alert').getByText('text', { exact: true }).waitFor();
    await composer().fill('/none of this');
    await composer().press('Enter');
    await page.getByText('This channel has no command /none.').waitFor();
    expect((await messages()).some(({ content }) => content.startsWith('/none'))).to.equal(false);
    await page.getByRole('button', { name: 'Send as message' }).click();
    await waitUntil(async () => (await messages()).at(-1)?.content === '/none of this', 'the message');
  });

  it('runs a command without options at once, and shows immediate, deferred, ephemeral and missing responses', async () => {
    const other = await fixture.openChannel(fixture.bob, channelId);
    const message = (text: string, where = page) => where.getByRole('article').filter({ hasText: text });
    const invoke = async (): Promise<Interaction> => {
      await composer().pressSequentially('/hello');
      await page.getByRole('option', { name: /hello/ }).waitFor();
      await page.keyboard.press('Enter');
      return nextInvocation('hello');
    };
    await respond(await invoke(), { content: 'Answered at once' });
    await message('Answered at once', other).getByText('/hello').waitFor();
    const deferred = await invoke();
    await respond(deferred, { type: 'defer' });
    await page.getByText(/is thinking/).waitFor();
    await respond(deferred, { content: 'Thought about' }, 'followup');
    await message('Thought about', other).waitFor();
    await page.getByText(/is thinking/).waitFor({ state: 'detached' });
    await respond(await invoke(), { content: 'For your eyes', ephemeral: true });
    await message('For your eyes').getByText('Only you can see this').waitFor();
    expect((await messages()).some(({ content }) => content === 'For your eyes')).to.equal(false);
    await invoke();
    await page.getByText(/did not respond/).waitFor();
    expect(await message('For your eyes', other).count()).to.equal(0);
    await page.reload();
    await message('Thought about').waitFor();
    expect(await message('For your eyes').count()).to.equal(0);
  });

  it('says at once that the endpoint of a bot has failed, and shows its answer when it comes in another way', async () => {
    const setEndpoint = (interactionsEndpointUrl: string | null) => setApplication(fixture.site.platform, bot, { interactionsEndpointUrl });
    // Requests to it are refused at once.
    await setEndpoint('https://127.0.0.1:1/');
    const invoked = page.waitForResponse((response) => response.url().endsWith('/invoke'));
    await composer().fill('/hello');
    await composer().press('Enter');
    await page.getByText(/has a problem and may not respond/).waitFor();
    const { id } = (await (await invoked).json()) as { id: string };
    await respond({ id, token: deriveInteractionToken(fixture.site.platform.config.APP_KEY, id) } as Interaction, { content: 'After all' });
    await page.getByRole('article').getByText('After all').waitFor();
    await page.getByText(/has a problem/).waitFor({ state: 'detached' });
    await composer().fill('/hello');
    await composer().press('Enter');
    await page.getByText(/has a problem/).waitFor();
    await page.getByText(/did not respond/).waitFor();
    await setEndpoint(null);
  });

  it('inserts the text of a prefix command, and says when the bot is offline', async () => {
    await composer().pressSequentially('/ro');
    await page.getByRole('option', { name: /!roll/ }).waitFor();
    await page.keyboard.press('Tab');
    expect(await composer().inputValue()).to.equal('!roll ');
    await composer().pressSequentially('2d6');
    await page.keyboard.press('Enter');
    await waitUntil(async () => (await messages()).at(-1)?.content === '!roll 2d6', 'the message');
    await recorder.client.close();
    await composer().fill('/hello');
    await page.keyboard.press('Escape');
    await composer().press('Enter');
    await page.getByText('The bot is offline, so the command was not sent.').waitFor();
    expect(await composer().inputValue()).to.equal('/hello');
  });
});
