import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { expect } from 'chai';
import { defaultPace, watchPace } from '../../apps/api/bodies/pace.ts';
import { removeLocalFiles } from '../../apps/api/bodies/reader.ts';
import { readUpload } from '../../apps/api/bodies/upload.ts';
import { Refusal } from '../../lib/base/errors.ts';
import { permissionBits } from '../../lib/base/permissions.ts';
import { withEveryone } from '../harness/factories.ts';
import { makeFolder } from '../harness/folder.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { send } from '../harness/requests.ts';
import { startSite } from '../harness/site.ts';
import { use } from '../harness/use.ts';
import { expectNoOrphans, fileDocs, onDisk, rawBody, useUploads } from './fixture.ts';

const head = '--xyz\r\nContent-Disposition: form-data; name="files"; filename="a.bin"\r\n\r\n';
const multipart = 'multipart/form-data; boundary=xyz';
const { 'View Channel': viewChannel, 'Send Messages': sendMessages, 'Attach Files': attachFiles } = permissionBits;

/** Starts an upload to `url` and sends only these first bytes. */
function startUpload(url: string, headers: Record<string, string>, start: string): ClientRequest {
  const sent = request(url, { method: 'POST', headers: { 'Content-Type': multipart, 'Content-Length': 5_000_000, ...headers } });
  sent.on('error', () => undefined);
  sent.flushHeaders();
  if (start) sent.write(start);
  return sent;
}

describe('uploads that are slow or never finish', () => {
  const { api, owner, server, bot, path, post } = useUploads();
  const start = (bytes: string): ClientRequest => startUpload(api.url + path(), { Authorization: bot.as }, bytes);

  /** Starts an upload and aborts it after the API has begun to write it. */
  const abort = async (): Promise<void> => {
    const sent = start(`${head}${'x'.repeat(500_000)}`);
    await waitUntil(async () => (await onDisk(api)).incoming.length > 0, 'the upload is being written');
    sent.destroy();
    await waitUntil(async () => (await onDisk(api)).incoming.length === 0, 'the local file is gone');
  };

  it('an aborted upload leaves no local file, document or blob, and releases its slot', async () => {
    for (let round = 0; round < 12; round++) await abort();
    expect([await fileDocs(api), await onDisk(api)]).to.deep.equal([[], { blobs: [], incoming: [] }]);
  });

  it('refuses a caller who may not post messages or files before the body has arrived, and writes nothing', async () => {
    for (const [permissions, bytes] of [
      [viewChannel | attachFiles, ''],
      [viewChannel | sendMessages, `${head}${'x'.repeat(1_000)}`],
    ] as const)
      await withEveryone(api, owner, server.id, permissions, async () => {
        const sent = start(bytes);
        const [{ statusCode }] = (await once(sent, 'response')) as [IncomingMessage];
        expect([statusCode, await onDisk(api)]).to.deep.equal([403, { blobs: [], incoming: [] }]);
        sent.destroy();
      });
  });

  it('a refused sender that sends its whole body receives the error, and the next request on the connection succeeds', async () => {
    const socket = connect(Number(new URL(api.url).port), '127.0.0.1');
    const body = Buffer.concat([Buffer.from('--xyz\r\nContent-Disposition: form-data; name="other"\r\n\r\n'), Buffer.alloc(8_000_000)]);
    socket.write(
      `POST ${path()} HTTP/1.1\r\nHost: x\r\nAuthorization: ${bot.as}\r\nContent-Type: ${multipart}\r\nContent-Length: ${body.length}\r\n\r\n`,
    );
    socket.write(body);
    socket.write('GET /api/gateway HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    let text = '';
    for await (const part of socket) text += String(part);
    expect([...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).to.deep.equal(['400', '200']);
  });

  /** Sends half of an upload, runs `meanwhile` after that half has arrived, and sends the rest. Returns the status and body of the response. */
  async function postSlowly(
    meanwhile: () => Promise<unknown>,
  ): Promise<{ status: number | undefined; body: { id: string; code?: string } }> {
    const { body, headers } = rawBody([
      { head: 'Content-Disposition: form-data; name="files"; filename="a.txt"\r\nContent-Type: text/plain', bytes: 'x'.repeat(100_000) },
    ]);
    const sent = request(api.url + path(), {
      method: 'POST',
      headers: { ...headers, Authorization: bot.as, 'Content-Length': body.length },
    });
    const answer = once(sent, 'response') as Promise<[IncomingMessage]>;
    sent.write(body.subarray(0, 70_000));
    while ((await onDisk(api)).incoming.length === 0) await new Promise(setImmediate);
    await meanwhile();
    sent.end(body.subarray(70_000));
    const [response] = await answer;
    const text = (await response.setEncoding('utf8').toArray()).join('');
    return { status: response.statusCode, body: JSON.parse(text) as { id: string; code?: string } };
  }

  it('a slow upload gets a later id than messages posted meanwhile', async () => {
    let other = '';
    const { status, body } = await postSlowly(async () => {
      other = (await post('meanwhile')).id;
    });
    expect(status).to.equal(201);
    expect(body.id > other, `${body.id} after ${other}`).to.equal(true);
    await expectNoOrphans(api);
  });

  it('403 when the permission was removed during a slow upload, and stores nothing', async () => {
    const setEveryone = (permissions: number): Promise<unknown> =>
      send(api, 200, owner, 'PATCH', `/api/servers/${server.id}/roles/${server.id}`, { permissions });
    const { status, body } = await postSlowly(() => setEveryone(viewChannel));
    expect([status, body.code]).to.deep.equal([403, 'missing_permission']);
    await expectNoOrphans(api);
  });
});

describe('readUpload', () => {
  const folder = use(makeFolder);
  let onResult: (result: unknown) => void;
  const site = use(() =>
    startSite((message, response) => {
      const paths: string[] = [];
      const tempPath = async (): Promise<string> => {
        paths.push(join(folder.path, String(paths.length)));
        return String(paths.at(-1));
      };
      const pace = watchPace(message, { ...defaultPace, windowMs: 150, tickMs: 50 });
      void readUpload(message, { tempPath, beforeFile: () => undefined, bodyFailed: pace.failed })
        .catch((error: unknown) => error)
        .then(async (result) => {
          pace.stop();
          await removeLocalFiles(paths);
          response.statusCode = result instanceof Refusal ? result.status : 200;
          response.end();
          onResult(result);
        });
    }),
  );

  it('408 for a sender that stops before the first part or within a file, and leaves no local file', async () => {
    for (const start of ['', head, `${head}${'x'.repeat(100_000)}`]) {
      const result = new Promise((resolve) => {
        onResult = resolve;
      });
      const sent = startUpload(site.url, {}, start);
      const refusal = (await result) as Refusal;
      expect([refusal.code, refusal.message]).to.deep.equal([
        'body_too_slow',
        'The request body arrived too slowly. Send at least 1024 bytes per second.',
      ]);
      expect(await readdir(folder.path)).to.deep.equal([]);
      sent.destroy();
    }
  });
});
