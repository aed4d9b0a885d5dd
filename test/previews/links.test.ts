import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { imageLink } from '../../lib/domain/files/image-links.ts';
import { fetchPreviews } from '../../lib/domain/previews/previews.ts';
import { type PreviewScene, page, sendPage, startPreviewScene } from '../harness/previews.ts';
import { until } from '../harness/scene.ts';

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

describe('fetch-previews: what links give', () => {
  let scene: PreviewScene;
  let other: number;
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
    '/to-other-port': (_request, response) => redirect(response, `http://127.0.0.1:${other}/plain`),
    '/to-name': (_request, response) => redirect(response, `http://localhost:${scene.site.port}/plain`),
    '/to-metadata': (_request, response) => redirect(response, 'http://169.254.169.254/latest/meta-data'),
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
  before(async () => {
    scene = await startPreviewScene((request, response) => {
      pages[(request.url ?? '').replace(/\?.*/, '')]?.(request, response);
    });
    other = scene.site.port + 1;
  });
  after(() => scene.close());
  beforeEach(() => {
    scene.site.asked.length = 0;
  });

  /** Posts, runs the job, and answers what the message shows. */
  const previewsOf = async (content: string, as?: string): Promise<unknown[]> => {
    const { id } = await scene.post({ content }, as);
    await fetchPreviews(scene.worker, id);
    const { previewsAt } = await scene.stored(id);
    expect(previewsAt).to.equal(undefined);
    const { embeds, editedAt } = await scene.read(id);
    expect(editedAt).to.equal(null);
    return embeds;
  };
  const link = (path: string): string => scene.site.url + path;

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
    ['/gzip', null],
    ['/broken', null],
    ['/nothing', null],
  ];
  for (const [path, found] of table)
    it(`${path}: ${found ? 'a preview' : 'none'}`, async () => {
      expect(await previewsOf(`see ${link(path)} there`)).to.deep.equal(found ? [{ url: link(path), ...found }] : []);
      expect(scene.site.asked[0]).to.equal(path);
    });

  it('three redirects are followed; images are found from where the page was', async () => {
    const thumbnail = { url: link('/i.png'), proxyUrl: imageLink(scene.api.platform.config, link('/i.png')) };
    expect(await previewsOf(link('/hop3'))).to.deep.equal([{ url: link('/hop3'), title: 'images', thumbnail }]);
    expect(scene.site.asked).to.deep.equal(['/hop3', '/hop2', '/hop1', '/images']);
  });

  it('what does not answer in 3 s, or not to the end, gives none; all links have the same 3 s', async () => {
    const began = performance.now();
    expect(await previewsOf(`${link('/stuck')} ${link('/slow')} ${link('/plain?beside')}`)).to.deep.equal([
      { url: link('/plain?beside'), title: 'plain' },
    ]);
    expect(performance.now() - began).to.be.at.least(2_900);
  });

  it('addresses that are not public give none', async () => {
    const port = scene.site.port;
    const hidden = ['http://[::1]', 'http://localhost', 'http://0x7f.0.0.2', 'http://10.0.0.1', 'http://[::ffff:7f00:1]'];
    expect(await previewsOf(hidden.map((one) => `${one}:${port}/plain`).join(' '))).to.deep.equal([]);
    expect(scene.site.opened()).to.be.greaterThan(0);
    expect(scene.site.asked).to.deep.equal([]);
  });

  const none: readonly [what: string, content: () => string][] = [
    ['in angle brackets', () => `<${link('/plain?1')}>`],
    ['in code', () => `\`${link('/plain?2')}\``],
    ['in a code block', () => `\`\`\`\n${link('/plain?3')}\n\`\`\``],
    ['after a backslash', () => `\\${link('/plain?4')}`],
    ['without a scheme', () => scene.site.pair],
    ['of another scheme', () => `ftp://${scene.site.pair}/`],
  ];
  for (const [what, content] of none)
    it(`a link ${what} is not looked at, and leaves no mark`, async () => {
      const { id } = await scene.post({ content: content() });
      expect(await scene.stored(id)).not.to.have.any.keys('previewsAt', 'previews');
      await fetchPreviews(scene.worker, id);
      expect((await scene.read(id)).embeds).to.deep.equal([]);
      expect(scene.site.asked).to.deep.equal([]);
    });

  it('the first five links are looked at, in their order, each page once', async () => {
    const links = [1, 2, 3, 4, 5, 6, 7].map((n) => link(`/plain?n${n}`));
    const content = [links[0], `${links[0]}#part`, links[0]?.replace('http:', 'HTTP:'), ...links].join(' ');
    expect(await previewsOf(content)).to.deep.equal(links.slice(0, 5).map((url) => ({ url, title: 'plain' })));
    expect(scene.site.asked.toSorted()).to.deep.equal([1, 2, 3, 4, 5].map((n) => `/plain?n${n}`));
  });

  it('of bots too, after their rich embeds', async () => {
    const { id } = await scene.post({ content: link('/plain?bot'), embeds: [{ title: 'rich' }] }, scene.asBot);
    await fetchPreviews(scene.worker, id);
    expect((await scene.read(id)).embeds).to.deep.equal([{ title: 'rich' }, { url: link('/plain?bot'), title: 'plain' }]);
  });

  it('one page in many messages is asked for once', async () => {
    const ids = await Promise.all(Array.from({ length: 8 }, async () => (await scene.post({ content: link('/plain?many') })).id));
    await Promise.all(ids.map((id) => fetchPreviews(scene.worker, id)));
    for (const id of ids) expect((await scene.read(id)).embeds).to.have.length(1);
    expect(scene.site.asked).to.deep.equal(['/plain?many']);
  });

  it('a host is asked by four connections at once', async () => {
    let most = 0;
    let now = 0;
    pages['/count'] = (_request, response) => {
      most = Math.max(most, ++now);
      const answer = async (): Promise<void> => {
        await until(() => most >= 4, 'four at once');
        await pause(20); // time for a fifth to come
        now--;
        sendPage(response, page('count'));
      };
      void answer();
    };
    const posts = [0, 5, 10, 15].map(
      async (from) => (await scene.post({ content: [1, 2, 3, 4, 5].map((n) => link(`/count?${from + n}`)).join(' ') })).id,
    );
    await Promise.all((await Promise.all(posts)).map((id) => fetchPreviews(scene.worker, id)));
    expect([most, scene.site.asked.length]).to.deep.equal([4, 20]);
  });
});
