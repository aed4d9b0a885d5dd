import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { expect } from 'chai';
import { onDisk } from '../../files/fixture.ts';
import { makeApplication, unknownId } from '../../harness/factories.ts';
import { type Caller, refused, send } from '../../harness/requests.ts';
import { newBot, newMember, newPerson, useServer } from '../../harness/use.ts';
import { pngOf } from '../../images/fixtures.ts';
import { put } from '../../images/picture-fixture.ts';

const mostBytes = 2 * 1024 * 1024;
const png = pngOf({ width: 8, height: 8 }, 8 * 9);

describe('refused avatars and icons', () => {
  const { api, owner, server, member, outsider, bot } = useServer({ member: newMember(), outsider: newPerson(), bot: newBot() });
  afterEach(async () => {
    expect(await onDisk(api)).to.deep.equal({ blobs: [], incoming: [] });
    expect(await api.platform.db.files.countDocuments()).to.equal(0);
  });
  const avatar = '/api/users/@me/avatar';
  const serverIcon = (): string => `/api/servers/${server.id}/icon`;
  const appIcon = (id: string): string => `/api/applications/${id}/icon`;
  const refusedPut = async (
    expected: [number, string],
    { as }: Caller,
    path: string,
    image: Buffer | string = png,
    type: string | null = 'image/png',
  ): Promise<void> => {
    const { status, body } = await put(api.url, path, as, image, type);
    expect([status, body.code], `${path} ${type}`).to.deep.equal(expected);
  };

  it('a picture by someone who may not set it, and of an unknown application', async () => {
    await refusedPut([403, 'missing_permission'], member, serverIcon());
    await refusedPut([404, 'not_found'], outsider, serverIcon());
    await refusedPut([403, 'not_owner'], outsider, appIcon(bot.applicationId));
    await refusedPut([404, 'not_found'], owner, appIcon(unknownId));
    await refused(api, [404, 'not_found'], owner, 'DELETE', appIcon(unknownId));
  });

  it('415 for other types and for none', async () => {
    const types = ['image/svg+xml', 'image/avif', 'image/tiff', 'image/bmp', 'text/plain', 'application/json', 'multipart/form-data', null];
    for (const type of types) await refusedPut([415, 'unsupported_media_type'], owner, avatar, png, type);
  });

  it('400 invalid_request for an image of another type than that of the request, and for no image', async () => {
    for (const [image, type] of [
      [png, 'image/jpeg'],
      [png, 'image/gif'],
      ['<svg xmlns="http://www.w3.org/2000/svg"/>', 'image/png'],
      [Buffer.from('49492a0008000000', 'hex'), 'image/png'],
      ['x', 'image/png'],
      ['', 'image/png'],
    ] as const)
      await refusedPut([400, 'invalid_request'], owner, avatar, image, type);
  });

  it('413 for more than 2 MiB, with and without a Content-Length', async () => {
    const large = Buffer.concat([png, Buffer.alloc(mostBytes + 1 - png.length)]);
    await refusedPut([413, 'payload_too_large'], owner, avatar, large);
    const upload = open({ 'Content-Type': 'image/png', 'Transfer-Encoding': 'chunked' });
    upload.end(large);
    const [answer] = (await once(upload, 'response')) as [IncomingMessage];
    expect(answer.statusCode).to.equal(413);
    answer.resume();
  });

  it('a body that ends early leaves no file', async () => {
    const upload = open({ 'Content-Type': 'image/png', 'Content-Length': '1000' });
    upload.write(png);
    await once(upload, 'socket');
    upload.destroy();
    await once(upload, 'close').catch(() => undefined);
    await refusedPut([415, 'unsupported_media_type'], owner, avatar, png, 'text/plain');
    while ((await onDisk(api)).incoming.length) await new Promise((resolve) => setImmediate(resolve));
  });

  it('503 after 10 s without a worker; the avatar stays and no file is left', async () => {
    const { status, headers, body } = await put(api.url, avatar, owner.as, png);
    expect([status, body.code, Number(headers.get('retry-after')) > 0]).to.deep.equal([503, 'unavailable', true]);
    expect((await send<{ avatarUrl: null }>(api, 200, owner, 'GET', '/api/auth/me')).avatarUrl).to.equal(null);
  });

  it('204 for DELETE of a picture that is not set', async () => {
    const { applicationId } = await makeApplication(api, owner);
    for (const path of [avatar, serverIcon(), appIcon(applicationId)]) await send(api, 204, owner, 'DELETE', path);
  });

  /** A PUT of the owner's avatar, whose body the test sends itself. */
  function open(headers: Record<string, string>): ClientRequest {
    const upload = request(api.url + avatar, { method: 'PUT', headers: { Authorization: owner.as, ...headers } });
    upload.on('error', () => undefined);
    return upload;
  }
});
