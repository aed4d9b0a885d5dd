import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { limits } from '../../../lib/base/limits.ts';
import { expectError } from '../../harness/expect-error.ts';
import { use } from '../../harness/use.ts';
import { type BinaryAnswer, pngOfBytes, samples, startImageProxyFixture } from './image-proxy-fixture.ts';

const svg = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>';
const redirect = (response: ServerResponse, location: string): unknown => response.writeHead(302, { location }).end();
const expectNoImage = ({ status, headers, body }: BinaryAnswer): void => {
  expectError({ status, headers, body: JSON.parse(body.toString()) as Record<string, unknown> }, 404, 'not_found');
  expect(headers.get('Cache-Control')).to.equal('no-store');
};

describe('GET /images/{signature}/{url}', () => {
  let seen: IncomingHttpHeaders;
  const limit = limits.imageProxyBytes;
  const png = (response: ServerResponse): ServerResponse => response.setHeader('content-type', 'image/png');
  /** The pages that are no images. */
  const refused: Record<string, (response: ServerResponse) => unknown> = {
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
    '/hop4': (response) => redirect(response, '/hop3'),
    '/to-metadata': (response) => redirect(response, 'http://169.254.169.254/latest/meta-data'),
    '/to-loopback': (response) => redirect(response, `http://localhost:${fixture.site.port}/png`),
  };
  const pages: typeof refused = {
    ...refused,
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
    '/gzip': (response) => png(response).setHeader('content-encoding', 'gzip').end(gzipSync(samples.png)),
    '/stuck': () => undefined,
    '/slow': (response) => png(response).write(samples.png),
    '/slow-html': (response) => png(response).write(`<!doctype html><p>${'x'.repeat(500)}`),
  };
  const fixture = use(() =>
    startImageProxyFixture((request, response) => {
      seen = request.headers;
      pages[(request.url ?? '').replace(/\?.*/, '')]?.(response);
    }),
  );
  beforeEach(() => {
    fixture.site.asked.length = 0;
  });

  for (const format of ['png', 'jpeg', 'webp', 'gif', 'avif'] as const)
    it(`200 with the type image/${format} of the bytes, whatever Content-Type the host sends, and strict headers`, async () => {
      const { status, headers, body } = await fixture.image(`/${format}`);
      expect([status, headers.get('Content-Type'), body.equals(samples[format])]).to.deep.equal([200, `image/${format}`, true]);
      expect(headers.get('Content-Length')).to.equal(String(body.length));
      expect(headers.get('X-Content-Type-Options')).to.equal('nosniff');
      expect(headers.get('Content-Security-Policy')).to.equal("sandbox; default-src 'none'");
      expect(headers.get('Content-Disposition')).to.equal('inline');
      expect(headers.get('Cache-Control')).to.equal('public, max-age=86400, immutable');
      expect(headers.get('Cross-Origin-Resource-Policy')).to.equal('same-origin');
      expect(headers.get('Set-Cookie')).to.equal(null);
    });

  for (const path of ['/short', '/limit', '/hop3', '/gzip', '/png?a=%20b&c#part'])
    it(`200 for ${path}`, async () => expect((await fixture.image(path)).status).to.equal(200));

  it('HEAD responds as GET does, without the body, and uses the same cached image', async () => {
    const [get, head] = [await fixture.image('/png?head'), await fixture.get(fixture.pathOf('/png?head'), { method: 'HEAD' })];
    expect([head.status, head.body.length]).to.deep.equal([200, 0]);
    for (const name of ['Content-Type', 'Content-Length', 'Cache-Control', 'Content-Security-Policy'])
      expect(head.headers.get(name), name).to.equal(get.headers.get(name));
    expect(fixture.site.asked).to.deep.equal(['/png?head']);
  });

  it('the host receives no headers of the caller', async () => {
    const headers = {
      Cookie: 'parlance_session=secret',
      Referer: 'http://ours.example/x',
      'User-Agent': 'browser',
      'X-Forwarded-For': '192.0.2.9',
    };
    expect((await fixture.get(fixture.pathOf('/png?who'), { headers })).status).to.equal(200);
    expect(seen).to.have.all.keys('host', 'connection', 'accept', 'accept-encoding', 'user-agent');
    expect(seen['user-agent']).to.equal('Parlance');
  });

  for (const path of ['/tiff', ...Object.keys(refused)])
    it(`404 for ${path}`, async () => {
      expectNoImage(await fixture.image(path));
      expect(fixture.site.asked[0]).to.equal(path);
      await fixture.site.quiet();
    });

  it('404 for a response that does not start or end in 5 s, and at once for one that does not start as an image', async () => {
    const ended: string[] = [];
    const ask = async (path: string): Promise<void> => {
      expectNoImage(await fixture.image(path));
      ended.push(path);
    };
    await Promise.all(['/stuck', '/slow', '/slow-html'].map(ask));
    expect(ended[0]).to.equal('/slow-html');
    await fixture.site.quiet();
  });

  it('404 for addresses that are not public, and for invalid URLs', async () => {
    const { port } = fixture.site;
    const hosts = ['[::1]', 'localhost', '0x7f.0.0.2', '10.0.0.1', '169.254.169.254', '[::ffff:7f00:1]', 'user:secret@127.0.0.1'];
    for (const url of [...hosts.map((host) => `http://${host}:${port}/png`), 'http://[bad', 'ftp://example.org/x', 'file:///etc/passwd'])
      expectNoImage(await fixture.get(fixture.pathOf(url)));
    expect(fixture.site.asked).to.deep.equal([]);
  });

  it('404 for a path with a wrong signature, without a request to any host', async () => {
    const path = fixture.pathOf('/png?signed');
    const [, , signature = '', encoded = ''] = path.split('/');
    const other = fixture.pathOf('/png?other').split('/')[3];
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
      `/images/${signature}/${encodeURIComponent(`${fixture.site.url}/png?signed`)}`,
      `/images/%00/${encoded}`,
    ];
    for (const one of wrong) expectNoImage(await fixture.get(one));
    expect(fixture.site.asked).to.deep.equal([]);
    expect((await fixture.get(`${path}?query=is-ignored`)).status).to.equal(200);
  });

  for (const method of ['POST', 'PUT', 'DELETE'])
    it(`405 for ${method}`, async () => {
      const answer = await fixture.get(fixture.pathOf('/png'), { method });
      expect([answer.status, answer.headers.get('Allow')]).to.deep.equal([405, 'GET']);
    });
});
