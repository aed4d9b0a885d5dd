import { expect } from 'chai';
import { decideMessageFiles } from '../../lib/domain/files/files.ts';
import { startTestApi } from '../harness/api.ts';
import { makeFolder } from '../harness/folder.ts';
import { botOf, seedServer } from '../harness/seed.ts';
import { use } from '../harness/use.ts';
import { fileDocs, formOf, getFile, sendBody } from './fixture.ts';
import { startS3 } from './s3-server.ts';

describe('files on S3 (s3rver 3.7)', () => {
  const folder = use(makeFolder);
  const s3 = use(() => startS3(folder.path));
  const api = use(() => startTestApi(s3.settings));

  it('posts a file, serves it in full and in part, and deletes it with its message; 503 while S3 is down', async () => {
    const seeded = await seedServer(api.platform, { bots: 1, channels: 1 });
    const { as } = botOf(seeded);
    const path = `/api/channels/${seeded.channelIds[0]}/messages`;
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
    await decideMessageFiles(api.platform, body.id);
    expect([await fileDocs(api), await api.platform.blobs.open(String(doc?.blob))]).to.deep.equal([[], null]);
    expect((await getFile(api, file)).status).to.equal(404);
    await s3.close();
    const answer = await post();
    expect([answer.status, answer.body.code]).to.deep.equal([503, 'unavailable']);
    expect(await api.platform.db.messages.countDocuments({ deleted: { $exists: false } })).to.equal(0);
  });
});
