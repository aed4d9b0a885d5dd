import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { freePort } from '../../apps/local/probe.ts';
import { deriveInteractionToken } from '../../lib/store/seal.ts';
import { dumpRedis } from '../harness/dumps.ts';
import { type Answering, type Received, reply } from '../harness/endpoint.ts';
import { useEndpointFixture } from '../harness/endpoint-fixture.ts';
import { spareDatabases } from '../harness/spare-databases.ts';
import { isReady } from '../harness/stack.ts';
import { connectRedis } from '../harness/stores.ts';
import { use } from '../harness/use.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

describe('Interactions Endpoint: secrets', () => {
  let output = '';
  const children: ChildProcess[] = [];
  after(() => {
    for (const child of children) child.kill('SIGKILL');
  });
  const { endpointFixture, fixture } = useEndpointFixture();
  const redis = use(() => connectRedis(fixture.api.platform.config));

  /** Starts a compiled role on the stores of the fixture with LOG_LEVEL trace. Returns its port. */
  const start = async (entry: string): Promise<number> => {
    const { MONGODB_URL, REDIS_URL, REDIS_PREFIX, APP_KEY, OUTBOUND_ALLOW } = fixture.api.platform.config;
    const port = await freePort();
    spareDatabases.spend(MONGODB_URL);
    const own = { MONGODB_URL, REDIS_URL, REDIS_PREFIX, APP_KEY: APP_KEY.toString('base64'), OUTBOUND_ALLOW: OUTBOUND_ALLOW.join(',') };
    const child = spawn(process.execPath, [`${root}dist/${entry}`], {
      env: { ...process.env, ...own, PORT: String(port), RATE_LIMIT: 'off', LOG_LEVEL: 'trace' },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    children.push(child);
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (piece: Buffer) => (output += piece.toString()));
    await isReady(child);
    return port;
  };
  const allOfRedis = (): Promise<string> => dumpRedis(redis, fixture.api.platform.config.REDIS_PREFIX);
  const allOfMongo = async (): Promise<string> => {
    const { db } = fixture.api.platform;
    return JSON.stringify(await Promise.all([db.applications, db.interactions, db.messages].map((one) => one.find().toArray())));
  };

  it('no log, job, Redis key, document or reason contains a token or the signing secret', async function readAll() {
    const path = `/api/applications/${fixture.bot.applicationId}`;
    const { body } = await fixture.api.call<{ signingSecret: string }>('GET', path, { as: fixture.asPerson });
    const secret = body.signingSecret;
    const secrets = [secret, fixture.api.platform.config.APP_KEY.toString('base64')];
    const tokenOf = (id: unknown): string => deriveInteractionToken(fixture.api.platform.config.APP_KEY, String(id));
    const found: string[] = [];
    const echo = ({ headers }: Received, token: string): object => ({ token, secret, headers });
    /** Responses that contain the token and the secret wherever an endpoint may put them. */
    const ways: ((received: Received, token: string) => Answering)[] = [
      (received, token) => reply(200, { ...echo(received, token), type: token, content: secret }),
      (_received, token) => reply(200, { [token]: 1, [secret]: 2 }),
      (_received, token) => reply(200, `{"${token}${secret}`),
      (received, token) => reply(302, echo(received, token), { location: `https://${secret}.example/${token}` }),
      (received, token) => reply(500, echo(received, token), { [`x-${secret}`]: token }),
      (_received, token) => (_sent, response) => void response.socket?.end(`HTTP/1.1 200 ${token}\r\n${secret}\r\n\r\n`),
      () => reply(200),
      (received, token) => reply(200, { type: 'defer', ...echo(received, token) }),
    ];
    const byId = new Map<string, (typeof ways)[number]>();
    for (const way of ways) byId.set(await fixture.use(), way);
    secrets.push(...[...byId.keys()].map(tokenOf));
    endpointFixture.endpoint.answer((received, response) => {
      expect(received.json.token).to.equal(tokenOf(received.json.id));
      const answer = (): void => byId.get(String(received.json.id))?.(received, tokenOf(received.json.id))(received, response);
      if (found.length > 1) return answer();
      return void allOfRedis().then((during) => (found.push(during), answer()));
    });
    found.push(await allOfRedis());
    for (const id of byId.keys()) expect(found[0]).to.include(`ixp-${id}`);

    const port = await start('apps/api/main.js');
    for (const id of byId.keys()) await fixture.age(id, -60_000);
    await start('workers/main.js');
    while ((await endpointFixture.log()).length < ways.length) await pause(50);
    for (const id of byId.keys()) {
      const route = `http://127.0.0.1:${port}/api/interactions/${id}/${tokenOf(id)}`;
      const headers = { 'Content-Type': 'application/json' };
      for (const [tail, text] of [
        ['callback', '{"type":"message","content":"x"}'],
        ['callback', '{'],
        ['followup', '{"content":"x"}'],
      ])
        await fetch(`${route}/${tail}`, { method: 'POST', headers, body: String(text) });
    }
    await fixture.api.call('POST', `${path}/interactions-endpoint/test`, { as: fixture.asPerson });
    found.push(await allOfRedis(), await allOfMongo(), JSON.stringify(await endpointFixture.log()));
    for (const child of children) child.kill('SIGTERM');
    await Promise.all(children.map((child) => once(child, 'exit')));
    found.push(output);

    expect(output).to.include('/api/interactions/{interactionId}/{interactionToken}/callback').and.to.include('"role":"worker"');
    for (const text of found) for (const one of secrets) expect(text.includes(one), one).to.equal(false);
  });
});
