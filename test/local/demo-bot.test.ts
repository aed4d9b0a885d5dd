import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { apiClient, type Call } from '../../apps/local/api-client.ts';
import { startDemoBot } from '../../apps/local/demo-bot.ts';
import { demoCommands, replyTo } from '../../apps/local/demo-commands.ts';
import type { Demo } from '../../apps/local/demo-notes.ts';
import type { GatewayClient } from '../../apps/local/gateway-client.ts';
import { freePort } from '../../apps/local/probe.ts';
import { seed } from '../../apps/local/seed.ts';
import type { Message } from '../../lib/contract/message.ts';
import { until } from '../harness/scene.ts';
import { type Ear, listenAs, startWhole, type Whole } from '../harness/whole.ts';

describe('the demo, all roles running', function () {
  this.timeout(180_000); // the whole demo is made first
  let whole: Whole;
  let bot: GatewayClient;
  let demo: Demo;
  let call: Call;
  let ear: Ear;
  let commands: Record<string, string>;
  const folder = mkdtempSync(join(tmpdir(), 'parlance-demo-'));

  before(async () => {
    whole = await startWhole({ GATEWAY_PORT: String(await freePort()) });
    demo = await seed(whole.url, folder);
    call = apiClient(whole.url, `Bearer ${demo.person.token}`);
    bot = await startDemoBot(whole.url, demo.application.token);
    await bot.ready;
    ear = await listenAs(whole, demo.person.token);
    const list = await call<{ id: string; name: string }[]>('GET', `/api/channels/${demo.server.channelId}/commands`);
    commands = Object.fromEntries(list.map(({ id, name }) => [name, id]));
  });
  after(async () => {
    await ear.client.close();
    bot.close();
    await bot.done;
    await whole.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Uses a command as the person; answers the states that it went through and the messages that came of it, up to the one that `wanted` says. */
  const use = async (name: string, options: object = {}, wanted = /./): Promise<{ states: string[]; said: string[]; hidden: boolean }> => {
    const from = ear.heard.length;
    const body = { options: Object.entries(options).map(([option, value]) => ({ name: option, value })) };
    const { id } = await call<{ id: string }>('POST', `/api/channels/${demo.server.channelId}/commands/${commands[name]}/invoke`, body);
    const messageOf = (event: Ear['heard'][number]): Message | null => {
      const message = event.t === 'MESSAGE_CREATE' ? (event.d as unknown as Message) : null;
      return message?.author.id === demo.application.botId ? message : null;
    };
    await until(() => ear.heard.slice(from).some((event) => wanted.test(messageOf(event)?.content ?? '')), `/${name} is answered`);
    const heard = ear.heard.slice(from);
    const messages = heard.map(messageOf).filter((message) => message !== null);
    const updates = heard.filter(({ t, d }) => t === 'INTERACTION_UPDATE' && (d as { id?: string }).id === id);
    return {
      states: updates.map(({ d }) => (d as { state: string }).state),
      said: messages.map(({ content }) => content),
      hidden: messages.every(({ ephemeral }) => ephemeral === true),
    };
  };

  it('/hello answers at once', async () => {
    const { said, hidden } = await use('hello', { name: 'Grace' });
    expect([said, hidden]).to.deep.equal([['Hello, Grace!'], false]);
  });

  it('/think defers, then answers', async () => {
    const { states, said } = await use('think', { question: 'Will it rain?' });
    expect(states[0]).to.equal('deferred');
    expect(said).to.deep.equal(['I thought about it: Will it rain? **Yes.**']);
  });

  it('/secret is seen by nobody else, and not stored', async () => {
    expect((await use('secret')).hidden).to.equal(true);
    const stored = await call<Message[]>('GET', `/api/channels/${demo.server.channelId}/messages`);
    expect(stored.filter(({ content }) => content.startsWith('Only you'))).to.deep.equal([]);
  });

  it('/remind comes back, to whom it was told to', async () => {
    const who = `<@${demo.guest.id}>`;
    const { said } = await use('remind', { about: 'the gate', minutes: 0.002, who, quiet: false }, /gate/);
    expect(said).to.deep.equal(['I’ll remind you in 0.002 minutes.', `${who} the gate`]);
  });

  it('the code channel shows the push and the pull request', async () => {
    const read = () => call<Message[]>('GET', `/api/channels/${demo.made.code}/messages`);
    await until(async () => (await read()).length === 2, 'both are posted');
    const [push, pull] = await read();
    expect(JSON.stringify(push?.embeds)).to.contain('Water the tomatoes').and.contain('Count the bees');
    expect(JSON.stringify(pull?.embeds)).to.contain('Fix the hinge of the gate');
    expect(push?.author).to.deep.include({ displayName: 'Garden repository', tag: 'bot' });
  });
});

describe('replies of the demo bot', () => {
  const user = { id: '1', username: 'ada', displayName: 'Ada', avatarUrl: null, roles: [] };
  const reply = (name: string, options: Record<string, string | number | boolean> = {}) =>
    replyTo({
      user,
      channelId: '3',
      serverId: null,
      data: { id: '2', name, options: Object.entries(options).map(([option, value]) => ({ name: option, type: typeof value, value })) },
    });

  const rows: [what: string, name: string, options: Record<string, string | number | boolean>, content: RegExp, hidden?: true][] = [
    ['who asks', 'hello', {}, /^Hello, Ada!$/],
    ['a long name, cut', 'hello', { name: '🌳'.repeat(2000) }, /^Hello, 🌳{1993}$/u],
    ['a die of six', 'roll', {}, /^Ada rolls \*\*[1-6]\*\* of 6\.$/],
    ['the largest die', 'roll', { sides: 1000 }, /of 1000\.$/],
    ['no die', 'roll', { sides: 1 }, /^A die has/, true],
    ['a die too large', 'roll', { sides: 1001 }, /^A die has/, true],
    ['a time too long', 'remind', { about: 'x', minutes: 10.5 }, /within 10 minutes/, true],
    ['no time', 'remind', { about: 'x', minutes: 0 }, /within 10 minutes/, true],
    ['a quiet reminder', 'remind', { about: 'x', quiet: true }, /in 1 minute\.$/, true],
    ['ids of here', 'ids', {}, /^you `1`\nchannel `3`$/, true],
    ['ids of what is named', 'ids', { role: '9' }, /^role `9`$/, true],
  ];
  for (const [what, name, options, content, hidden] of rows)
    it(`/${name}: ${what}`, () => {
      const { first } = reply(name, options) ?? {};
      expect(first?.content).to.match(content);
      expect(first?.ephemeral).to.equal(hidden);
    });

  it('leaves /silent and what it does not know unanswered', () => {
    for (const name of ['silent', 'nothing', 'constructor']) expect(reply(name)).to.equal(undefined);
  });

  it('each command but /silent has one', () => {
    const unanswered = demoCommands.filter(({ name }) => !reply(name, { about: 'x', question: 'x' }));
    expect(unanswered.map(({ name }) => name)).to.deep.equal(['silent']);
  });
});
