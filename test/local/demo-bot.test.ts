import { expect } from 'chai';
import { apiClient, type Call } from '../../apps/local/api-client.ts';
import { startDemoBot } from '../../apps/local/demo-bot.ts';
import { demoCommands, replyTo } from '../../apps/local/demo-commands.ts';
import { freePort } from '../../apps/local/probe.ts';
import { seed } from '../../apps/local/seed.ts';
import type { OptionType } from '../../lib/contract/command.ts';
import type { Message } from '../../lib/contract/message.ts';
import { makeFolder } from '../harness/folder.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { type EventRecorder, recordEvents, startParlance } from '../harness/parlance.ts';
import { make, use } from '../harness/use.ts';

describe('the demo bot with all roles', () => {
  const folder = use(makeFolder);
  const parlance = use(async () => startParlance({ GATEWAY_PORT: String(await freePort()) }));
  const demo = make(() => seed(parlance.url, folder.path));
  const bot = use(async () => {
    const started = startDemoBot(parlance.url, demo.application.token);
    await started.ready;
    return { close: () => started.stop() };
  });
  const recorder = make(() => recordEvents(parlance, demo.person.token));
  const call: Call = (...given) => apiClient(parlance.url, `Bearer ${demo.person.token}`)(...given);
  let commands: Record<string, string>;
  before(async () => {
    const list = await call<{ id: string; name: string }[]>('GET', `/api/channels/${demo.server.channelId}/commands`);
    commands = Object.fromEntries(list.map(({ id, name }) => [name, id]));
  });

  /** Uses a command as the person and waits for a message of the bot that matches `expected`. Returns the states of the interaction and the bot's messages. */
  const useCommand = async (
    name: string,
    options: object = {},
    expected = /./,
  ): Promise<{ states: string[]; contents: string[]; isEphemeral: boolean }> => {
    const from = recorder.received.length;
    const body = { options: Object.entries(options).map(([option, value]) => ({ name: option, value })) };
    const { id } = await call<{ id: string }>('POST', `/api/channels/${demo.server.channelId}/commands/${commands[name]}/invoke`, body);
    const messageOf = (event: EventRecorder['received'][number]): Message | null => {
      const message = event.t === 'MESSAGE_CREATE' ? (event.d as Message) : null;
      return message?.author.id === demo.application.botId ? message : null;
    };
    await waitUntil(
      () => recorder.received.slice(from).some((event) => expected.test(messageOf(event)?.content ?? '')),
      `/${name} is answered`,
    );
    const received = recorder.received.slice(from);
    const messages = received.map(messageOf).filter((message) => message !== null);
    const updates = received.filter(({ t, d }) => t === 'INTERACTION_UPDATE' && (d as { id?: string }).id === id);
    return {
      states: updates.map(({ d }) => (d as { state: string }).state),
      contents: messages.map(({ content }) => content),
      isEphemeral: messages.every(({ ephemeral }) => ephemeral === true),
    };
  };

  it('/hello answers immediately', async () => {
    const { contents, isEphemeral } = await useCommand('hello', { name: 'Grace' });
    expect([contents, isEphemeral]).to.deep.equal([['Hello, Grace!'], false]);
  });

  it('/think defers, then answers', async () => {
    const { states, contents } = await useCommand('think', { question: 'Will it rain?' });
    expect(states[0]).to.equal('deferred');
    expect(contents).to.deep.equal(['I thought about it: Will it rain? **Yes.**']);
  });

  it('/secret answers with an ephemeral message that is not stored', async () => {
    expect((await useCommand('secret')).isEphemeral).to.equal(true);
    const stored = await call<Message[]>('GET', `/api/channels/${demo.server.channelId}/messages`);
    expect(stored.filter(({ content }) => content.startsWith('Only you'))).to.deep.equal([]);
  });

  it('/remind confirms, then mentions the chosen person', async () => {
    const who = `<@${demo.guest.id}>`;
    const { contents } = await useCommand('remind', { about: 'the gate', minutes: 0.002, who, quiet: false }, /gate/);
    expect(contents).to.deep.equal(['I’ll remind you in 0.002 minutes.', `${who} the gate`]);
  });

  it('shows the push and the pull request in the code channel', async () => {
    const read = () => call<Message[]>('GET', `/api/channels/${demo.made.code}/messages`);
    await waitUntil(async () => (await read()).length === 2, 'both are posted');
    const [push, pull] = await read();
    expect(JSON.stringify(push?.embeds)).to.contain('Water the tomatoes').and.contain('Count the bees');
    expect(JSON.stringify(pull?.embeds)).to.contain('Fix the hinge of the gate');
    expect(push?.author).to.deep.include({ displayName: 'Garden repository', tag: 'bot' });
  });

  it('409 bot_offline after it has stopped', async () => {
    await bot.close();
    const path = `/api/channels/${demo.server.channelId}/commands/${commands.hello}/invoke`;
    const invoke = () => parlance.call<{ code?: string }>('POST', path, { as: `Bearer ${demo.person.token}`, body: {} });
    // The gateway node may not yet have recorded the disconnect.
    await waitUntil(async () => (await invoke()).body.code === 'bot_offline', 'the command is refused');
  });
});

