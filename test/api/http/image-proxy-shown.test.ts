import { expect } from 'chai';
import type { Message } from '../../../lib/contract/message.ts';
import { parseProxyPath, toImageUrl } from '../../../lib/domain/views/image-links.ts';
import { recordEvents, startParlance } from '../../harness/parlance.ts';
import { send } from '../../harness/requests.ts';
import { make, newBot, useServer } from '../../harness/use.ts';

describe('image proxy URLs of embeds', () => {
  const { api, owner, server, bot } = useServer({ bot: newBot() }, { start: startParlance });
  const recorder = make(() => recordEvents(api, owner.token));
  after(() => recorder.client.close());

  const path = (id = ''): string => `/api/channels/${server.general}/messages${id && `/${id}`}`;
  const evil = 'https://evil.example/x.png';
  const [icon, image, thumbnail] = ['http://a.example/i.png', 'https://b.example/ü.png?q=1#x', 'HTTPS://C.EXAMPLE/t.png'];
  const input = (name: string) => ({
    author: { name, iconUrl: icon, proxyIconUrl: evil },
    image: { url: image, proxyUrl: evil },
    thumbnail: { url: thumbnail, proxyUrl: 5 },
    proxyUrl: evil,
  });
  const link = (url: string): string => toImageUrl(api.platform.config, url);
  const shown = (name: string) => ({
    author: { name, iconUrl: icon, proxyIconUrl: link(icon) },
    image: { url: image, proxyUrl: link(image) },
    thumbnail: { url: thumbnail, proxyUrl: link(thumbnail) },
  });

  it('posts, reads, pages, edits and events have the proxy URLs, and callers cannot set others', async () => {
    const made = await send<Message>(api, 201, bot, 'POST', path(), { embeds: [input('a'), { title: 'none' }] });
    const event = await recorder.waitFor(({ t, d }) => t === 'MESSAGE_CREATE' && d.id === made.id);
    const [page] = await send<Message[]>(api, 200, owner, 'GET', `${path()}?limit=1`);
    const read = await send<Message>(api, 200, owner, 'GET', path(made.id));
    for (const embeds of [made.embeds, event.d.embeds, page?.embeds, read.embeds])
      expect(embeds).to.deep.equal([shown('a'), { title: 'none' }]);
    const edited = await send<Message>(api, 200, bot, 'PATCH', path(made.id), { embeds: [input('b')] });
    const update = await recorder.waitFor(({ t, d }) => t === 'MESSAGE_UPDATE' && d.id === made.id);
    for (const embeds of [edited.embeds, update.d.embeds]) expect(embeds).to.deep.equal([shown('b')]);
    const stored = await api.platform.db.messages.findOne({ _id: made.id });
    expect(JSON.stringify(stored)).to.not.match(/proxy|evil/i);
  });

  it('a URL is a path on BASE_URL, always the same, and valid only with this APP_KEY', () => {
    const { config } = api.platform;
    for (const url of [icon, image, thumbnail, `https://x.example/${'😀'.repeat(500)}`]) {
      const made = new URL(link(url));
      expect(made.href).to.equal(`${config.baseUrl}${made.pathname}`).and.equal(link(url));
      expect(made.pathname).to.match(/^\/images\/[\w-]{22}\/[\w-]+$/);
      expect(parseProxyPath(config, made.pathname)).to.equal(url);
      expect(parseProxyPath({ ...config, APP_KEY: Buffer.alloc(32) }, made.pathname)).to.equal(null);
    }
  });

  it('a file of this installation keeps its URL; one that only resembles it does not', () => {
    const { baseUrl } = api.platform.config;
    const file = `/files/${'0af'.repeat(10)}00/a%20b.png`;
    expect(link(baseUrl + file)).to.equal(baseUrl + file);
    for (const url of [
      `${baseUrl}.evil.example${file}`,
      `${baseUrl}@evil.example${file}`,
      `http://evil.example${file}`,
      baseUrl.replace('localhost', 'evil.test') + file,
      `${baseUrl}${file}/../../../api/x`,
      `${baseUrl}/files/../api/x`,
      `${baseUrl}/api/gateway`,
      `${baseUrl}${file}?x`,
      `${baseUrl}${file}\n`,
      `${baseUrl}${file}\\..\\..\\..\\api`,
    ])
      expect(link(url), url).to.match(/\/images\/[\w-]{22}\//);
  });
});
