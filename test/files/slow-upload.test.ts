import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { expect } from 'chai';
import { type MessageFixture, messageFixture } from '../api/messages/message-fixture.ts';
import { expectNoOrphans, onDisk, rawBody } from './fixture.ts';

describe('POST /api/channels/{channelId}/messages with files that take their time', () => {
  let fixture: MessageFixture;
  before(async () => {
    fixture = await messageFixture();
  });
  after(() => fixture.api.close());

  /** Sends half of an upload, runs `meanwhile` once the half has come, sends the rest; answers status and body. */
  async function slowly(meanwhile: () => Promise<unknown>): Promise<{ status: number | undefined; body: { id: string; code?: string } }> {
    const { body, headers } = rawBody([
      { head: 'Content-Disposition: form-data; name="files"; filename="a.txt"\r\nContent-Type: text/plain', bytes: 'x'.repeat(100_000) },
    ]);
    const sent = request(fixture.api.url + fixture.path, {
      method: 'POST',
      headers: { ...headers, Authorization: fixture.bot, 'Content-Length': body.length },
    });
    const answer = once(sent, 'response') as Promise<[IncomingMessage]>;
    sent.write(body.subarray(0, 70_000));
    while ((await onDisk(fixture.api)).incoming.length === 0) await new Promise(setImmediate);
    await meanwhile();
    sent.end(body.subarray(70_000));
    const [response] = await answer;
    const text = (await response.setEncoding('utf8').toArray()).join('');
    return { status: response.statusCode, body: JSON.parse(text) as { id: string; code?: string } };
  }

  it('stands after what was posted while it came', async () => {
    let other = '';
    const { status, body } = await slowly(async () => {
      other = (await fixture.post({ content: 'meanwhile' })).body.id;
    });
    expect(status).to.equal(201);
    expect(body.id > other, `${body.id} after ${other}`).to.equal(true);
    await expectNoOrphans(fixture.api);
  });

  it('403 when the permission went while it came, and nothing of it stays', async () => {
    const { world, api } = fixture;
    const take = (permissions: number) =>
      api.platform.versions.changing({ servers: [world.serverId] }, () =>
        api.platform.db.servers.updateOne({ _id: world.serverId }, { $set: { 'roles.0.permissions': permissions } }),
      );
    const { status, body } = await slowly(() => take(1));
    await take(15);
    expect([status, body.code]).to.deep.equal([403, 'missing_permission']);
    await expectNoOrphans(api);
  });
});
