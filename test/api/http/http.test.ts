import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { createApp } from '../../../apps/api/app.ts';
import { route } from '../../../apps/api/route.ts';
import { createMetrics } from '../../../lib/base/metrics.ts';
import { startTestApi, type TestApi } from '../../harness/api.ts';
import { expectError } from '../../harness/expect-error.ts';
import { testConfig } from '../../harness/stores.ts';
import { startTcpProxy } from '../../harness/tcp-proxy.ts';
import { makeWorld, type World } from '../../harness/world.ts';

describe('HTTP in general', () => {
  let api: TestApi;
  let world: World;
  let as: string;
  let path: string;

  before(async () => {
    api = await startTestApi();
    world = await makeWorld(api.platform, { bots: 1, channels: 1 });
    as = `Bot ${world.bots[0]?.token}`;
    path = `/api/channels/${world.channelIds[0]}/messages`;
  });
  after(() => api.close());

  describe('paths and methods', () => {
    for (const unknown of ['/api', '/api/', '/api/nothing', '/api/gateway/', '/API/gateway', '/api//gateway', '/%', '/api/%ff'])
      it(`404 ${unknown}`, async () => expectError(await api.call('GET', unknown), 404, 'not_found'));

    for (const method of ['PUT', 'PATCH', 'OPTIONS', 'DELETE'])
      it(`405 ${method} of a path that takes others, with Allow`, async () => {
        const answer = await api.call(method, path, { as });
        expectError(answer, 405, 'method_not_allowed');
        expect(answer.headers.get('Allow')?.split(', ')).to.have.members(['GET', 'POST']);
      });

    for (const part of [
      '1',
      'x',
      '0',
      '-1',
      '%',
      '%zz',
      '%ff',
      '%2F',
      '%00',
      '..%2f..',
      '１２３',
      'null',
      '9'.repeat(19),
      '9'.repeat(3000),
    ])
      it(`404 for the id ${part.slice(0, 20)}`, async () => {
        expectError(await api.call('GET', `/api/channels/${part}/messages`, { as }), 404, 'not_found');
        expectError(await api.call('GET', `${path}/${part}`, { as }), 404, 'not_found');
      });

    it('404 for an id in other digits or encoded twice, but not for one encoded once', async () => {
      const [id = ''] = world.channelIds;
      const encoded = id.replace(/./g, '%3$&');
      expect((await api.call('GET', `/api/channels/${encoded}/messages`, { as })).status).to.equal(200);
      expectError(await api.call('GET', `/api/channels/${encoded.replaceAll('%', '%25')}/messages`, { as }), 404, 'not_found');
    });

    it('%40me is @me', async () => {
      const [one, other] = [await api.call('GET', '/api/users/@me', { as }), await api.call('GET', '/api/users/%40me', { as })];
      expect(other.status).to.equal(one.status);
      expect(other.body.code).to.equal(one.body.code);
    });

    it('HEAD is GET without the body', async () => {
      const get = await fetch(`${api.url}/api/gateway`);
      const head = await fetch(`${api.url}/api/gateway`, { method: 'HEAD' });
      expect(head.status).to.equal(200);
      expect(head.headers.get('Content-Length')).to.equal(String(Buffer.byteLength(await get.text())));
      expect(await head.text()).to.equal('');
    });
  });

  describe('headers of every answer', () => {
    for (const [baseUrl, hsts] of [
      ['https://chat.example', 'max-age=31536000'],
      ['http://chat.example', null],
    ] as const)
      it(`Cache-Control: no-store, and Strict-Transport-Security ${hsts ?? 'nowhere'} under ${baseUrl}`, async () => {
        const other = await startTestApi({ BASE_URL: baseUrl });
        try {
          for (const [target, status] of [
            ['/api/gateway', 200],
            ['/api/openapi.json', 200],
            ['/api/servers', 401],
            ['/api/nothing', 404],
          ] as const) {
            const answer = await other.call('GET', target);
            const { headers } = answer;
            expect([answer.status, headers.get('Cache-Control'), headers.get('Strict-Transport-Security')]).to.deep.equal([
              status,
              'no-store',
              hsts,
            ]);
          }
        } finally {
          await other.close();
        }
      });
  });

  describe('X-Request-Id', () => {
    for (const given of ['abc', 'A-b_c.9', 'x'.repeat(64)])
      it(`is echoed: ${given.slice(0, 10)}`, async () => {
        const { headers } = await api.call('GET', '/api/gateway', { headers: { 'X-Request-Id': given } });
        expect(headers.get('X-Request-Id')).to.equal(given);
      });
    for (const given of ['', 'a b', 'a"b', 'x'.repeat(65), '<script>', 'ü'])
      it(`is made anew in place of ${JSON.stringify(given.slice(0, 10))}`, async () => {
        const { headers } = await api.call('GET', '/api/nothing', { headers: { 'X-Request-Id': given } });
        expect(headers.get('X-Request-Id')).to.match(/^[0-9a-f-]{36}$/);
      });
  });

  describe('credentials', () => {
    const asked = (value: string | undefined) => api.call('GET', path, { as: value });
    const token = (): string => String(world.bots[0]?.token);
    for (const [what, value] of [
      ['none', () => undefined],
      ['no scheme', token],
      ['another scheme', () => `Basic ${token()}`],
      ['a scheme in small letters', () => `bot ${token()}`],
      ['two spaces', () => `Bot  ${token()}`],
      ['a token and more', () => `Bot ${token()} x`],
      ['an unknown token', () => `Bot 1000000000000000001.${'a'.repeat(43)}`],
      ['a wrong secret', () => `Bot ${token().slice(0, -1)}${token().endsWith('a') ? 'b' : 'a'}`],
      ['no token', () => 'Bot '],
    ] as const)
      it(`401 for ${what}`, async () => {
        const answer = await asked(value());
        expectError(answer, 401, 'unauthorized');
        expect(answer.headers.get('WWW-Authenticate')).to.equal('Bot, Bearer');
      });
    it('a token in the query is none', async () => {
      expectError(await api.call('GET', `${path}?token=${token()}&access_token=${token()}`), 401, 'unauthorized');
    });
    it('the cookie is one: safe methods at once, others with an Origin that is ours', async () => {
      const cookie = `parlance_session=${world.ownerToken}`;
      const send = (method: string, headers: Record<string, string>) =>
        api.call(method, path, { ...(method === 'POST' ? { body: { content: 'by cookie' } } : {}), headers: { cookie, ...headers } });
      expect((await send('GET', {})).status).to.equal(200);
      expect((await send('POST', { Origin: new URL(api.platform.config.baseUrl).origin })).status).to.equal(201);
      for (const headers of [{}, { Origin: 'http://evil.example' }, { Origin: 'null' }])
        expectError(await send('POST', headers), 401, 'unauthorized');
    });
  });
});

