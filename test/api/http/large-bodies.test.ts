import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import type { NewWebhook } from '../../../lib/contract/webhook.ts';
import { type Answer, startTestApi } from '../../harness/api.ts';
import { bucketOf, send } from '../../harness/requests.ts';
import { botOf, ownerOf, seedServer } from '../../harness/seed.ts';
import { make, use } from '../../harness/use.ts';

/** A valid JSON body of almost 1 MiB that is not a valid message. */
const large = JSON.stringify({ content: 'x', embeds: [{ title: 'y'.repeat(1_000_000) }] });
const small = JSON.stringify({ content: 5 });

describe('large bodies', () => {
  // Slow, so that little comes back during a test. An address may send 400 requests at once.
  const api = use(() => startTestApi({ RATE_LIMIT: '1/1000', TRUST_PROXY: '1' }));
  const seeded = make(() => seedServer(api.platform, { bots: 4, channels: 1 }));

  let addresses = 0;
  const newAddress = (): string => `198.51.100.${++addresses}`;
  const remaining = ({ headers }: Answer): number => Number(headers.get('X-RateLimit-Remaining'));
  const messages = (): string => `/api/channels/${seeded.channelIds[0]}/messages`;
  const post = (
    body: string | ReadableStream<Uint8Array> | Uint8Array,
    headers: Record<string, string>,
    path = messages(),
  ): Promise<Answer> =>
    fetch(api.url + path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body,
      ...(body instanceof ReadableStream ? { duplex: 'half' } : {}),
    }).then(async (response) => ({
      status: response.status,
      headers: response.headers,
      body: (await response.json()) as Record<string, unknown>,
    }));
  /** Sends the body in chunks, without its length. */
  const chunked = (text: string): ReadableStream<Uint8Array> => new Blob([text]).stream();

  for (const [what, status, headers, bucket] of [
    ['without a credential', 401, () => ({}), 'address'],
    ['that is not valid', 400, () => ({ Authorization: `Bot ${botOf(seeded).token}` }), 'caller'],
  ] as const)
    it(`a request ${what} counts as 16 requests with a body of almost 1 MiB, and as one with a small one`, async () => {
      const sent = { 'X-Forwarded-For': newAddress(), ...headers() };
      const answers = [await post(small, sent), await post(large, sent), await post(small, sent)];
      expect(answers.map((answer) => answer.status)).to.deep.equal([status, status, status]);
      expect(answers.map(bucketOf)).to.deep.equal([bucket, bucket, bucket]);
      const [before = 0, withLarge = 0, after = 0] = answers.map(remaining);
      expect(before - withLarge, 'what comes back meanwhile is less').to.be.within(12, 16);
      expect(withLarge - after).to.be.at.most(1);
    });

  it('a body whose length is not declared is counted when it was refused', async () => {
    for (const [at, body, headers] of [
      [1, () => chunked(large), {}],
      [2, () => gzipSync(large), { 'Content-Encoding': 'gzip' }],
    ] as const) {
      const sent = { Authorization: `Bot ${botOf(seeded, at).token}` };
      const before = remaining(await post(small, sent));
      expect((await post(body(), { ...sent, ...headers })).status).to.equal(400);
      expect(before - remaining(await post(small, sent))).to.be.within(12, 18);
    }
  });

  it('a refused post of a webhook is charged to its address by its size', async () => {
    const { id, token } = await send<NewWebhook>(api, 201, ownerOf(seeded), 'POST', `/api/channels/${seeded.channelIds[0]}/webhooks`, {
      name: 'x',
    });
    const from = { 'X-Forwarded-For': newAddress() };
    const left = async (): Promise<number> => remaining(await api.call('GET', '/api/gateway', { headers: from }));
    const before = await left();
    expect((await post(large, from, `/api/webhooks/${id}/${token}`)).status).to.equal(400);
    expect(before - (await left())).to.be.within(15, 17);
  });

  it('a valid request with a body of 64 KiB counts once', async () => {
    const sent = { Authorization: `Bot ${botOf(seeded, 3).token}` };
    const padded = `{"content":"x"${' '.repeat(60_000)}}`;
    const answers = [await post(padded, sent), await post(padded, sent)];
    expect(answers.map((answer) => answer.status)).to.deep.equal([201, 201]);
    expect(remaining(answers[0] as Answer) - remaining(answers[1] as Answer)).to.be.at.most(1);
  });
});
