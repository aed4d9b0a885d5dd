import { expect } from 'chai';
import type { Message } from '../../../lib/contract/message.ts';
import { imageAddressOf, imageLink } from '../../../lib/domain/files/image-links.ts';
import { type Bot, type Caller, makeBot, makePerson, makeServer, send } from '../../harness/factories.ts';
import { type Ear, listenAs, startWhole, type Whole } from '../../harness/whole.ts';

describe('images of embeds on our own origin', () => {
  let whole: Whole;
  let owner: Caller;
  let bot: Bot;
  let path: string;
  let ear: Ear;
  before(async () => {
    whole = await startWhole();
    owner = await makePerson(whole);
    const server = await makeServer(whole, owner);
    bot = await makeBot(whole, owner, server.id);
    path = `/api/channels/${server.general}/messages`;
    ear = await listenAs(whole, owner.token);
  });
  after(async () => {
    await ear.client.close();
    await whole.close();
  });

  const evil = 'https://evil.example/x.png';
  const [icon, image, thumbnail] = ['http://a.example/i.png', 'https://b.example/ü.png?q=1#x', 'HTTPS://C.EXAMPLE/t.png'];
  const given = (name: string) => ({
    author: { name, iconUrl: icon, proxyIconUrl: evil },
    image: { url: image, proxyUrl: evil },
    thumbnail: { url: thumbnail, proxyUrl: 5 },
    proxyUrl: evil,
  });
  const link = (url: string): string => imageLink(whole.platform.config, url);
  const shown = (name: string) => ({
    author: { name, iconUrl: icon, proxyIconUrl: link(icon) },
    image: { url: image, proxyUrl: link(image) },
    thumbnail: { url: thumbnail, proxyUrl: link(thumbnail) },
  });

  it('a post, a read, a page, an edit and their events show them; nobody can plant others', async () => {
    const made = await send<Message>(whole, 201, bot, 'POST', path, { embeds: [given('a'), { title: 'none' }] });
    const event = await ear.hears(({ t, d }) => t === 'MESSAGE_CREATE' && d.id === made.id);
    const [page] = await send<Message[]>(whole, 200, owner, 'GET', `${path}?limit=1`);
    const read = await send<Message>(whole, 200, owner, 'GET', `${path}/${made.id}`);
    for (const embeds of [made.embeds, event.d.embeds, page?.embeds, read.embeds])
      expect(embeds).to.deep.equal([shown('a'), { title: 'none' }]);
    const edited = await send<Message>(whole, 200, bot, 'PATCH', `${path}/${made.id}`, { embeds: [given('b')] });
    const update = await ear.hears(({ t, d }) => t === 'MESSAGE_UPDATE' && d.id === made.id);
    for (const embeds of [edited.embeds, update.d.embeds]) expect(embeds).to.deep.equal([shown('b')]);
    const stored = await whole.platform.db.messages.findOne({ _id: made.id }).lean();
    expect(JSON.stringify(stored)).to.not.match(/proxy|evil/i);
  });

  it('each is a path of ours on BASE_URL, the same every time, and only for this installation', () => {
    const { config } = whole.platform;
    for (const url of [icon, image, thumbnail, `https://x.example/${'😀'.repeat(500)}`]) {
      const made = new URL(link(url));
      expect(made.href).to.equal(`${config.baseUrl}${made.pathname}`).and.equal(link(url));
      expect(made.pathname).to.match(/^\/images\/[\w-]{22}\/[\w-]+$/);
      expect(imageAddressOf(config, made.pathname)).to.equal(url);
      expect(imageAddressOf({ ...config, APP_KEY: Buffer.alloc(32) }, made.pathname)).to.equal(null);
    }
  });

  it('a file of ours is shown from where it is; what only looks like one is not', () => {
    const { baseUrl } = whole.platform.config;
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
