import { once } from 'node:events';
import { connect } from 'node:net';
import { expect } from 'chai';
import { createApp } from '../../../apps/api/app.ts';
import { startApi } from '../../../apps/api/listen.ts';
import { route } from '../../../apps/api/route.ts';
import { createMetrics } from '../../../lib/base/metrics.ts';
import { startTestApi } from '../../harness/api.ts';
import { expectError } from '../../harness/expect-error.ts';
import { startSeededApi } from '../../harness/seeded-api.ts';
import { startSite } from '../../harness/site.ts';
import { testConfig } from '../../harness/stores.ts';
import { startTcpProxy } from '../../harness/tcp-proxy.ts';
import { use } from '../../harness/use.ts';

describe('HTTP', () => {
  const api = use(startSeededApi);

  describe('paths and methods', () => {
    for (const path of ['/api', '/api/', '/api/nothing', '/api/gateway/', '/API/gateway', '/api//gateway', '/%', '/api/%ff'])
      it(`404 for ${path}`, async () => expectError(await api.call('GET', path), 404, 'not_found'));

    for (const method of ['PUT', 'PATCH', 'OPTIONS', 'DELETE'])
      it(`405 with Allow for ${method}, which the path does not support`, async () => {
        const answer = await api.call(method, api.path, { as: api.as });
        expectError(answer, 405, 'method_not_allowed');
        expect(answer.headers.get('Allow')?.split(', ')).to.have.members(['GET', 'POST']);
      });

    // Others are in hostile-input.test.ts.
    for (const part of ['0', '%', '%ff', '%2F', '１２３', 'null', '9'.repeat(19), '9'.repeat(3000)])
      it(`404 for the id ${part.slice(0, 20)}`, async () => {
        expectError(await api.call('GET', `/api/channels/${part}/messages`, { as: api.as }), 404, 'not_found');
        expectError(await api.call('GET', `${api.path}/${part}`, { as: api.as }), 404, 'not_found');
      });

    it('200 for a percent-encoded id, 404 for one that is encoded twice', async () => {
      const [id = ''] = api.seeded.channelIds;
      const encoded = id.replace(/./g, '%3$&');
      expect((await api.call('GET', `/api/channels/${encoded}/messages`, { as: api.as })).status).to.equal(200);
      expectError(await api.call('GET', `/api/channels/${encoded.replaceAll('%', '%25')}/messages`, { as: api.as }), 404, 'not_found');
    });

    it('%40me has the same response as @me', async () => {
      const [one, other] = await Promise.all(['@me', '%40me'].map((me) => api.call('GET', `/api/users/${me}`, { as: api.as })));
      expect([other?.status, other?.body.code]).to.deep.equal([one?.status, one?.body.code]);
    });

    it('HEAD responds as GET does, without the body', async () => {
      const get = await fetch(`${api.url}/api/gateway`);
      const head = await fetch(`${api.url}/api/gateway`, { method: 'HEAD' });
      expect(head.status).to.equal(200);
      expect(head.headers.get('Content-Length')).to.equal(String(Buffer.byteLength(await get.text())));
      expect(await head.text()).to.equal('');
    });
  });

  describe('headers of every response', () => {
    for (const [baseUrl, hsts] of [
      ['https://chat.example', 'max-age=31536000'],
      ['http://chat.example', null],
    ] as const)
      it(`Cache-Control: no-store, and ${hsts ? `Strict-Transport-Security: ${hsts}` : 'no Strict-Transport-Security'} for ${baseUrl}`, async () => {
        const other = await startTestApi({ BASE_URL: baseUrl });
        try {
          for (const [target, status] of [
            ['/api/gateway', 200],
            ['/api/servers', 401],
            ['/api/nothing', 404],
          ] as const) {
            const { headers, status: answered } = await other.call('GET', target);
            const sent = [answered, headers.get('Cache-Control'), headers.get('Strict-Transport-Security')];
            expect(sent).to.deep.equal([status, 'no-store', hsts]);
          }
        } finally {
          await other.close();
        }
      });
  });

  describe('documents of the API', () => {
    for (const path of ['/api/openapi.json', '/api/asyncapi.json'])
      it(`${path} is compressed for clients that accept it, and is loaded again only when it has changed`, async () => {
        const read = async (headers: Record<string, string>): Promise<[number, string | null, string | null, unknown]> => {
          const { status, headers: sent, body } = await api.call('GET', path, { headers });
          return [status, sent.get('Content-Encoding'), sent.get('Cache-Control'), body];
        };
        const plain = await read({ 'Accept-Encoding': 'identity' });
        expect(plain).to.deep.equal([200, null, 'no-cache', plain[3]]);
        expect(plain[3]).to.have.property('components');
        expect(await read({ 'Accept-Encoding': 'gzip' })).to.deep.equal([200, 'gzip', 'no-cache', plain[3]]);
        const { headers } = await api.call('GET', path);
        const again = await api.call('GET', path, { headers: { 'If-None-Match': headers.get('ETag') ?? '' } });
        expect([again.status, again.body]).to.deep.equal([304, undefined]);
      });
  });

  describe('X-Request-Id', () => {
    for (const given of ['abc', 'A-b_c.9', 'x'.repeat(64)])
      it(`keeps ${given.slice(0, 10)}`, async () => {
        const { headers } = await api.call('GET', '/api/gateway', { headers: { 'X-Request-Id': given } });
        expect(headers.get('X-Request-Id')).to.equal(given);
      });
    for (const given of ['', 'a b', 'a"b', 'x'.repeat(65), '<script>', 'ü'])
      it(`replaces ${JSON.stringify(given.slice(0, 10))} with a new id`, async () => {
        const { headers } = await api.call('GET', '/api/nothing', { headers: { 'X-Request-Id': given } });
        expect(headers.get('X-Request-Id')).to.match(/^[0-9a-f-]{36}$/);
      });
  });

  describe('credentials', () => {
    const token = (): string => String(api.seeded.bots[0]?.token);
    for (const [what, value] of [
      ['no credential', () => undefined],
      ['a token without a scheme', token],
      ['another scheme', () => `Basic ${token()}`],
      ['a lowercase scheme', () => `bot ${token()}`],
      ['two spaces', () => `Bot  ${token()}`],
      ['a token with a suffix', () => `Bot ${token()} x`],
      ['an unknown token', () => `Bot 1000000000000000001.${'a'.repeat(43)}`],
      ['a wrong secret', () => `Bot ${token().slice(0, -1)}${token().endsWith('a') ? 'b' : 'a'}`],
      ['a scheme without a token', () => 'Bot '],
    ] as const)
      it(`401 for ${what}`, async () => {
        const answer = await api.call('GET', api.path, { as: value() });
        expectError(answer, 401, 'unauthorized');
        expect(answer.headers.get('WWW-Authenticate')).to.equal('Bot, Bearer');
      });
    it('401 for a token in the query', async () => {
      expectError(await api.call('GET', `${api.path}?token=${token()}&access_token=${token()}`), 401, 'unauthorized');
    });
    it('the cookie counts for GET, and for POST only with our Origin', async () => {
      const cookie = `parlance_session=${api.seeded.ownerToken}`;
      const sendCookie = (method: string, headers: Record<string, string>) =>
        api.call(method, api.path, { ...(method === 'POST' ? { body: { content: 'by cookie' } } : {}), headers: { cookie, ...headers } });
      expect((await sendCookie('GET', {})).status).to.equal(200);
      expect((await sendCookie('POST', { Origin: new URL(api.platform.config.baseUrl).origin })).status).to.equal(201);
      for (const headers of [{}, { Origin: 'http://evil.example' }, { Origin: 'null' }])
        expectError(await sendCookie('POST', headers), 401, 'unauthorized');
    });
  });
});

