import { createHmac } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { Client, createEndpoint, type Endpoint, verifyRequest } from '@parlance/bot';
import { expect } from 'chai';
import { freePort } from '../../../apps/local/probe.ts';
import { waitUntil } from '../../harness/interaction-fixture.ts';
import { useKit } from './kit-fixture.ts';

const secret = 'a signing secret';
const sign = (body: string, secs = Math.floor(Date.now() / 1000), key = secret) => ({
  'X-Service-Timestamp': String(secs),
  'X-Service-Signature': createHmac('sha256', key).update(`${secs}.${body}`).digest('hex'),
});

describe('JavaScript kit: verifyRequest', () => {
  const now = 1_760_000_000_000;
  const at = now / 1000;
  const body = '{"type":"ping"}';
  const cases: [what: string, headers: Record<string, string>, isValid: boolean][] = [
    ['a valid signature', sign(body, at), true],
    ['a request 300 s old', sign(body, at - 300), true],
    ['a request 301 s old', sign(body, at - 301), false],
    ['a request 301 s ahead', sign(body, at + 301), false],
    ['another secret', sign(body, at, 'another'), false],
    ['another body', sign('{}', at), false],
    ['no signature', { 'X-Service-Timestamp': String(at) }, false],
    ['a short signature', { ...sign(body, at), 'X-Service-Signature': 'ab' }, false],
    ['a time that is no number', { ...sign(body, at), 'X-Service-Timestamp': 'now' }, false],
  ];
  for (const [what, headers, isValid] of cases)
    it(`${isValid ? 'accepts' : 'refuses'} ${what}`, async () => {
      expect(await verifyRequest({ headers, rawBody: body, secret, now })).to.equal(isValid);
      expect(await verifyRequest({ headers: new Headers(headers), rawBody: Buffer.from(body), secret, now })).to.equal(isValid);
    });
});

describe('JavaScript kit: the handler of Fetch-style servers', () => {
  const endpoint = createEndpoint({ secret, client: new Client() });

  it('needs a secret', () => {
    for (const missing of [undefined, ''])
      expect(() => createEndpoint({ secret: missing, client: new Client() })).to.throw('SIGNING_SECRET');
  });
  const request = (body: string, headers: Record<string, string> = sign(body)): Promise<Response> =>
    endpoint.fetch(new Request('https://bot.example/', { method: 'POST', body, headers }));

  it('answers a ping', async () => {
    const response = await request('{"type":"ping"}');
    expect([response.status, await response.json()]).to.deep.equal([200, { type: 'pong' }]);
  });

  it('lets the work of a handler run on after the response', async () => {
    const work: Promise<unknown>[] = [];
    const client = new Client();
    let isDone = false;
    client.command('later', { description: 'Works on' }, async (interaction) => {
      await interaction.reply('at once');
      await new Promise((resolve) => setTimeout(resolve, 50));
      isDone = true;
    });
    const body = JSON.stringify({ type: 'command', id: '1', token: 't', data: { id: '2', name: 'later', options: [] } });
    const context = { waitUntil: (one: Promise<unknown>) => void work.push(one) };
    const sent = new Request('https://bot.example/', { method: 'POST', body, headers: sign(body) });
    const response = await createEndpoint({ secret, client }).fetch(sent, context);
    expect([await response.json(), isDone]).to.deep.equal([{ type: 'message', content: 'at once' }, false]);
    await Promise.all(work);
    expect(isDone).to.equal(true);
  });

  const refused: [what: string, status: number, send: () => Promise<Response>][] = [
    ['a wrong signature', 401, () => request('{"type":"ping"}', sign('other'))],
    ['a body that is not JSON', 400, () => request('ping')],
    ['an unknown type', 400, () => request('{"type":"other"}')],
    ['more than 1 MiB', 413, () => request('x'.repeat(1024 * 1024 + 1))],
    ['another method', 405, () => endpoint.fetch(new Request('https://bot.example/'))],
  ];
  for (const [what, status, send] of refused)
    it(`refuses ${what} with ${status}`, async () => expect((await send()).status).to.equal(status));
});

for (const kind of ['listener', 'fetch'] as const)
  describe(`JavaScript kit: commands over HTTPS (${kind})`, () => {
    let port: number;
    let server: Server;
    const kit = useKit(async () => {
      port = await freePort();
      return { OUTBOUND_ALLOW: `127.0.0.1:${port}` };
    });
    let bot: Client;
    let release = (): void => undefined;
    before(async () => {
      bot = kit.client({ deferAfterMs: 300 });
      bot
        .command(
          'roll',
          { description: 'Rolls', options: { sides: { type: 'integer', description: 'Sides', required: true } } },
          async (use) => {
            await use.reply(`one of ${use.options.sides}`);
            await use.followUp('a follow-up right after the answer');
            await use.editReply('an edited answer');
          },
        )
        .command('slow', { description: 'Slow' }, async (use) => {
          await new Promise<void>((resolve) => {
            release = resolve;
          });
          await use.reply('the slow answer');
        });
      await bot.registerCommands();
      const endpoint = createEndpoint({ secret: kit.bot.signingSecret, client: bot });
      const respond = kind === 'listener' ? endpoint.listener : serveFetch(endpoint);
      server = createServer((request, response) => void respond(request, response));
      await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
      const saved = await kit.api.call('PATCH', `/api/applications/${kit.bot.applicationId}`, {
        as: kit.owner.as,
        body: { interactionsEndpointUrl: `http://127.0.0.1:${port}/` },
      });
      expect(saved.status, JSON.stringify(saved.body)).to.equal(200);
    });
    after(() => {
      server.close();
      server.closeAllConnections();
    });

    it('answer in the response, follow up and edit', async () => {
      await kit.invoke('roll', { sides: 6 });
      const { id } = await kit.answer('one of 6');
      await kit.answer('a follow-up right after the answer');
      await waitUntil(async () => {
        const { body } = await kit.api.call('GET', `/api/channels/${kit.server.general}/messages/${id}`, { as: kit.owner.as });
        return body.content === 'an edited answer';
      }, 'the edit');
    });

    it('are deferred in the response when the handler takes long', async () => {
      await kit.reach('slow', 'deferred');
      release();
      await kit.answer('the slow answer');
    });
  });

/** A listener of Node's http that calls the Fetch-style handler. */
const serveFetch =
  (endpoint: Endpoint): Endpoint['listener'] =>
  async (request, response) => {
    const pieces: Uint8Array[] = [];
    for await (const piece of request) pieces.push(piece);
    const headers = Object.entries(request.headers).map(([name, value]): [string, string] => [name, String(value)]);
    const answer = await endpoint.fetch(new Request('https://bot.example/', { method: 'POST', body: Buffer.concat(pieces), headers }));
    response.writeHead(answer.status, { 'content-type': 'application/json' });
    response.end(await answer.text());
  };
