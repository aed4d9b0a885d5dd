import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import pMap from 'p-map';
import { freePort } from '../../apps/local/probe.ts';
import type { Command } from '../../lib/contract/command.ts';
import { isGenuine } from '../endpoints/verify.ts';
import { type Received, reply, startEndpoint } from '../harness/endpoint.ts';
import { startParlance, useRecorder } from '../harness/parlance.ts';
import { send } from '../harness/requests.ts';
import { startSite } from '../harness/site.ts';
import { make, newApplication, newBot, use, useServer } from '../harness/use.ts';

/** `npm run forward` as a process. */
interface Forwarder {
  /** Everything that it has printed. */
  output: string;
  /** Resolves when it has printed something that matches `wanted`, behind the first `from` characters. Rejects if it exits before. */
  printed(wanted: RegExp, from?: number): Promise<void>;
  /** Resolves with its exit code. */
  ended: Promise<number | null>;
  child: ChildProcess;
}

const script = fileURLToPath(new URL('../../dist/apps/local/forward.js', import.meta.url));

function startForwarder(args: readonly string[], env: Record<string, string>): Forwarder {
  const child = spawn(process.execPath, [script, ...args], { env: { PATH: process.env.PATH, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  const looks = new Set<() => void>();
  const forwarder: Forwarder = {
    child,
    output: '',
    ended: new Promise((done) => child.once('close', done)),
    printed: (wanted, from = 0) =>
      new Promise((done, failed) => {
        const look = (): void => void (wanted.test(forwarder.output.slice(from)) && done());
        looks.add(look);
        look();
        void forwarder.ended.then((code) => failed(new Error(`exited with ${code}: ${forwarder.output}`)));
      }),
  };
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (piece: Buffer) => {
      forwarder.output += String(piece);
      for (const look of looks) look();
    });
  return forwarder;
}

describe('npm run forward', () => {
  const endpoint = use(startEndpoint);
  const { api, owner, server, bot, other } = useServer(
    { bot: newBot(), other: newApplication() },
    { start: async () => startParlance({ GATEWAY_PORT: String(await freePort()), OUTBOUND_ALLOW: endpoint.site.pair }) },
  );
  const command = make(async () => {
    const list = [{ name: 'hello', description: 'x' }];
    return (await send<Command[]>(api, 200, bot, 'PUT', `/api/applications/${bot.applicationId}/commands`, list))[0] ?? expect.fail();
  });
  const recorder = useRecorder(api, owner);

  const secrets = (): Record<string, string> => ({ PARLANCE_TOKEN: bot.token, SIGNING_SECRET: bot.signingSecret });
  const start = (to = endpoint.url, env = secrets(), id = bot.applicationId): Forwarder =>
    startForwarder([id, '--to', to, '--url', api.url], env);
  /** Uses the command; again while the service is overloaded. */
  const invoke = async (): Promise<string> => {
    const path = `/api/channels/${server.general}/commands/${command.id}/invoke`;
    for (;;) {
      const { status, body } = await api.call<{ id: string }>('POST', path, { as: owner.as, body: {} });
      if (status === 202) return body.id;
      expect(status, JSON.stringify(body)).to.equal(503);
    }
  };
  /** Uses the command until its interaction reaches `state`. On a busy machine an answer may miss the 3 seconds. */
  const useUntil = async (state: string): Promise<void> => {
    for (let found: unknown; found !== state; ) {
      const id = await invoke();
      found = (await recorder.waitFor(({ t, d }) => t === 'INTERACTION_UPDATE' && d.id === id)).d.state;
    }
  };
  const latest = (): Received => endpoint.received.at(-1) ?? expect.fail('nothing was received');

  describe('while it runs', () => {
    let forwarder: Forwarder;
    before(async () => {
      forwarder = start();
      await forwarder.printed(/# forwarding to/);
    });
    after(async () => {
      forwarder.child.kill('SIGINT');
      expect(await forwarder.ended).to.equal(0);
      for (const secret of [bot.token, bot.signingSecret, ...endpoint.received.map(({ json }) => String(json.token))])
        expect(forwarder.output).not.to.contain(secret);
    });

    it('sends the request that the platform sends to an Interactions Endpoint', async () => {
      endpoint.answer(reply(200, { type: 'message', content: 'from the laptop' }));
      await useUntil('answered');
      const forwarded = latest();
      const { headers, bytes } = forwarded;
      expect(await isGenuine({ headers, bytes }, bot.signingSecret, Date.now() / 1000)).to.equal(true);
      const path = `/api/applications/${bot.applicationId}`;
      await send(api, 200, owner, 'PATCH', path, { interactionsEndpointUrl: endpoint.url });
      await useUntil('answered');
      await send(api, 200, owner, 'PATCH', path, { interactionsEndpointUrl: null });
      const posted = latest();
      expect(posted).not.to.equal(forwarded);
      const headersOf = ({ headers: all }: Received): unknown => ({
        ...all,
        'x-service-timestamp': '',
        'x-service-signature': '',
        'content-length': '',
      });
      expect(headersOf(forwarded)).to.deep.equal(headersOf(posted));
      expect(Object.keys(forwarded.json)).to.deep.equal(Object.keys(posted.json));
      expect({ ...forwarded.json, id: 0, token: 0 }).to.deep.equal({ ...posted.json, id: 0, token: 0 });
    });

    const answers: readonly [what: string, answer: Parameters<typeof endpoint.answer>[0], line: RegExp, state: 'answered' | 'deferred'][] =
      [
        ['a message', reply(200, { type: 'message', content: 'Hi' }), /\/hello 200 \d+ ms answered\n/, 'answered'],
        ['a defer', reply(200, { type: 'defer' }), /\/hello 200 \d+ ms deferred\n/, 'deferred'],
      ];
    for (const [what, answer, line, state] of answers)
      it(`prints a line and gives the answer back, if the endpoint answers with ${what}`, async () => {
        endpoint.answer(answer);
        const from = forwarder.output.length;
        await Promise.all([forwarder.printed(line, from), useUntil(state)]);
      });

    const failures: readonly [what: string, answer: Parameters<typeof endpoint.answer>[0], line: RegExp][] = [
      ['an empty body', reply(200), /\/hello 200 \d+ ms empty\n/],
      ['a body that is not JSON', reply(200, 'Hi'), /\/hello 200 \d+ ms failed: body: is not valid JSON/],
      ['a body that is not an answer', reply(200, { type: 'hi' }), /\/hello 200 \d+ ms failed: invalid_request: /],
      ['an error', reply(500, {}), /\/hello 500 \d+ ms failed: status: is 500; only 200 is accepted/],
      ['a refusal', reply(401, {}), /\/hello 401 \d+ ms failed: .*with the same SIGNING_SECRET/],
      ['nothing in time', () => undefined, /\/hello - \d+ ms failed: status: timed out\. .*\{"type":"defer"\}/],
    ];
    const failed: string[] = [];
    for (const [what, answer, line] of failures)
      it(`prints why an answer failed, if the endpoint answers with ${what}`, async () => {
        endpoint.answer(answer);
        const from = forwarder.output.length;
        failed.push(await invoke());
        await forwarder.printed(line, from);
      });

    it('interactions whose answer failed expire', async () => {
      const statesOf = (id: string) => recorder.waitFor(({ t, d }) => t === 'INTERACTION_UPDATE' && d.id === id);
      expect((await Promise.all(failed.map(statesOf))).map(({ d }) => d.state)).to.deep.equal(failures.map(() => 'expired'));
    });
  });

  it('says what to do when the endpoint stops while it runs', async () => {
    const brief = await startEndpoint();
    const forwarder = start(brief.url);
    await forwarder.printed(/# forwarding to/);
    await brief.close();
    await invoke();
    await forwarder.printed(/\/hello - \d+ ms failed: connect: .*Nothing answers at \S+ Start your endpoint/);
    forwarder.child.kill('SIGINT');
    await forwarder.ended;
  });

  const refusing = use(() => startSite((_request, response) => response.writeHead(401).end()));
  const silent = use(() => startSite((_request, response) => response.writeHead(200).end('{}')));
  const refusals: readonly [what: string, start: () => Forwarder, text: RegExp][] = [
    ['without a token', () => start(endpoint.url, { SIGNING_SECRET: 'x' }), /^Set PARLANCE_TOKEN .*\/developers\/\d+\/bot\.\n$/],
    ['without a secret', () => start(endpoint.url, { PARLANCE_TOKEN: 'x' }), /^Set SIGNING_SECRET .*\/developers\/\d+\.\n$/],
    ['with a wrong token', () => start(endpoint.url, { ...secrets(), PARLANCE_TOKEN: 'x' }), /is not a valid bot token\. Reset/],
    [
      'with the token of another bot',
      () => start(endpoint.url, { ...secrets(), PARLANCE_TOKEN: other.token }),
      /belongs to the application/,
    ],
    ['without an endpoint', () => start('http://127.0.0.1:1/'), /at the step connect: .*Start your endpoint/],
    ['with an endpoint that refuses the signature', () => start(refusing.url), /at the step status: .*the same SIGNING_SECRET/],
    ['with an endpoint that does not answer a ping', () => start(silent.url), /at the step body: is not \{"type":"pong"\}/],
    ['without Parlance', () => startForwarder(['1', '--url', 'http://127.0.0.1:1'], secrets()), /does not respond .*--url/],
  ];
  it('exits if it cannot work, and says what to do', () =>
    pMap(
      refusals,
      async ([what, run, text]) => {
        const forwarder = run();
        expect(await forwarder.ended, what).to.equal(1);
        expect(forwarder.output, what).to.match(text);
      },
      { concurrency: 3 },
    ));

  it('explains its arguments', async () => {
    const usage = 'Usage: npm run forward -- <application id> [--to http://localhost:3000/] [--url <Parlance>]\n';
    const wrong: [args: string[], reason: string][] = [
      [[], ''],
      [['hello'], ''],
      [['1', '--token', 'x'], "Unknown option '--token'\n"],
    ];
    const runs = wrong.map(async ([args, reason]) => {
      const forwarder = startForwarder(args, secrets());
      expect([args, await forwarder.ended]).to.deep.equal([args, 64]);
      expect(forwarder.output.slice(0, reason.length + usage.length)).to.equal(reason + usage);
    });
    await Promise.all(runs);
  });
});
