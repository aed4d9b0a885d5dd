import { spawn } from 'node:child_process';
import { Client, type ClientOptions, ConnectionError } from '@parlance/bot';
import { expect } from 'chai';
import { freePort } from '../../../apps/local/probe.ts';
import { waitUntil } from '../../harness/interaction-fixture.ts';
import { use } from '../../harness/use.ts';
import { collectContents, useClients } from './kit-fixture.ts';
import { ScriptedService } from './scripted-service.ts';

describe('JavaScript kit: start, loss and stop', () => {
  const service = use(ScriptedService.start, { each: true });
  const { makeClient, start } = useClients(service);

  const malformed: [what: string, data: string | Buffer][] = [
    ['is not JSON', '{"op":'],
    ['is empty', ''],
    ['is null', 'null'],
    ['is a list', '[]'],
    ['is a number', '5'],
    ['has no op', '{}'],
    ['is binary', Buffer.from('{"op":0}')],
    ['is a hello without data', '{"op":10,"d":null}'],
    ['is a hello without an interval', '{"op":10,"d":{}}'],
    ['is an event without a name', '{"op":0,"s":"9","d":{}}'],
    ['is an event without a position', '{"op":0,"t":"MESSAGE_CREATE","d":{}}'],
    ['is an event without data', '{"op":0,"t":"MESSAGE_CREATE","s":"9","d":null}'],
    ['is a READY without a session', '{"op":0,"t":"READY","s":"9","d":{}}'],
  ];
  for (const [what, data] of malformed)
    it(`reports a frame that ${what}, and resumes`, async () => {
      const client = makeClient();
      const errors: unknown[] = [];
      client.on('error', (error) => errors.push(error));
      const { contents, reach } = collectContents(client);
      await start(client);
      service.message(7);
      await reach(1);
      service.last.send(data);
      expect(await service.next()).to.deep.equal({ op: 6, d: { token: 'secret', sessionId: 's1', seq: '7' } });
      service.message(8);
      await reach(2);
      expect(contents).to.deep.equal(['message 7', 'message 8']);
      expect(errors.map(String)).to.deep.equal(['Error: The gateway sent something that is not in its protocol. The bot resumes.']);
    });

  it('emits `disconnected` once for each loss, however many attempts fail', async () => {
    const client = makeClient();
    const losses: number[] = [];
    client.on('disconnected', ({ code }) => losses.push(code));
    await start(client);
    const reconnect = (): void => service.send({ op: 7, d: { retryAfterMs: 1 } });
    for (let loss = 1; loss <= 2; loss++) {
      reconnect();
      for (let attempt = 1; attempt <= 3; attempt++) {
        await service.next();
        reconnect();
      }
      await service.next();
      service.send({ op: 0, t: 'RESUMED', s: '1', d: { replayed: 0 } });
      service.message(loss);
      await waitUntil(() => client.session?.position === String(loss), 'the position');
      expect(losses).to.deep.equal(Array(loss).fill(4000));
    }
  });

  const noSessions: [what: string, resumeFrom: unknown][] = [
    ['{}', {}],
    ['null', null],
    ['[]', []],
    ['a text', 'session'],
    ['a session without a position', { id: 's1', url: 'ws://127.0.0.1:1/' }],
    ['a session with an empty position', { id: 's1', url: 'ws://127.0.0.1:1/', position: '' }],
    ['a session whose address is none', { id: 's1', url: 'gateway', position: '1' }],
  ];
  for (const [what, resumeFrom] of noSessions)
    it(`begins a new session when it should resume from ${what}`, async () => {
      const client = makeClient({ resumeFrom: resumeFrom as NonNullable<ClientOptions['resumeFrom']> });
      const warnings: string[] = [];
      client.on('warning', (text) => warnings.push(text));
      await start(client);
      expect(warnings.filter((text) => text.includes('resumeFrom'))).to.have.length(resumeFrom === null ? 0 : 1);
    });

  it('begins a new session when the gateway refuses the saved one with 4002', async () => {
    const url = `${service.url.replace('http', 'ws')}/gateway`;
    const started = makeClient({ resumeFrom: { id: 's1', url, position: 'damaged' } }).start();
    expect((await service.next()).op).to.equal(6);
    service.last.close(4002);
    expect((await service.next()).op).to.equal(2);
    service.ready();
    await started;
  });

  it('refuses commands that are declared after the start, by their name', async () => {
    const client = await start(makeClient());
    expect(() => client.command('late', { description: 'Late' }, () => undefined)).to.throw('Declare /late before start()');
    expect(() => client.prefixCommand('!', 'late', 'Late', () => undefined)).to.throw('Declare !late before start()');
    await client.stop();
    client.command('late', { description: 'Late' }, () => undefined);
  });

  const others: [prefix: string, name: string, isRefused: boolean][] = [
    ['?', 'ping', true],
    ['!', 'ping', true],
    ['!p', 'ing', true],
    ['!', 'pong', false],
  ];
  for (const [prefix, name, isRefused] of others)
    it(`${isRefused ? 'refuses' : 'accepts'} the prefix command ${prefix} + ${name} beside !ping when it is declared`, () => {
      const client = makeClient()
        .command('ping', { description: 'A slash command may have the name' }, () => undefined)
        .prefixCommand('!', 'ping', 'Answers', () => undefined);
      const declare = (): unknown => client.prefixCommand(prefix, name, 'Answers', () => undefined);
      if (isRefused) expect(declare).to.throw(`${prefix}${name} cannot be declared, because !ping is`);
      else declare();
    });

  it('rejects start() with commands while Parlance does not answer, and keeps connecting without', async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    const withCommand = makeClient({ url, maxRetries: 0 }).command('one', { description: 'One' }, () => undefined);
    expect(await withCommand.start().catch((error: unknown) => error)).to.be.instanceOf(ConnectionError);
    const without = makeClient({ url, maxRetries: 0 });
    const isLost = new Promise<string>((resolve) => without.on('disconnected', () => resolve('disconnected')));
    expect(await Promise.race([without.start(), isLost])).to.equal('disconnected');
  });

  it('refuses requests after stop() until it starts again', async () => {
    const client = await start(makeClient());
    await client.stop();
    const refusal = await client.api.getMe().catch((error: unknown) => error);
    expect(String(refusal)).to.contain('The client is stopped');
    await start(client);
    await client.api.getMe();
  });

  const addresses: [given: string, used: string | RegExp][] = [
    ['http://localhost:8080', 'http://localhost:8080'],
    [' https://chat.example.org/\n', 'https://chat.example.org'],
    ['https://chat.example.org/api', 'https://chat.example.org'],
    ['https://chat.example.org/api/', 'https://chat.example.org'],
    ['https://chat.example.org/team/', 'https://chat.example.org/team'],
    ['localhost:8080', /must be an address that begins with http/],
    ['chat.example.org', /must be an address that begins with http/],
    ['wss://chat.example.org/gateway', /must be an address that begins with http/],
    ['http://', /must be an address that begins with http/],
    ['https://name:word@chat.example.org', /must not have a username or password/],
    ['https://chat.example.org/?a=b', /without "\?" and "#"/],
  ];
  for (const [given, used] of addresses)
    it(`${typeof used === 'string' ? 'understands' : 'refuses'} the address ${JSON.stringify(given)}, by name`, () => {
      process.env.PARLANCE_URL = given;
      try {
        for (const [name, options] of [
          ['PARLANCE_URL', {}],
          ['`url` of the Client', { url: given }],
        ] as const)
          if (typeof used === 'string') expect(new Client(options).url).to.equal(used);
          else
            expect(() => new Client(options))
              .to.throw(used)
              .with.property('message')
              .that.contains(name);
      } finally {
        delete process.env.PARLANCE_URL;
      }
    });

  for (const token of ['secret\n', '\r\n secret\r\n', 'Bot secret\n'])
    it(`understands the token ${JSON.stringify(token)}`, async () => {
      const started = makeClient({ token }).start();
      expect((await service.next()).d.token).to.equal('secret');
      service.ready();
      await started;
    });

  for (const token of ['sec\nret', 'sec ret', 'sécret'])
    it(`refuses the token ${JSON.stringify(token)} by name, without showing it`, () => {
      process.env.PARLANCE_TOKEN = token;
      try {
        expect(() => new Client())
          .to.throw('PARLANCE_TOKEN')
          .with.property('message')
          .that.does.not.contain('ret');
      } finally {
        delete process.env.PARLANCE_TOKEN;
      }
    });
});

