import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { limits } from '../../../lib/base/limits.ts';
import { expectError } from '../../harness/expect-error.ts';
import { type Got, type ProxyScene, pngOfBytes, samples, startProxyScene } from './image-proxy-fixture.ts';

const svg = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>';
const redirect = (response: ServerResponse, location: string): unknown => response.writeHead(302, { location }).end();
const expectNone = ({ status, headers, body }: Got): void => {
  expectError({ status, headers, body: JSON.parse(body.toString()) as Record<string, unknown> }, 404, 'not_found');
  expect(headers.get('Cache-Control')).to.equal('no-store');
};

describe('GET /images/{signature}/{url}', () => {
  let scene: ProxyScene;
  let seen: IncomingHttpHeaders;
  const limit = limits.imageProxyBytes;
  const png = (response: ServerResponse): ServerResponse => response.setHeader('content-type', 'image/png');
  const pages: Record<string, (response: ServerResponse) => unknown> = {
    ...Object.fromEntries(
      Object.entries(samples).map(([format, bytes]) => [
        `/${format}`,
        (response: ServerResponse) => response.setHeader('content-type', 'text/html').end(bytes),
      ]),
    ),
    '/short': (response) => png(response).end(samples.png.subarray(0, 8)),
    '/limit': (response) => png(response).end(pngOfBytes(limit)),
    '/hop3': (response) => redirect(response, '/hop2'),
    '/hop2': (response) => redirect(response, '/hop1'),
    '/hop1': (response) => redirect(response, '/png'),
    '/hop4': (response) => redirect(response, '/hop3'),
    '/svg': (response) => response.setHeader('content-type', 'image/svg+xml').end(svg),
    '/svg-as-png': (response) => png(response).end(svg),
    '/html-as-png': (response) => png(response).end(`<!doctype html><p>${'x'.repeat(500)}`),
    '/endless-html': (response) => {
      const more = (): void => void (response.destroyed || (response.write('<p>text'.repeat(1_000)), setImmediate(more)));
      more();
    },
    '/empty': (response) => png(response).end(),
    '/404': (response) => response.writeHead(404).end(samples.png),
    '/206': (response) => response.writeHead(206).end(samples.png),
    '/gzip': (response) => png(response).setHeader('content-encoding', 'gzip').end(gzipSync(samples.png)),
    '/declared': (response) => {
      response.setHeader('content-length', limit + 1);
      response.write(samples.png);
    },
    '/chunked': (response) => {
      response.write(pngOfBytes(limit));
      response.end('x');
    },
    '/broken': (response) => {
      response.setHeader('content-length', 1_000);
      response.write(samples.png);
      setImmediate(() => response.destroy());
    },
    '/to-metadata': (response) => redirect(response, 'http://169.254.169.254/latest/meta-data'),
    '/to-loopback': (response) => redirect(response, `http://localhost:${scene.site.port}/png`),
    '/stuck': () => undefined,
    '/slow': (response) => png(response).write(samples.png),
    '/slow-html': (response) => png(response).write(`<!doctype html><p>${'x'.repeat(500)}`),
  };
  before(async () => {
    scene = await startProxyScene((request, response) => {
      seen = request.headers;
      pages[(request.url ?? '').replace(/\?.*/, '')]?.(response);
    });
  });
  after(() => scene.close());
  beforeEach(() => {
    scene.site.asked.length = 0;
  });

  for (const format of ['png', 'jpeg', 'webp', 'gif', 'avif'] as const)
    it(`${format} is what its bytes say, whatever its host calls it, with strict headers`, async () => {
      const { status, headers, body } = await scene.image(`/${format}`);
      expect([status, headers.get('Content-Type'), body.equals(samples[format])]).to.deep.equal([200, `image/${format}`, true]);
      expect(headers.get('Content-Length')).to.equal(String(body.length));
      expect(headers.get('X-Content-Type-Options')).to.equal('nosniff');
      expect(headers.get('Content-Security-Policy')).to.equal("sandbox; default-src 'none'");
      expect(headers.get('Content-Disposition')).to.equal('inline');
      expect(headers.get('Cache-Control')).to.equal('public, max-age=86400, immutable');
      expect(headers.get('Cross-Origin-Resource-Policy')).to.equal('same-origin');
      expect(headers.get('Set-Cookie')).to.equal(null);
    });

  for (const path of ['/short', '/limit', '/hop3', '/png?a=%20b&c#part'])
    it(`${path} is an image`, async () => expect((await scene.image(path)).status).to.equal(200));

  it('HEAD is GET without the body, and asks for the same image', async () => {
    const [get, head] = [await scene.image('/png?head'), await scene.get(scene.pathOf('/png?head'), { method: 'HEAD' })];
    expect([head.status, head.body.length]).to.deep.equal([200, 0]);
    for (const name of ['Content-Type', 'Content-Length', 'Cache-Control', 'Content-Security-Policy'])
      expect(head.headers.get(name), name).to.equal(get.headers.get(name));
    expect(scene.site.asked).to.deep.equal(['/png?head']);
  });

  it('nothing of who asks goes on to the host', async () => {
    const headers = {
      Cookie: 'parlance_session=secret',
      Referer: 'http://ours.example/x',
      'User-Agent': 'browser',
      'X-Forwarded-For': '192.0.2.9',
    };
    expect((await scene.get(scene.pathOf('/png?who'), { headers })).status).to.equal(200);
    expect(seen).to.have.all.keys('host', 'connection', 'accept', 'accept-encoding', 'user-agent');
    expect(seen['user-agent']).to.equal('Parlance');
  });

  for (const path of [
    '/tiff',
    '/svg',
    '/svg-as-png',
    '/html-as-png',
    '/endless-html',
    '/empty',
    '/404',
    '/206',
    '/gzip',
    '/declared',
    '/chunked',
    '/broken',
    '/hop4',
    '/to-metadata',
    '/to-loopback',
  ])
    it(`404 for ${path}`, async () => {
      expectNone(await scene.image(path));
      expect(scene.site.asked[0]).to.equal(path);
      await scene.site.quiet();
    });

  it('404 for what does not answer in 5 s, or not to the end; for what begins like no image at once', async () => {
    const ended: string[] = [];
    const ask = async (path: string): Promise<void> => {
      expectNone(await scene.image(path));
      ended.push(path);
    };
    await Promise.all(['/stuck', '/slow', '/slow-html'].map(ask));
    expect(ended[0]).to.equal('/slow-html');
    await scene.site.quiet();
  });

  it('404 for addresses that are not public, and what is no address', async () => {
    const { port } = scene.site;
    const hosts = ['[::1]', 'localhost', '0x7f.0.0.2', '10.0.0.1', '169.254.169.254', '[::ffff:7f00:1]', 'user:secret@127.0.0.1'];
    for (const url of [...hosts.map((host) => `http://${host}:${port}/png`), 'http://[bad', 'ftp://example.org/x', 'file:///etc/passwd'])
      expectNone(await scene.get(scene.pathOf(url)));
    expect(scene.site.asked).to.deep.equal([]);
  });

  it('404 for a path that we did not make, without asking anybody', async () => {
    const path = scene.pathOf('/png?signed');
    const [, , signature = '', encoded = ''] = path.split('/');
    const other = scene.pathOf('/png?other').split('/')[3];
    const wrong = [
      '/images',
      '/images/',
      `/images/${encoded}`,
      `/images/${signature}`,
      `/images/${signature}/`,
      `/images//${encoded}`,
      `/images/${signature}/${other}`,
      `/images/${signature.slice(0, -1)}/${encoded}`,
      `/images/${signature.toLowerCase()}x/${encoded}`,
      `/images/${signature.replace(/^./, (first) => (first === 'a' ? 'b' : 'a'))}/${encoded}`,
      `${path}/`,
      `${path}=`,
      `${path}/a.png`,
      `/images/${signature}/${encodeURIComponent(`${scene.site.url}/png?signed`)}`,
      `/images/%00/${encoded}`,
    ];
    for (const one of wrong) expectNone(await scene.get(one));
    expect(scene.site.asked).to.deep.equal([]);
    expect((await scene.get(`${path}?query=is-ignored`)).status).to.equal(200);
  });

  for (const method of ['POST', 'PUT', 'DELETE'])
    it(`405 ${method}`, async () => {
      const answer = await scene.get(scene.pathOf('/png'), { method });
      expect([answer.status, answer.headers.get('Allow')]).to.deep.equal([405, 'GET']);
    });
});