describe('replyTo', () => {
  const user = { id: '1', username: 'ada', displayName: 'Ada', avatarUrl: null, roles: [] };
  const typeOf = (value: string | number | boolean): OptionType =>
    typeof value === 'number' ? 'integer' : typeof value === 'string' ? 'string' : 'boolean';
  const reply = (name: string, options: Record<string, string | number | boolean> = {}) =>
    replyTo({
      user,
      channelId: '3',
      serverId: null,
      data: { id: '2', name, options: Object.entries(options).map(([option, value]) => ({ name: option, type: typeOf(value), value })) },
    });

  const rows: [what: string, name: string, options: Record<string, string | number | boolean>, content: RegExp, isEphemeral?: true][] = [
    ['greets the user without a name', 'hello', {}, /^Hello, Ada!$/],
    ['cuts a long name', 'hello', { name: '🌳'.repeat(2000) }, /^Hello, 🌳{1993}$/u],
    ['rolls a die with 6 sides by default', 'roll', {}, /^Ada rolls \*\*[1-6]\*\* of 6\.$/],
    ['rolls a die with 1000 sides', 'roll', { sides: 1000 }, /of 1000\.$/],
    ['refuses 1 side', 'roll', { sides: 1 }, /^A die has/, true],
    ['refuses 1001 sides', 'roll', { sides: 1001 }, /^A die has/, true],
    ['refuses 10.5 minutes', 'remind', { about: 'x', minutes: 10.5 }, /up to 10 minutes/, true],
    ['refuses 0 minutes', 'remind', { about: 'x', minutes: 0 }, /up to 10 minutes/, true],
    ['confirms a quiet reminder with an ephemeral message', 'remind', { about: 'x', quiet: true }, /in 1 minute\.$/, true],
    ['shows the ids of the user and the channel', 'ids', {}, /^you `1`\nchannel `3`$/, true],
    ['shows the id of the chosen role', 'ids', { role: '9' }, /^role `9`$/, true],
  ];
  for (const [what, name, options, content, isEphemeral] of rows)
    it(`/${name} ${what}`, () => {
      const { first } = reply(name, options) ?? {};
      expect(first?.content).to.match(content);
      expect(first?.ephemeral).to.equal(isEphemeral);
    });

  it('returns nothing for /silent and unknown commands', () => {
    for (const name of ['silent', 'nothing', 'constructor']) expect(reply(name)).to.equal(undefined);
  });

  it('returns a reply for every other command', () => {
    const unanswered = demoCommands.filter(({ name }) => !reply(name, { about: 'x', question: 'x' }));
    expect(unanswered.map(({ name }) => name)).to.deep.equal(['silent']);
  });
});
