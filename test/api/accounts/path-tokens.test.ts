import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { expect } from 'chai';
import type { NewWebhook } from '../../../lib/contract/webhook.ts';
import { deriveInteractionToken } from '../../../lib/store/seal.ts';
import { type Answer, startTestApi } from '../../harness/api.ts';
import { bucketOf, inParallel, send, tally } from '../../harness/requests.ts';
import { ownerOf, seedServer } from '../../harness/seed.ts';
import { make, use } from '../../harness/use.ts';

/** Routes with the credential in their path, and the status for the right one with the body `{}`: 404 where the interaction does not exist. */
const routes = [
  ['POST', 'webhooks', '', 400],
  ['POST', 'webhooks', '/codehost', 400],
  ['POST', 'interactions', '/callback', 400],
  ['POST', 'interactions', '/followup', 404],
  ['PATCH', 'interactions', '/original', 404],
  ['DELETE', 'interactions', '/original', 404],
] as const;
const wrongToken = 'x'.repeat(43);

describe('routes with an id and a token in their path', () => {
  // An address may send 4 requests at once and one more every 2.5 s.
  const api = use(() => startTestApi({ RATE_LIMIT: '1/10', TRUST_PROXY: '1' }));
  const right = make(async () => {
    const seeded = await seedServer(api.platform, { bots: 0, channels: 1 });
    const webhook = await send<NewWebhook>(api, 201, ownerOf(seeded), 'POST', `/api/channels/${seeded.channelIds[0]}/webhooks`, {
      name: 'x',
    });
    const id = api.platform.ids.next();
    return {
      webhooks: `/api/webhooks/${webhook.id}/${webhook.token}`,
      interactions: `/api/interactions/${id}/${deriveInteractionToken(api.platform.config.APP_KEY, id)}`,
    };
  });

  const wrongOf = (kind: 'webhooks' | 'interactions'): string => `${right[kind].slice(0, right[kind].lastIndexOf('/'))}/${wrongToken}`;
  let addresses = 0;
  const newAddress = (): string => `198.51.100.${++addresses}`;
  const call = (method: string, path: string, from: string): Promise<Answer> =>
    api.call(method, path, { body: {}, headers: { 'X-Forwarded-For': from } });

  for (const [method, kind, end, status] of routes) {
    const name = `${method} /api/${kind}/{id}/{token}${end}`;

    it(`${name}: 404 for a wrong token before the body is received`, async () => {
      const headers = { 'Content-Type': 'application/json', 'Content-Length': 1_000_000, 'X-Forwarded-For': newAddress() };
      const sent = request(api.url + wrongOf(kind) + end, { method, headers, agent: false });
      sent.on('error', () => undefined);
      sent.flushHeaders();
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      expect(response.statusCode).to.equal(404);
      sent.destroy();
    });

    it(`${name}: wrong tokens use up the bucket of their address; requests with the right token are not charged to it`, async () => {
      const address = newAddress();
      const wrong = await inParallel(40, () => call(method, wrongOf(kind) + end, address));
      expect(tally(wrong)[404]).to.be.within(4, 12);
      expect((tally(wrong)[404] ?? 0) + (tally(wrong)[429] ?? 0)).to.equal(40);
      expect(new Set(wrong.map(bucketOf))).to.deep.equal(new Set(['address']));
      const refused = wrong.find((answer) => answer.status === 429);
      expect([refused?.body.code, Number(refused?.headers.get('Retry-After')) > 0]).to.deep.equal(['rate_limited', true]);
      for (const answer of await inParallel(5, () => call(method, right[kind] + end, address))) {
        expect(answer.status).to.equal(status);
        expect(bucketOf(answer)).not.to.equal('address');
      }
    });
  }
});
