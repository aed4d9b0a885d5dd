import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { settleFiles } from '../../lib/domain/files/files.ts';
import { startTestApi, type TestApi } from '../harness/api.ts';
import { makeWorld } from '../harness/world.ts';
import { fileDocs, formOf, getFile, sendBody } from './fixture.ts';
import { startS3 } from './s3-server.ts';

describe('files on S3 (s3rver 3.7)', function () {
  let folder: string;
  let s3: Awaited<ReturnType<typeof startS3>>;
  let api: TestApi;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parlance-s3-'));
    s3 = await startS3(folder);
    api = await startTestApi(s3.settings);
  });
  after(async () => {
    await api.close();
    await s3.close().catch(() => undefined);
    await rm(folder, { recursive: true, force: true });
  });

  it('a file is posted, served in full and in part, and goes with its message; 503 while the store is away', async () => {
    const world = await makeWorld(api.platform, { bots: 1, channels: 1 });
    const as = `Bot ${world.bots[0]?.token}`;
    const path = `/api/channels/${world.channelIds[0]}/messages`;
    const post = () => sendBody(api.url + path, as, formOf({}, [{ name: 'a.txt', bytes: '0123456789', type: 'text/plain' }]));
    const { status, body } = await post();
    expect(status, JSON.stringify(body)).to.equal(201);
    const [file] = body.attachments as [(typeof body.attachments)[0]];
    const full = await getFile(api, file);
    expect([full.status, String(full.body), full.headers.get('Content-Type')]).to.deep.equal([200, '0123456789', 'text/plain']);
    const part = await getFile(api, file, { Range: 'bytes=2-4' });
    expect([part.status, String(part.body), part.headers.get('Content-Range')]).to.deep.equal([206, '234', 'bytes 2-4/10']);
    const [doc] = await fileDocs(api);
    await api.call('DELETE', `${path}/${body.id}`, { as });
    await settleFiles(api.platform, body.id);
    expect([await fileDocs(api), await api.platform.blobs.open(String(doc?.blob))]).to.deep.equal([[], null]);
    expect((await getFile(api, file)).status).to.equal(404);
    await s3.close();
    const away = await post();
    expect([away.status, away.body.code]).to.deep.equal([503, 'unavailable']);
    expect(await api.platform.db.messages.collection.countDocuments({ deleted: { $exists: false } })).to.equal(0);
  });
});
