import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { fetchPreviews } from '../../lib/domain/previews/previews.ts';
import { toImageUrl } from '../../lib/domain/views/image-links.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { type Caller, inParallel } from '../harness/requests.ts';
import { page, sendPage } from '../harness/site.ts';
import { use } from '../harness/use.ts';
import { startPreviewFixture } from './fixture.ts';

const endless = (response: ServerResponse, piece: string): void => {
  const more = (): void => {
    if (response.destroyed) return;
    response.write(piece);
    setImmediate(more);
  };
  more();
};
const html = (response: ServerResponse): ServerResponse => response.setHeader('content-type', 'text/html');
const redirect = (response: ServerResponse, location: string): unknown => response.writeHead(302, { location }).end();

describe('fetch-previews: links', () => {
  const pages: Record<string, (request: IncomingMessage, response: ServerResponse) => unknown> = {
    '/plain': (_request, response) => sendPage(response, page('plain')),
    '/xhtml': (_request, response) => response.setHeader('content-type', 'application/xhtml+xml').end(page('xhtml')),
    '/latin1': (_request, response) =>
      response.setHeader('content-type', 'text/html; charset=latin1').end(Buffer.from(page('caf\xe9'), 'latin1')),
    '/long-body': (_request, response) => endless(html(response), page('long body')),
    '/long-head': (_request, response) => endless(html(response), `<title>long head</title>${' '.repeat(8_000)}`),
    '/far': (_request, response) => html(response).end(`<head>${' '.repeat(512 * 1024)}<title>far</title>`),
    '/near': (_request, response) => html(response).end(`<head>${' '.repeat(512 * 1024 - 100)}<title>near</title></head>`),
    '/hop3': (_request, response) => redirect(response, '/hop2'),
    '/hop2': (_request, response) => redirect(response, '/hop1'),
    '/hop1': (_request, response) => redirect(response, '/images'),
    '/hop4': (_request, response) => redirect(response, '/hop3'),
    '/images': (_request, response) => sendPage(response, '<title>images</title><meta property="og:image" content="i.png">'),
    '/to-other-port': (_request, response) => redirect(response, `http://127.0.0.1:${fixture.site.port + 1}/plain`),
    '/to-name': (_request, response) => redirect(response, `http://localhost:${fixture.site.port}/plain`),
    '/to-metadata': (_request, response) => redirect(response, 'http://169.254.169.254/latest/meta-data'),
    // The bytes of a header are one character each.
    '/to-utf8': (_request, response) => redirect(response, Buffer.from('/größe?q=ü').toString('latin1')),
    '/to-latin1': (_request, response) => redirect(response, '/gr\xf6\xdfe?q=\xfc'),
    [encodeURI('/größe')]: (_request, response) => sendPage(response, page('größe')),
    '/needs-cookie': (request, response) => {
      if (request.headers.cookie === 'seen=1; lang=de') return sendPage(response, page('with cookie'));
      response.setHeader('set-cookie', ['seen=1', 'lang=de; Path=/', 'other=1; Path=/elsewhere', 'bad=1; Domain=other.example']);
      return redirect(response, '/needs-cookie');
    },
    '/shows-cookie': (request, response) => sendPage(response, page(`cookies: ${request.headers.cookie ?? 'none'}`)),
    '/image': (_request, response) => response.setHeader('content-type', 'image/png').end(page('image')),
    '/json': (_request, response) => response.setHeader('content-type', 'application/json').end(page('json')),
    '/untyped': (_request, response) => response.end(page('untyped')),
    '/like-html': (_request, response) => response.setHeader('content-type', 'text/html-like').end(page('like')),
    '/204': (_request, response) => response.writeHead(204, { 'content-type': 'text/html' }).end(),
    '/404': (_request, response) => response.writeHead(404, { 'content-type': 'text/html' }).end(page('404')),
    '/500': (_request, response) => response.writeHead(500, { 'content-type': 'text/html' }).end(page('500')),
    '/gzip': (_request, response) =>
      html(response)
        .setHeader('content-encoding', 'gzip')
        .end(gzipSync(Buffer.alloc(4_000_000, page('g')))),
    '/stuck': () => undefined,
    '/slow': (_request, response) => html(response).write('<head><title>slow'),
    '/broken': (_request, response) => {
      html(response).write('<head><title>broken');
      setImmediate(() => response.destroy());
    },
    '/nothing': (_request, response) => html(response).end('<p>nothing</p>'),
  };
  const fixture = use(() =>
    startPreviewFixture((request, response) => {
      pages[(request.url ?? '').replace(/\?.*/, '')]?.(request, response);
    }),
  );
  beforeEach(() => {
    fixture.site.asked.length = 0;
  });

  /** Posts a message, runs the job and returns the embeds of the message. */
  const previewsOf = async (content: string, as?: Caller): Promise<unknown[]> => {
    const { id } = await fixture.post(content, as);
    await fetchPreviews(fixture.worker, id);
    const { previewsAt } = await fixture.stored(id);
    expect(previewsAt).to.equal(undefined);
    const { embeds, editedAt } = await fixture.read(id);
    expect(editedAt).to.equal(null);
    return embeds;
  };
  const link = (path: string): string => fixture.site.url + path;

  const table: readonly [path: string, found: object | null][] = [
    ['/plain', { title: 'plain' }],
    ['/plain?q=a%20b&c', { title: 'plain' }],
    ['/xhtml', { title: 'xhtml' }],
    ['/latin1', { title: 'café' }],
    ['/long-body', { title: 'long body' }],
    ['/long-head', { title: 'long head' }],
    ['/near', { title: 'near' }],
    ['/far', null],
    ['/hop4', null],
    ['/to-utf8', { title: 'größe' }],
    ['/to-latin1', { title: 'größe' }],
    ['/needs-cookie', { title: 'with cookie' }],
    ['/shows-cookie', { title: 'cookies: none' }],
    ['/to-other-port', null],
    ['/to-name', null],
    ['/to-metadata', null],
    ['/image', null],
    ['/json', null],
    ['/untyped', null],
    ['/like-html', null],
    ['/204', null],
    ['/404', null],
    ['/500', null],
    ['/gzip', { title: 'g' }],
    ['/broken', null],
    ['/nothing', null],
  ];
  for (const [path, found] of table)
    it(`${path}: ${found ? 'a preview' : 'no preview'}`, async () => {
      expect(await previewsOf(`see ${link(path)} there`)).to.deep.equal(found ? [{ url: link(path), ...found }] : []);
      expect(fixture.site.asked[0]).to.equal(path);
    });

  it('follows three redirects, and resolves image URLs against the final URL', async () => {
    const thumbnail = { url: link('/i.png'), proxyUrl: toImageUrl(fixture.api.platform.config, link('/i.png')) };
    expect(await previewsOf(link('/hop3'))).to.deep.equal([{ url: link('/hop3'), title: 'images', thumbnail }]);
    expect(fixture.site.asked).to.deep.equal(['/hop3', '/hop2', '/hop1', '/images']);
  });

  it('adds no preview of a page that is not complete within 3 s, which is the deadline for all links together', async () => {
    const startedAt = performance.now();
    expect(await previewsOf(`${link('/stuck')} ${link('/slow')} ${link('/plain?beside')}`)).to.deep.equal([
      { url: link('/plain?beside'), title: 'plain' },
    ]);
    expect(performance.now() - startedAt).to.be.at.least(2_900);
  });

  it('requests no addresses that are not public', async () => {
    const port = fixture.site.port;
    const hidden = ['http://[::1]', 'http://localhost', 'http://0x7f.0.0.2', 'http://10.0.0.1', 'http://[::ffff:7f00:1]'];
    expect(await previewsOf(hidden.map((one) => `${one}:${port}/plain`).join(' '))).to.deep.equal([]);
    expect(fixture.site.opened()).to.be.greaterThan(0);
    expect(fixture.site.asked).to.deep.equal([]);
  });

  const ignored: readonly [what: string, content: () => string][] = [
    ['in angle brackets', () => `<${link('/plain?1')}>`],
    ['in code', () => `\`${link('/plain?2')}\``],
    ['in a code block', () => `\`\`\`\n${link('/plain?3')}\n\`\`\``],
    ['after a backslash', () => `\\${link('/plain?4')}`],
    ['without a scheme', () => fixture.site.pair],
    ['of another scheme', () => `ftp://${fixture.site.pair}/`],
  ];
  for (const [what, content] of ignored)
    it(`ignores a link ${what}, without setting previewsAt`, async () => {
      const { id } = await fixture.post(content());
      expect(await fixture.stored(id)).not.to.have.any.keys('previewsAt', 'previews');
      await fetchPreviews(fixture.worker, id);
      expect((await fixture.read(id)).embeds).to.deep.equal([]);
      expect(fixture.site.asked).to.deep.equal([]);
    });

  it('requests the first five different links, and shows them in order', async () => {
    const links = [1, 2, 3, 4, 5, 6, 7].map((n) => link(`/plain?n${n}`));
    const content = [links[0], `${links[0]}#part`, links[0]?.replace('http:', 'HTTP:'), ...links].join(' ');
    expect(await previewsOf(content)).to.deep.equal(links.slice(0, 5).map((url) => ({ url, title: 'plain' })));
    expect(fixture.site.asked.toSorted()).to.deep.equal([1, 2, 3, 4, 5].map((n) => `/plain?n${n}`));
  });

  it('adds previews to messages of bots, after their rich embeds', async () => {
    const { id } = await fixture.post({ content: link('/plain?bot'), embeds: [{ title: 'rich' }] }, fixture.bot);
    await fetchPreviews(fixture.worker, id);
    expect((await fixture.read(id)).embeds).to.deep.equal([{ title: 'rich' }, { url: link('/plain?bot'), title: 'plain' }]);
  });

  it('requests a page once for several messages', async () => {
    const ids = await inParallel(8, async () => (await fixture.post(link('/plain?many'))).id);
    await Promise.all(ids.map((id) => fetchPreviews(fixture.worker, id)));
    for (const id of ids) expect((await fixture.read(id)).embeds).to.have.length(1);
    expect(fixture.site.asked).to.deep.equal(['/plain?many']);
  });

  it('opens at most four concurrent connections to a host', async () => {
    let max = 0;
    let open = 0;
    pages['/count'] = (_request, response) => {
      max = Math.max(max, ++open);
      const answer = async (): Promise<void> => {
        await waitUntil(() => max >= 4, 'four requests are open');
        await pause(20); // time for a fifth request
        open--;
        sendPage(response, page('count'));
      };
      void answer();
    };
    const posts = [0, 5, 10, 15].map(
      async (from) => (await fixture.post([1, 2, 3, 4, 5].map((n) => link(`/count?${from + n}`)).join(' '))).id,
    );
    await Promise.all((await Promise.all(posts)).map((id) => fetchPreviews(fixture.worker, id)));
    expect([max, fixture.site.asked.length]).to.deep.equal([4, 20]);
  });
});