describe('HTTP when the server fails', () => {
  it('500 internal_error without details of the error', async () => {
    const api = await startTestApi({ LOG_LEVEL: 'silent' });
    const broken = route({
      operationId: 'getBroken',
      tag: 'Installation',
      method: 'GET',
      path: '/api/broken',
      auth: 'none',
      summary: '',
      reply: { status: 200 },
      errors: [],
      run: () => Promise.reject(new Error('secret words')),
    });
    const answer = createApp(api.platform, createMetrics('api'), [broken]).callback();
    const site = await startSite((incoming, outgoing) => void answer(incoming, outgoing));
    try {
      const response = await fetch(`${site.url}/api/broken`);
      const body = (await response.json()) as Record<string, unknown>;
      expectError({ status: response.status, headers: response.headers, body }, 500, 'internal_error');
      expect(JSON.stringify(body)).not.to.contain('secret words');
    } finally {
      await site.close();
      await api.close();
    }
  });

  it('503 unavailable with Retry-After within 15 s, and a logged reason, while the database is down; 200 once it is back', async () => {
    const config = testConfig();
    const proxy = await startTcpProxy(config.MONGODB_URL, 27017);
    const overrides = { MONGODB_URL: proxy.url, LOG_LEVEL: 'silent', STORE_TIMEOUT_FACTOR: '1' };
    const { close, call, path, as, platform } = await startSeededApi({ bots: 1, channels: 1 }, overrides);
    let logged: unknown;
    platform.log.warn = (line: unknown) => {
      logged = line;
    };
    try {
      expect((await call('POST', path, { as, body: { content: 'before' } })).status).to.equal(201);
      proxy.cut();
      for (let at = 0; at < 3; at++) {
        const began = performance.now();
        const answer = await call('POST', path, { as, body: { content: 'meanwhile' } });
        expectError(answer, 503, 'unavailable');
        expect(answer.headers.get('Retry-After')).to.equal('1');
        expect(performance.now() - began, 'the driver itself would wait for 30 s').to.be.lessThan(15_000);
        expect(logged).to.deep.include({ requestId: answer.body.requestId, route: '/api/channels/{channelId}/messages' });
        expect(logged).to.have.property('err').that.is.an('error');
      }
      proxy.mend();
      while ((await call('GET', path, { as })).status !== 200);
    } finally {
      proxy.mend();
      await close();
      await proxy.close();
    }
  });
});

/** Whether something on this machine listens on the port of an address. All of 127.0.0.0/8 are addresses of this machine, on Linux. */
async function accepts(host: string, port: number): Promise<boolean> {
  const socket = connect(port, host);
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

describe('HOST', () => {
  const api = use(() => startTestApi());

  before(function () {
    if (process.platform !== 'linux') this.skip();
  });

  it('the API listens on 127.0.0.1 only', async () => {
    const port = Number(new URL(api.url).port);
    expect([await accepts('127.0.0.1', port), await accepts('127.0.0.2', port)]).to.deep.equal([true, false]);
  });

  it('with HOST=0.0.0.0 the API listens on all addresses', async () => {
    const { platform } = api;
    const open = await startApi({ ...platform, config: { ...platform.config, HOST: '0.0.0.0' } }, createMetrics('api'));
    try {
      expect([await accepts('127.0.0.1', open.port), await accepts('127.0.0.2', open.port)]).to.deep.equal([true, true]);
    } finally {
      await open.close();
    }
  });
});