describe('HTTP when something is wrong on our side', () => {
  it('500 internal_error tells nothing of the fault', async () => {
    const api = await startTestApi({ LOG_LEVEL: 'silent' });
    const broken = route({
      method: 'GET',
      path: '/api/broken',
      auth: 'none',
      about: '',
      reply: { status: 200 },
      errors: [],
      run: () => Promise.reject(new Error('secret words')),
    });
    const answer = createApp(api.platform, createMetrics('api'), [broken]).callback();
    const server: Server = createServer((incoming, outgoing) => void answer(incoming, outgoing));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/api/broken`);
      const body = (await response.json()) as Record<string, unknown>;
      expectError({ status: response.status, headers: response.headers, body }, 500, 'internal_error');
      expect(JSON.stringify(body)).not.to.contain('secret words');
    } finally {
      server.close();
      server.closeAllConnections();
      await api.close();
    }
  });

  it('503 unavailable soon while the database is away, with Retry-After; well again without a restart', async () => {
    const config = testConfig();
    const proxy = await startTcpProxy(config.MONGODB_URL, 27017);
    const api = await startTestApi({ MONGODB_URL: proxy.url, LOG_LEVEL: 'silent', STORE_PATIENCE: '1' });
    try {
      const world = await makeWorld(api.platform, { bots: 1, channels: 1 });
      const path = `/api/channels/${world.channelIds[0]}/messages`;
      const as = `Bot ${world.bots[0]?.token}`;
      expect((await api.call('POST', path, { as, body: { content: 'before' } })).status).to.equal(201);
      proxy.cut();
      for (let at = 0; at < 3; at++) {
        const began = performance.now();
        const answer = await api.call('POST', path, { as, body: { content: 'meanwhile' } });
        expectError(answer, 503, 'unavailable');
        expect(answer.headers.get('Retry-After')).to.equal('1');
        expect(performance.now() - began, 'the driver itself would wait for 30 s').to.be.lessThan(15_000);
      }
      proxy.mend();
      while ((await api.call('GET', path, { as })).status !== 200);
    } finally {
      proxy.mend();
      await api.close();
      await proxy.close();
    }
  });
});
