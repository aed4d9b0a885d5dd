import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { expect } from 'chai';
import { permissionBits } from '../../lib/base/permissions.ts';
import { send } from '../harness/requests.ts';
import { expectNoOrphans, onDisk, rawBody, useUploads } from './fixture.ts';

describe('POST /api/channels/{channelId}/messages with a slow upload', () => {
  const { api, owner, server, bot, path, post } = useUploads();

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

  it('gets a later id than messages posted during the upload', async () => {
    let other = '';
    const { status, body } = await postSlowly(async () => {
      other = (await post('meanwhile')).id;
    });
    expect(status).to.equal(201);
    expect(body.id > other, `${body.id} after ${other}`).to.equal(true);
    await expectNoOrphans(api);
  });

  it('403 when the permission was removed during the upload, and stores nothing', async () => {
    const setEveryone = (permissions: number): Promise<unknown> =>
      send(api, 200, owner, 'PATCH', `/api/servers/${server.id}/roles/${server.id}`, { permissions });
    const { status, body } = await postSlowly(() => setEveryone(permissionBits['View Channel']));
    expect([status, body.code]).to.deep.equal([403, 'missing_permission']);
    await expectNoOrphans(api);
  });
});
