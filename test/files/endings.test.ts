import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { createServer, request, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { defaultPace, watchPace } from '../../apps/api/middleware/pace.ts';
import { readUpload, removeLocal } from '../../apps/api/middleware/upload.ts';
import { Refusal } from '../../lib/base/errors.ts';
import { type MessageFixture, messageFixture } from '../api/messages/message-fixture.ts';
import { until } from '../harness/scene.ts';
import { fileDocs, onDisk } from './fixture.ts';

const head = '--xyz\r\nContent-Disposition: form-data; name="files"; filename="a.bin"\r\n\r\n';
const multipart = 'multipart/form-data; boundary=xyz';

describe('uploads that do not come to an end', () => {
  let fixture: MessageFixture;
  before(async () => {
    fixture = await messageFixture();
  });
  after(() => fixture.api.close());

  /** Begins an upload and leaves it, once the api has begun to write it. */
  const abort = async (): Promise<void> => {
    const headers = { Authorization: fixture.bot, 'Content-Type': multipart, 'Content-Length': 5_000_000 };
    const sent = request(fixture.api.url + fixture.path, { method: 'POST', headers });
    sent.on('error', () => undefined);
    sent.write(head);
    sent.write(Buffer.alloc(500_000));
    await until(async () => (await onDisk(fixture.api)).incoming.length > 0, 'the upload is being written');
    sent.destroy();
    await until(async () => (await onDisk(fixture.api)).incoming.length === 0, 'the local file is gone');
  };

  it('an aborted one leaves no local file, no document and no blob, and its place is free again', async () => {
    for (let round = 0; round < 12; round++) await abort();
    expect([await fileDocs(fixture.api), await onDisk(fixture.api)]).to.deep.equal([[], { blobs: [], incoming: [] }]);
  });

  it('who may not post, or no files, is refused while the body is still on its way, and nothing was written', async () => {
    for (const [permissions, begun] of [
      [5, ''],
      [3, `${head}${'x'.repeat(1_000)}`],
    ] as const)
      await fixture.withPermissions(permissions, async () => {
        const headers = { Authorization: fixture.bot, 'Content-Type': multipart, 'Content-Length': 5_000_000 };
        const sent = request(fixture.api.url + fixture.path, { method: 'POST', headers });
        sent.on('error', () => undefined);
        sent.flushHeaders();
        if (begun) sent.write(begun);
        const status = await new Promise((resolve) => sent.once('response', (response) => resolve(response.statusCode)));
        expect([status, await onDisk(fixture.api)]).to.deep.equal([403, { blobs: [], incoming: [] }]);
        sent.destroy();
      });
  });

  it('a refused sender that never stops sees its answer, and the next request on the connection is answered', async () => {
    const socket = connect(Number(new URL(fixture.api.url).port), '127.0.0.1');
    const body = Buffer.concat([Buffer.from('--xyz\r\nContent-Disposition: form-data; name="other"\r\n\r\n'), Buffer.alloc(8_000_000)]);
    socket.write(
      `POST ${fixture.path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${fixture.bot}\r\nContent-Type: ${multipart}\r\nContent-Length: ${body.length}\r\n\r\n`,
    );
    socket.write(body);
    socket.write('GET /api/gateway HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    let text = '';
    for await (const part of socket) text += String(part);
    expect([...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).to.deep.equal(['400', '200']);
  });
});

describe('readUpload', () => {
  let server: Server;
  let folder: string;
  let ended: (outcome: unknown) => void;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parlance-upload-'));
    await mkdir(folder, { recursive: true });
    server = createServer((message, response) => {
      const paths: string[] = [];
      const tempPath = async (): Promise<string> => {
        paths.push(join(folder, String(paths.length)));
        return String(paths.at(-1));
      };
      const pace = watchPace(message, { ...defaultPace, windowMs: 150, tickMs: 50 });
      void readUpload(message, { tempPath, beforeFile: () => undefined, failed: pace.failed })
        .catch((error: unknown) => error)
        .then(async (outcome) => {
          pace.stop();
          await removeLocal(paths);
          response.statusCode = outcome instanceof Refusal ? outcome.status : 200;
          response.end();
          ended(outcome);
        });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  after(async () => {
    server.closeAllConnections();
    server.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('408 for a sender that is silent, in the middle of a file and before the first part; nothing stays', async () => {
    for (const begun of ['', head, `${head}${'x'.repeat(100_000)}`]) {
      const outcome = new Promise((resolve) => {
        ended = resolve;
      });
      const sent = request({
        port: (server.address() as AddressInfo).port,
        method: 'POST',
        headers: { 'Content-Type': multipart, 'Content-Length': 1_000_000 },
      });
      sent.on('error', () => undefined);
      sent.flushHeaders();
      if (begun) sent.write(begun);
      const refusal = (await outcome) as Refusal;
      expect([refusal.code, refusal.message]).to.deep.equal([
        'body_too_slow',
        'The request body arrived too slowly. Send at least 1024 bytes per second.',
      ]);
      expect(await readdir(folder)).to.deep.equal([]);
      sent.destroy();
    }
  });
});
