import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { type IncomingHttpHeaders, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import { expect } from 'chai';
import Koa from 'koa';
import { clientPaths, servePages } from '../../../apps/api/middleware/pages.ts';
import { createRequestMiddleware } from '../../../apps/api/middleware/request.ts';
import type { State } from '../../../apps/api/state.ts';
import { createLog } from '../../../lib/base/log.ts';
import { createMetrics } from '../../../lib/base/metrics.ts';
import type { ApiPlatform } from '../../../lib/store/platform.ts';
import { startTestApi } from '../../harness/api.ts';
import { startSite } from '../../harness/site.ts';
import { testConfig } from '../../harness/stores.ts';
import { use } from '../../harness/use.ts';

/** The default BASE_URL of served pages. */
const base = 'http://localhost:8080';

/** Serves the pages in `folder` as the API does, without its routes. */
async function startPageServer(folder: string, overrides: Record<string, string> = {}) {
  const config = testConfig({ BASE_URL: base, GATEWAY_URL: 'wss://gate.example:9000/gateway', ...overrides });
  const platform = { config, log: createLog('api', 'silent') } as ApiPlatform;
  const app = new Koa<State>().use(createRequestMiddleware(platform, createMetrics('api'))).use(servePages(platform, folder));
  app.silent = true;
  const answer = app.callback();
  const { port, close } = await startSite((incoming, outgoing) => void answer(incoming, outgoing));
  return {
    close,
    /** Requests `path` exactly as it is written. */
    get: (path: string, headers: Record<string, string> = {}, method = 'GET') =>
      new Promise<{ status: number; headers: IncomingHttpHeaders; body: Buffer }>((resolve, reject) => {
        const asking = request({ port, host: '127.0.0.1', path, method, headers: { host: 'localhost:8080', ...headers }, agent: false });
        asking.once('error', reject).once('response', (response) => {
          const { statusCode: status = 0, headers: received } = response;
          void buffer(response).then((body) => resolve({ status, headers: received, body }), reject);
        });
        asking.end();
      }),
  };
}

const script = `console.log('${'x'.repeat(2_000)}')`;

describe('pages', () => {
  const pages = use(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'parlance-pages-'));
    await mkdir(join(folder, 'web/assets/.git'), { recursive: true });
    await mkdir(join(folder, 'web/assets/folder.js'));
    await mkdir(join(folder, 'web/kits'));
    await mkdir(join(folder, 'web/guides'));
    const files: Record<string, string | Buffer> = {
      'secret.js': 'secret',
      'web/index.html': '<title>client</title>',
      'web/developers.html': '<title>portal</title>',
      'web/reference.html': '<title>reference</title>',
      'web/guides/index.html': '<h1>Guides</h1>',
      'web/guides/first-bot.html': '<h1>First bot</h1>',
      'web/guides/first-bot.md': '# First bot',
      'web/favicon.svg': '<svg/>',
      'web/app.webmanifest': '{}',
      'web/.env.svg': 'secret',
      'web/notes.txt': 'not for browsers',
      'web/assets/index-Ab_1-x.js': script,
      'web/assets/index-Ab_1-x.js.br': brotliCompressSync(script),
      'web/assets/index-Ab_1-x.js.gz': gzipSync(script),
      'web/assets/theme-1.css': 'a{}',
      'web/kits/parlance-bot-0.1.0.tgz': 'a package',
      'web/assets/.hidden.js': 'secret',
      'web/assets/.git/config.js': 'secret',
    };
    await Promise.all(Object.entries(files).map(([name, content]) => writeFile(join(folder, name), content)));
    const web = join(folder, 'web');
    const server = await startPageServer(web);
    return { ...server, web, close: () => server.close().then(() => rm(folder, { recursive: true, force: true })) };
  });

  type PageRow = [path: string, type: string, caching: string, body: string];
  const html = (path: string, body: string): PageRow => [path, 'text/html; charset=utf-8', 'no-cache', body];
  const table: PageRow[] = [
    ...['/', ...clientPaths.flatMap((first) => [`/${first}`, `/${first}/1/2.x`]), '/login?next=/x'].map((path) =>
      html(path, '<title>client</title>'),
    ),
    ...['/developers', '/developers/1/bot', '/developers/references'].map((path) => html(path, '<title>portal</title>')),
    ...['/developers/reference', '/developers/reference/messages', '/developers/guides/unknown'].map((path) =>
      html(path, '<title>reference</title>'),
    ),
    ...['/developers/guides', '/developers/guides/'].map((path) => html(path, '<h1>Guides</h1>')),
    html('/developers/guides/first-bot', '<h1>First bot</h1>'),
    ['/developers/guides/first-bot.md', 'text/markdown; charset=utf-8', 'no-cache', '# First bot'],
    ['/developers/kits/parlance-bot-0.1.0.tgz', 'application/octet-stream', 'no-cache', 'a package'],
    ['/assets/index-Ab_1-x.js', 'text/javascript; charset=utf-8', 'public, max-age=31536000, immutable', script],
    ['/assets/theme-1.css', 'text/css; charset=utf-8', 'public, max-age=31536000, immutable', 'a{}'],
    ['/favicon.svg', 'image/svg+xml', 'public, max-age=86400', '<svg/>'],
    ['/app.webmanifest', 'application/manifest+json; charset=utf-8', 'public, max-age=86400', '{}'],
  ];
  it('the server knows every page of the client', () => {
    const [, names = ''] = /knownPages = \/\^\\\/\(\?:\(\?:([a-z|-]+)\)/.exec(readFileSync('apps/web/client/app.tsx', 'utf8')) ?? [];
    expect(clientPaths).to.have.members(names.split('|'));
  });

  for (const [path, type, caching, body] of table)
    it(`200 for GET and HEAD of ${path}`, async () => {
      const [get, head] = [await pages.get(path), await pages.get(path, {}, 'HEAD')];
      for (const { status, headers } of [get, head]) {
        expect([status, headers['content-type'], headers['cache-control']]).to.deep.equal([200, type, caching]);
        expect(headers['content-length']).to.equal(String(body.length));
        expect(headers['x-content-type-options']).to.equal('nosniff');
        expect(headers['referrer-policy']).to.equal('same-origin');
        expect(headers['cross-origin-opener-policy']).to.equal('same-origin');
        expect(headers['permissions-policy']).to.contain('camera=()');
        expect(headers.vary).to.equal('Accept-Encoding');
      }
      expect([String(get.body), head.body.length]).to.deep.equal([body, 0]);
      const policy = Object.fromEntries(
        String(get.headers['content-security-policy'])
          .split('; ')
          .map((part) => [part.slice(0, part.indexOf(' ')), part.slice(part.indexOf(' ') + 1)]),
      );
      expect(policy).to.deep.equal({
        'default-src': "'none'",
        'script-src': "'self'",
        'style-src': "'self'",
        'img-src': "'self' data: blob:",
        'media-src': "'self' blob:",
        'font-src': "'self'",
        'connect-src': "'self' wss://gate.example:9000",
        'manifest-src': "'self'",
        'form-action': "'self'",
        'base-uri': "'none'",
        'frame-ancestors': "'none'",
        'require-trusted-types-for': "'script'",
        'trusted-types': "'none'",
      });
    });

  const inAssets = (...paths: string[]): string[] => paths.map((path) => `/assets${path}`);
  const absent = {
    'what does not exist': ['/assets', '/assets/', '/assets/none-1.js', '/robots.svg', '/developers/kits/other.tgz', '/etc/passwd'],
    'no page': ['/loginx', '/Login', '/%6cogin', '/developersx', '/developers/guides/unknown.md', '/favicon.svg/', '//', '//login'],
    'a kit without a name': ['/developers/kits/-1-py3-none-any.whl'],
    'folders and hidden files': ['/assets/folder.js', '/assets/.hidden.js', '/assets/.git/config.js', '/.env.svg'],
    'files beside the assets': ['/../secret.js', '/secret.js', '/index.html', '/notes.txt'],
    'files above the assets': inAssets('/../../secret.js', '/..%2f..%2fsecret.js', '/%2e%2e/%2e%2e/secret.js', '/..\\..\\secret.js'),
    'other spellings of an asset': inAssets(
      '//index-Ab_1-x.js',
      '/index-Ab_1-x%2ejs',
      '/index-Ab_1-x.js%00',
      '/index-Ab_1-x.js/',
      '/%ff.js',
    ),
    'compressed files': inAssets('/index-Ab_1-x.js.br', '/index-Ab_1-x.js.gz'),
  };
  for (const path of Object.values(absent).flat())
    it(`404 for ${path}`, async () => {
      const { status, headers, body } = await pages.get(path);
      expect(status).to.equal(404);
      expect(headers['cache-control']).to.equal('no-store');
      expect(String(body)).to.not.contain('secret');
    });

  const browser = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };
  for (const path of ['/nothing', '/loginx', '/Login', '/developersx', '/robots.svg', '/index.html', '/etc/passwd', '//login'])
    it(`404 for ${path}, with the client’s page for browsers only`, async () => {
      const { status, headers, body } = await pages.get(path, browser);
      expect([status, headers['content-type'], String(body)]).to.deep.equal([404, 'text/html; charset=utf-8', '<title>client</title>']);
      expect([headers['cache-control'], headers.etag]).to.deep.equal(['no-store', undefined]);
      expect(headers['content-security-policy']).to.contain("default-src 'none'");
      for (const accept of ['*/*', 'application/json', 'application/json, text/html;q=0.5', 'text/css'])
        expect(String((await pages.get(path, { accept })).body), accept).to.not.contain('client');
      expect(String((await pages.get(path, browser, 'POST')).body)).to.not.contain('client');
    });

  for (const path of ['/api', '/api/nothing', '/files/x', '/images/x', '/assets/none-1.js', '/gateway'])
    it(`404 for ${path} without the client’s page, also for browsers`, async () => {
      const { status, body } = await pages.get(path, browser);
      expect([status, String(body).includes('client')]).to.deep.equal([404, false]);
    });

  const encodings: [accepted: string, sent: string | undefined, read: (bytes: Buffer) => Buffer][] = [
    ['gzip, deflate, br', 'br', brotliDecompressSync],
    ['gzip', 'gzip', gunzipSync],
    ['br;q=0, gzip', 'gzip', gunzipSync],
    ['identity', undefined, (bytes) => bytes],
    ['zstd', undefined, (bytes) => bytes],
  ];
  for (const [accepted, sent, read] of encodings)
    it(`Content-Encoding: ${sent ?? 'none'} for Accept-Encoding: ${accepted}`, async () => {
      const { status, headers, body } = await pages.get('/assets/index-Ab_1-x.js', { 'accept-encoding': accepted });
      expect([status, headers['content-encoding'], headers['content-type']]).to.deep.equal([200, sent, 'text/javascript; charset=utf-8']);
      expect([String(read(body)), headers['content-length']]).to.deep.equal([script, String(body.length)]);
    });

  it('304 for a cached page until its content changes', async () => {
    const { etag = '', 'last-modified': modified } = (await pages.get('/')).headers;
    expect([etag.length > 20, modified]).to.deep.equal([true, undefined]);
    expect((await pages.get('/developers')).headers.etag).to.not.equal(etag);
    const ask = async (): Promise<unknown[]> => {
      const { status, headers, body } = await pages.get('/login', { 'if-none-match': etag, 'accept-encoding': 'br' });
      return [status, headers.etag === etag, body.length, headers['content-security-policy'] !== undefined];
    };
    expect(await ask()).to.deep.equal([304, true, 0, true]);
    const path = join(pages.web, 'index.html');
    await utimes(path, new Date(0), new Date(1_000));
    expect(await ask()).to.deep.equal([304, true, 0, true]);
    await writeFile(path, '<title>newest</title>');
    await utimes(path, new Date(0), new Date(2_000));
    expect(await ask()).to.deep.equal([200, false, 21, true]);
    await writeFile(path, '<title>client</title>');
  });

  for (const method of ['POST', 'PUT', 'DELETE'])
    it(`405 for ${method} of a page`, async () => {
      const { status, headers } = await pages.get('/login', {}, method);
      expect([status, headers.allow]).to.deep.equal([405, 'GET']);
    });

  const hosts: [baseUrl: string, host: string, path: string, location: string | undefined][] = [
    [base, '127.0.0.1:8080', '/login?x=1', `${base}/login?x=1`],
    [base, '[::1]:8080', '/developers/1', `${base}/developers/1`],
    [base, '127.0.0.1:8080', '//evil.example', undefined],
    [base, '127.0.0.1:8080', '/login//evil.example', `${base}/login//evil.example`],
    [base, '127.0.0.1:8080', 'http://evil.example/login', `${base}/login`],
    [base, '127.0.0.1:8080', '/assets/theme-1.css', undefined],
    [base, '127.0.0.1:9999', '/login', undefined],
    [base, 'LOCALHOST:8080', '/login', undefined],
    [base, 'evil.example:8080', '/login', undefined],
    [base, '192.168.0.9:8080', '/login', undefined],
    [base, 'a b', '/login', undefined],
    ['http://127.0.0.1', 'localhost', '/login', 'http://127.0.0.1/login'],
    ['https://chat.example', 'localhost', '/login', undefined],
  ];
  for (const [baseUrl, host, path, location] of hosts)
    it(`${path} on ${host} ${location ? `redirects to ${location}` : 'does not redirect'} with BASE_URL ${baseUrl}`, async () => {
      const other = await startPageServer(pages.web, { BASE_URL: baseUrl });
      try {
        const { status, headers } = await other.get(path, { host });
        expect([status, headers.location]).to.deep.equal([location ? 307 : path.startsWith('//') ? 404 : 200, location]);
      } finally {
        await other.close();
      }
    });

  it('503 with one line of text when the pages are not built', async () => {
    const other = await startPageServer(join(pages.web, 'nothing'));
    try {
      for (const path of ['/', '/developers']) {
        const { status, body } = await other.get(path);
        expect([status, String(body)]).to.deep.equal([503, 'The pages are not built. Run `npm run build`.\n']);
      }
      for (const path of ['/assets/index-Ab_1-x.js', '/favicon.svg']) expect((await other.get(path)).status).to.equal(404);
    } finally {
      await other.close();
    }
  });

  it('the API serves them, and 404 for other paths', async () => {
    const api = await startTestApi();
    try {
      const page = await fetch(`${api.url}/login`, { redirect: 'manual' });
      expect([200, 503]).to.include(page.status);
      expect(page.headers.get('Content-Security-Policy')).to.contain("connect-src 'self' ws://localhost:0");
      await page.text();
      for (const path of ['/nothing', '/api', '/api/login', '/files', '/images'])
        expect((await api.call('GET', path)).status).to.equal(404);
    } finally {
      await api.close();
    }
  });
});