describe('JavaScript kit: a token that is revoked while the bot runs', () => {
  const service = use(ScriptedService.start, { each: true });
  const module = new URL('../../../sdk/javascript/src/index.ts', import.meta.url).href;
  /** Runs a bot whose token is revoked, and returns its exit code and what it wrote. */
  const run = async (lines: string): Promise<{ code: number | null; output: string }> => {
    const program = `import { Client, GatewayError } from ${JSON.stringify(module)};
const bot = new Client();
${lines}
await bot.start();`;
    const child = spawn(process.execPath, ['--import=tsx', '--input-type=module', '--eval', program], {
      env: { PATH: process.env.PATH, PARLANCE_URL: service.url, PARLANCE_TOKEN: 'secret' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (piece: Buffer) => {
        output += String(piece);
      });
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    await service.next();
    service.ready();
    service.last.close(4004);
    return { code: await ended, output };
  };

  for (const [what, lines] of [
    ['', ''],
    [', also if it has other work', 'setInterval(() => undefined, 1_000);'],
    [' if the listener throws it', "bot.on('error', (error) => { if (error instanceof GatewayError) throw error; });"],
  ] as const)
    it(`ends the process with an error${what}`, async () => {
      const { code, output } = await run(lines);
      expect(code).to.equal(1);
      expect(output).to.contain('GatewayError: The gateway refused the connection: the token is not valid');
    });

  it('lets a listener decide', async () => {
    const { code, output } = await run("bot.on('error', (error) => { console.log(error.closeCode); process.exitCode = 7; });");
    expect([code, output.trim()]).to.deep.equal([7, '4004']);
  });
});
