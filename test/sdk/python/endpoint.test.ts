import { createHmac } from 'node:crypto';
import { expect } from 'chai';
import { freePort } from '../../../apps/local/probe.ts';
import { waitUntil } from '../../harness/interaction-fixture.ts';
import { type Program, usePrograms, usePythonKit } from './python-fixture.ts';

const sign = (secret: string, body: string, secs: number) => createHmac('sha256', secret).update(`${secs}.${body}`).digest('hex');

describe('sdk/python: verify_request', () => {
  const run = usePrograms();

  it('accepts requests of the service that are at most 5 minutes old, and nothing else', async () => {
    const now = Math.floor(Date.now() / 1000);
    const body = '{"type":"ping"}';
    const valid = { secret: 's', body, timestamp: String(now), signature: sign('s', body, now) };
    const at = (secs: number) => ({ ...valid, timestamp: String(secs), signature: sign('s', body, secs) });
    const cases: [input: object, isValid: boolean][] = [
      [valid, true],
      [at(now - 200), true],
      [at(now - 301), false],
      [at(now + 400), false],
      [{ ...valid, secret: ' s\n' }, true],
      [{ ...valid, secret: 'other' }, false],
      [{ ...valid, body: '{}' }, false],
      [{ ...valid, signature: null }, false],
      [{ ...valid, signature: 'ü' }, false],
      [{ ...valid, timestamp: 'now' }, false],
      [{ ...valid, timestamp: '٣' }, false],
    ];
    const program = run('signatures');
    program.write(cases.map(([input]) => input));
    const { results } = await program.waitFor(() => true);
    expect(results).to.deep.equal(cases.map(([, isValid]) => isValid));
  });
});

describe('sdk/python: an empty signing secret', () => {
  const run = usePrograms();

  for (const secret of ['', ' \n'])
    it(`is refused: ${JSON.stringify(secret)}`, async () => {
      const endpoint = run('endpoint', { PARLANCE_TOKEN: 'secret', SIGNING_SECRET: secret }, 'aiohttp', '0');
      expect(await endpoint.ended).to.equal(1);
      const now = Math.floor(Date.now() / 1000);
      const verifying = run('signatures');
      verifying.write([{ secret, body: '', timestamp: String(now), signature: sign(secret, '', now) }]);
      expect(await verifying.ended).to.equal(1);
      for (const program of [endpoint, verifying]) expect(program.log()).to.include('ValueError: signing_secret is empty');
    });
});

for (const kind of ['aiohttp', 'http.server'])
  describe(`sdk/python: an Interactions Endpoint with ${kind}`, () => {
    let port: number;
    const kit = usePythonKit(async () => {
      port = await freePort();
      return { OUTBOUND_ALLOW: `127.0.0.1:${port}` };
    });
    const run = usePrograms({ all: true });
    let program: Program;
    before(async () => {
      program = run('endpoint', { ...kit.env(), SIGNING_SECRET: `${kit.bot.signingSecret}\n` }, kind, String(port));
      await program.waitFor(({ listening }) => listening === port);
      const saved = await kit.api.call('PATCH', `/api/applications/${kit.bot.applicationId}`, {
        as: kit.owner.as,
        body: { interactionsEndpointUrl: `http://127.0.0.1:${port}/` },
      });
      expect(saved.status, JSON.stringify(saved.body)).to.equal(200);
    });

    it('answers, follows up and edits', async () => {
      await kit.invoke('roll', { sides: 6 });
      const { id } = await kit.answer('one of 6');
      await kit.answer('a follow-up right after the answer');
      const path = `/api/channels/${kit.server.general}/messages/${id}`;
      await waitUntil(async () => (await kit.api.call('GET', path, { as: kit.owner.as })).body.content === 'an edited answer', 'the edit');
    });

    it('defers when the handler takes long', async () => {
      await kit.reach('slow', 'deferred');
      program.write('release');
      await kit.answer('the slow answer');
    });

    const refused: [what: string, status: number, body: string, secs?: number][] = [
      ['a body that is not JSON', 400, 'ping', 0],
      ['an old request', 401, '{"type":"ping"}', -301],
      ['a request without a signature', 401, '{"type":"ping"}'],
      ['more than 1 MiB', 413, 'x'.repeat(1024 * 1024 + 1), 0],
    ];
    for (const [what, status, body, age] of refused)
      it(`refuses ${what} with ${status}`, async () => {
        const secs = Math.floor(Date.now() / 1000) + (age ?? 0);
        const signature = sign(kit.bot.signingSecret, body, secs);
        const headers = age === undefined ? {} : { 'X-Service-Timestamp': String(secs), 'X-Service-Signature': signature };
        expect((await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body, headers })).status).to.equal(status);
      });
  });
