import { mock } from 'node:test';
import type { Interaction } from '@parlance/bot';
import { expect } from 'chai';
import { waitUntil } from '../../harness/interaction-fixture.ts';
import { use } from '../../harness/use.ts';
import { useClients } from './kit-fixture.ts';
import { ScriptedService } from './scripted-service.ts';

describe('JavaScript kit: slow listeners', () => {
  const service = use(ScriptedService.start, { each: true });
  /** Never ends while a test runs. */
  let never: Promise<void>;
  let endAll = (): void => undefined;
  beforeEach(() => {
    never = new Promise((resolve) => {
      endAll = resolve;
    });
  });
  afterEach(() => {
    mock.timers.reset();
    endAll();
  });
  const { makeClient, start } = useClients(service);
  const hang = async (interaction: Interaction<object>): Promise<void> => {
    await interaction.reply('Wait.');
    await never;
  };
  /** Waits until the client has received what was sent so far. */
  const roundTrip = async (): Promise<void> => {
    service.send({ op: 1, d: null });
    await service.heartbeat();
  };
  /** Waits for the answer to the command that was sent at position `s`. */
  const answered = (s: number): Promise<void> =>
    waitUntil(() => service.requests.some((line) => line.startsWith(`POST /api/interactions/i${s}/`)), `the answer to i${s}`);

  it('handle the events of one channel in order, and those of others meanwhile', async () => {
    const log: string[] = [];
    const finish = new Map<string, () => void>();
    const client = makeClient().on('messageCreate', async ({ content }) => {
      log.push(`begin ${content}`);
      await new Promise<void>((resolve) => finish.set(content, resolve));
      log.push(`end ${content}`);
    });
    client.on('messageUpdate', ({ content }) => log.push(`edit ${content}`));
    await start(client);
    service.message(1, 'a');
    service.message(2, 'a');
    service.send({ op: 0, t: 'MESSAGE_UPDATE', s: '3', d: { content: 'message 2', channelId: 'a' } });
    service.message(4, 'b');
    await waitUntil(() => log.length === 2, 'one event of each channel');
    for (const content of ['message 4', 'message 1']) finish.get(content)?.();
    await waitUntil(() => finish.has('message 2'), 'the next event');
    finish.get('message 2')?.();
    await waitUntil(() => log.length === 7, 'all events');
    const of = (end: string): string[] => log.filter((line) => line.endsWith(end));
    expect(log.filter((line) => !line.endsWith('4'))).to.deep.equal([...of('1'), 'begin message 2', 'end message 2', 'edit message 2']);
  });

  it('wait for all listeners of an event, also if one of them fails', async () => {
    const log: string[] = [];
    let finish = (): void => undefined;
    const client = makeClient().on('error', () => log.push('error'));
    client.on('messageCreate', ({ content }) => {
      log.push(content);
      throw new Error('a fault');
    });
    client.on('messageCreate', ({ content }) => (content === 'message 1' ? new Promise<void>((resolve) => (finish = resolve)) : undefined));
    await start(client);
    service.message(1);
    service.message(2);
    service.message(3, 'other');
    await waitUntil(() => log.length === 3, 'the event of the other channel');
    expect(log).to.deep.equal(['message 1', 'message 3', 'error']);
    finish();
    await waitUntil(() => log.includes('message 2'), 'the next event');
  });

  it('that never end hold neither commands nor other channels', async () => {
    const contents: string[] = [];
    const client = makeClient();
    client.on('messageCreate', ({ content, channelId }) => {
      contents.push(content);
      return channelId === 'quick' ? undefined : never;
    });
    client.command('hang', { description: 'Never ends' }, hang);
    client.command('hello', { description: 'Says hello' }, (interaction) => interaction.reply('Hello!'));
    service.answers = { 'GET /api/auth/me': { applicationId: 'a' }, 'GET /api/applications': [], 'PUT /api/applications': [] };
    await start(client);
    for (let s = 1; s <= 100; s++) service.message(s, `c${s}`);
    for (let s = 101; s <= 200; s++) service.use(s, 'hang');
    service.use(201, 'hello');
    service.message(202, 'quick');
    service.message(203, 'c1');
    service.message(204, 'quick');
    await answered(201);
    await waitUntil(() => contents.at(-1) === 'message 204', 'the message of the other channel');
    expect(contents).not.to.include('message 203');
    expect(service.sockets).to.have.length(1);
  });

  it('drop events of a channel that has too many, say so once, and let commands and other channels pass', async () => {
    const contents: string[] = [];
    const missed: string[] = [];
    let release = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const client = makeClient({ queueSize: 3 }).on('eventsMissed', ({ reason }) => missed.push(reason));
    client.on('messageCreate', ({ content, channelId }) => {
      contents.push(content);
      return channelId === 'full' ? gate : undefined;
    });
    client.command('hello', { description: 'Says hello' }, (interaction) => interaction.reply('Hello!'));
    service.answers = { 'GET /api/auth/me': { applicationId: 'a' }, 'GET /api/applications': [], 'PUT /api/applications': [] };
    await start(client);
    for (let s = 1; s <= 10; s++) service.message(s, 'full');
    service.use(11, 'hello');
    service.message(12, 'quick');
    await answered(11);
    await waitUntil(() => contents.includes('message 12'), 'the other channel');
    expect(missed).to.have.length(1);
    expect(missed[0]).to.equal('too many events of channel full are unfinished, so further ones are skipped');
    release();
    await waitUntil(() => client.session?.position === '12', 'the position');
    service.message(13, 'full');
    await waitUntil(() => contents.includes('message 13'), 'the channel goes on');
    expect(contents).to.deep.equal(['message 1', 'message 12', 'message 2', 'message 3', 'message 13']);
    expect(service.sockets).to.have.length(1);
  });

  it('say again that events are missed when half of the room was free in between', async () => {
    const missed: string[] = [];
    const quick: string[] = [];
    const finish: (() => void)[] = [];
    const client = makeClient({ queueSize: 4 }).on('eventsMissed', ({ reason }) => missed.push(reason));
    client.on('messageCreate', ({ channelId, content }) => {
      if (channelId === 'full') return Promise.race([never, new Promise<void>((resolve) => finish.push(resolve))]);
      return quick.push(content);
    });
    await start(client);
    let s = 0;
    /** Posts messages, and finishes some when all of them have arrived; returns how often the bot was told that events are missed. */
    const fill = async (posted: number, finished: number): Promise<number> => {
      for (let at = 0; at < posted; at++) service.message(++s, 'full');
      service.message(++s, 'quick');
      await waitUntil(() => quick.includes(`message ${s}`), 'the last message');
      for (let at = 0; at < finished; at++) {
        await waitUntil(() => finish.length > 0, 'the next event');
        finish.shift()?.();
      }
      return missed.length;
    };
    expect([await fill(5, 1), await fill(2, 2), await fill(3, 0)]).to.deep.equal([1, 1, 2]);
  });

  it('give a quiet channel and commands room while busy ones fill the whole queue', async () => {
    const contents: string[] = [];
    const client = makeClient({ queueSize: 2 });
    client.command('hang', { description: 'Never ends' }, hang);
    client.command('hello', { description: 'Says hello' }, (interaction) => interaction.reply('Hello!'));
    service.answers = { 'GET /api/auth/me': { applicationId: 'a' }, 'GET /api/applications': [], 'PUT /api/applications': [] };
    client.on('messageCreate', ({ content, channelId }) => {
      contents.push(content);
      return channelId === 'quiet' ? undefined : never;
    });
    await start(client);
    for (let s = 1; s <= 40; s++) service.message(s, `c${s % 8}`);
    service.message(41, 'quiet');
    await waitUntil(() => contents.includes('message 41'), 'the quiet channel');
    for (let s = 42; s <= 46; s++) service.use(s, 'hang');
    service.use(47, 'hello');
    await answered(47);
  });

  it('hold no prefix commands of their channel, also when its queue is full', async () => {
    const client = makeClient({ queueSize: 2 }).on('messageCreate', () => never);
    const used: string[] = [];
    client.prefixCommand('!', 'ping', 'Answers', async ({ text, reply }) => {
      used.push(text);
      await reply('pong');
    });
    client.prefixCommand('!', 'hang', 'Never ends', () => never);
    service.answers = { 'GET /api/auth/me': { applicationId: 'a' }, 'GET /api/applications': [], 'PUT /api/applications': [] };
    await start(client);
    for (let s = 1; s <= 4; s++) service.message(s);
    for (let s = 5; s <= 6; s++) {
      service.message(s, 'c1', `!ping ${s}`);
      await waitUntil(() => service.requests.filter((line) => line === 'POST /api/channels/c1/messages').length === s - 4, 'the reply');
    }
    service.message(7, 'c1', '!hang');
    service.message(8, 'c1', '!ping in order');
    service.message(9, 'c2', '!ping elsewhere');
    await waitUntil(() => used.includes('elsewhere'), 'the command in the other channel');
    expect(used).to.deep.equal(['5', '6', 'elsewhere']);
    expect(client.session?.position).to.equal('0');
    endAll();
    await waitUntil(() => client.session?.position === '9', 'the position');
    expect(used).to.include('in order');
  });

  it('are named once when they run for more than a minute, with what waits for them', async () => {
    const warnings: string[] = [];
    const client = makeClient().on('warning', (text) => warnings.push(text));
    let calls = 0;
    client.on('messageCreate', () => {
      calls++;
      return never;
    });
    client.on('memberAdd', () => never).on('resumed', () => never);
    client.command('hang', { description: 'Never ends' }, hang);
    client.prefixCommand('!', 'hang', 'Never ends', () => never);
    service.answers = { 'GET /api/auth/me': { applicationId: 'a' }, 'GET /api/applications': [], 'PUT /api/applications': [] };
    await start(client);
    mock.timers.enable({ apis: ['setTimeout'] });
    service.message(1, 'a');
    service.message(2, 'b', '!hang');
    service.use(3, 'hang');
    service.send({ op: 0, t: 'MEMBER_ADD', s: '4', d: { serverId: 's' } });
    service.send({ op: 0, t: 'RESUMED', s: '5', d: { replayed: 0 } });
    while (calls < 2 || client.session?.position !== '0') await new Promise((resolve) => setImmediate(resolve));
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    mock.timers.tick(61_000);
    expect(warnings.map((text) => text.replace(' has been running for more than a minute', ''))).to.deep.equal([
      'A listener of messageCreate. Later events of channel a wait for it.',
      'The handler of !hang (messageCreate). Later prefix commands in channel b wait for it.',
      'The handler of /hang (interactionCreate).',
      'A listener of memberAdd. Later events of server s wait for it.',
      'A listener of resumed.',
    ]);
  });

  it('that outlast stop() are not counted as handled, and nothing more is started', async () => {
    const contents: string[] = [];
    const positions: string[] = [];
    const client = makeClient()
      .on('session', ({ position }) => positions.push(position))
      .on('error', () => undefined);
    client.on('messageCreate', async ({ content, channelId }) => {
      contents.push(content);
      await never;
      await client.api.getChannel(channelId);
    });
    await start(client);
    for (const s of [1, 2, 3]) service.message(s);
    await waitUntil(() => contents.length === 1, 'the first event');
    await roundTrip();
    mock.timers.enable({ apis: ['setTimeout'] });
    const stopped = client.stop({ keepSession: true });
    mock.timers.tick(10_000);
    await stopped;
    endAll();
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect([contents, positions, client.session?.position]).to.deep.equal([['message 1'], ['0'], '0']);
  });

  for (const keepSession of [false, true])
    it(`may call stop({ keepSession: ${keepSession} }), which waits for the others, and their events do not come again`, async () => {
      const ended: string[] = [];
      const release: (() => void)[] = [];
      const client = makeClient();
      client.on('messageCreate', async ({ content }) => {
        if (content === 'message 4') for (const resolve of release) resolve();
        else if (content !== 'message 3') await new Promise<void>((resolve) => release.push(resolve));
        if (content === 'message 2') await client.stop({ keepSession });
        ended.push(content);
      });
      await start(client);
      service.message(1, 'a');
      for (const s of [2, 3]) service.message(s, 'b');
      service.message(4, 'c');
      const began = performance.now();
      await waitUntil(() => ended.length === 4, 'the end of the handlers');
      expect(performance.now() - began, 'not the 10 s of a handler that does not end').to.be.lessThan(9_000);
      expect(ended.at(-1)).to.equal('message 2');
      expect(client.session?.position).to.equal(keepSession ? '4' : undefined);
    });
});
