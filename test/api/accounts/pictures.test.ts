import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { expect } from 'chai';
import sharp from 'sharp';
import { onDisk } from '../../files/fixture.ts';
import { startTestApi, type TestApi } from '../../harness/api.ts';
import {
  type Bot,
  type Caller,
  makeApplication,
  makeBot,
  makeMember,
  makePerson,
  makeServer,
  type Place,
  refused,
  send,
} from '../../harness/factories.ts';
import { put } from '../../images/picture-fixture.ts';

const mostBytes = 2 * 1024 * 1024;

describe('avatars and icons, refused', () => {
  let api: TestApi;
  let owner: Caller;
  let server: Place;
  let member: Caller;
  let outsider: Caller;
  let bot: Bot;
  let png: Buffer;
  before(async () => {
    api = await startTestApi();
    owner = await makePerson(api);
    outsider = await makePerson(api);
    server = await makeServer(api, owner);
    member = await makeMember(api, owner, server.id);
    bot = await makeBot(api, owner, server.id);
    png = await sharp({ create: { width: 8, height: 8, channels: 3, background: 'red' } })
      .png()
      .toBuffer();
  });
  after(() => api.close());
  afterEach(async () => {
    expect(await onDisk(api)).to.deep.equal({ blobs: [], incoming: [] });
    expect(await api.platform.db.files.countDocuments()).to.equal(0);
  });
  const avatar = '/api/users/@me/avatar';
  const serverIcon = (id = server.id): string => `/api/servers/${id}/icon`;
  const appIcon = (id = bot.applicationId): string => `/api/applications/${id}/icon`;
  const refusedPut = async (
    expected: [number, string],
    as: Caller | null,
    path: string,
    ...rest: [(Buffer | string)?, (string | null)?]
  ) => {
    const { status, body } = await put(api.url, path, as?.as ?? null, rest[0] ?? png, rest[1] === undefined ? 'image/png' : rest[1]);
    expect([status, body.code], path).to.deep.equal(expected);
    return body;
  };

  const rows: [what: string, expected: [number, string], as: () => Caller | null, path: () => string][] = [
    ['an avatar without a login', [401, 'unauthorized'], () => null, () => avatar],
    ['a server’s icon without Manage Server', [403, 'missing_permission'], () => member, () => serverIcon()],
    ['a server’s icon by a bot without Manage Server', [403, 'missing_permission'], () => bot, () => serverIcon()],
    ['a server’s icon from outside', [404, 'not_found'], () => outsider, () => serverIcon()],
    ['the icon of no server', [404, 'not_found'], () => owner, () => serverIcon('x')],
    ['an application’s icon by another', [403, 'not_owner'], () => outsider, () => appIcon()],
    ['an application’s icon by its bot', [403, 'bots_not_allowed'], () => bot, () => appIcon()],
    ['the icon of no application', [404, 'not_found'], () => owner, () => appIcon('1000000000000000000')],
    ['an application’s icon without a login', [401, 'unauthorized'], () => null, () => appIcon()],
  ];
  for (const [what, expected, as, path] of rows)
    it(`${expected.join(' ')}: ${what}, PUT and DELETE`, async () => {
      await refusedPut(expected, as(), path());
      await refused(api, expected, as(), 'DELETE', path());
    });

  it('403 names Manage Server', async () => {
    expect((await refusedPut([403, 'missing_permission'], member, serverIcon())).missing).to.deep.equal(['Manage Server']);
  });

  for (const type of [
    'image/svg+xml',
    'image/avif',
    'image/tiff',
    'image/bmp',
    'text/plain',
    'application/json',
    'multipart/form-data',
    null,
  ])
    it(`415 for ${type ?? 'no type'}`, () => refusedPut([415, 'unsupported_media_type'], owner, avatar, png, type));

  for (const [what, make, type] of [
    ['a PNG that says it is a JPEG', () => png, 'image/jpeg'],
    ['a PNG that says it is a GIF', () => png, 'image/gif'],
    ['an SVG that says it is a PNG', () => '<svg xmlns="http://www.w3.org/2000/svg"/>', 'image/png'],
    ['a TIFF that says it is a PNG', () => Buffer.from('49492a0008000000', 'hex'), 'image/png'],
    ['one byte', () => 'x', 'image/png'],
    ['nothing', () => '', 'image/png'],
  ] as const)
    it(`400 invalid_request for ${what}`, () => refusedPut([400, 'invalid_request'], owner, avatar, make(), type));

  it('413 for more than 2 MiB, said before it is sent or not', async () => {
    const large = Buffer.concat([png, Buffer.alloc(mostBytes + 1 - png.length)]);
    await refusedPut([413, 'payload_too_large'], owner, avatar, large);
    const asking = open({ 'Content-Type': 'image/png', 'Transfer-Encoding': 'chunked' });
    asking.end(large);
    const [answer] = (await once(asking, 'response')) as [IncomingMessage];
    expect(answer.statusCode).to.equal(413);
    answer.resume();
  });

  it('a body that ends early leaves nothing', async () => {
    const asking = open({ 'Content-Type': 'image/png', 'Content-Length': '1000' });
    asking.write(png);
    await once(asking, 'socket');
    asking.destroy();
    await once(asking, 'close').catch(() => undefined);
    await refusedPut([415, 'unsupported_media_type'], owner, avatar, png, 'text/plain');
    while ((await onDisk(api)).incoming.length) await new Promise((resolve) => setImmediate(resolve));
  });

  it('503 after 10 s when no worker comes; nothing is changed or left', async () => {
    const { status, headers, body } = await put(api.url, avatar, owner.as, png);
    expect([status, body.code, Number(headers.get('retry-after')) > 0]).to.deep.equal([503, 'unavailable', true]);
    expect((await send<{ avatarUrl: null }>(api, 200, owner, 'GET', '/api/auth/me')).avatarUrl).to.equal(null);
  });

  it('204 for a DELETE where there is none', async () => {
    const { applicationId } = await makeApplication(api, owner);
    for (const path of [avatar, serverIcon(), appIcon(applicationId)]) await send(api, 204, owner, 'DELETE', path);
  });

  /** A PUT of the owner's avatar whose body is sent by hand. */
  function open(headers: Record<string, string>): ClientRequest {
    const asking = request(api.url + avatar, { method: 'PUT', headers: { Authorization: owner.as, ...headers } });
    asking.on('error', () => undefined);
    return asking;
  }
});
