import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { expect } from 'chai';
import { interactionTokenOf } from '../../../lib/store/seal.ts';
import { type Answer, startTestApi, type TestApi } from '../../harness/api.ts';
import { tally } from '../../harness/factories.ts';
import { makeWorld } from '../../harness/world.ts';

/** Routes whose path holds the credential, and what a right one answers to `{}`: of an interaction that was never made, 404 by the route itself. */
const routes = [
  ['POST', 'webhooks', '', 400],
  ['POST', 'webhooks', '/codehost', 400],
  ['POST', 'interactions', '/callback', 400],
  ['POST', 'interactions', '/followup', 404],
  ['PATCH', 'interactions', '/original', 404],
  ['DELETE', 'interactions', '/original', 404],
] as const;
const wrongToken = 'x'.repeat(43);

describe('routes whose path holds an id and a token', () => {
  let api: TestApi;
  let right: Record<'webhooks' | 'interactions', string>;
  before(async () => {
    // An address gets 4 requests at once and one more every 2.5 s.
    api = await startTestApi({ RATE_LIMIT: '1/10', TRUST_PROXY: '1' });
    const world = await makeWorld(api.platform, { bots: 0, channels: 1 });
    const path = `/api/channels/${world.channelIds[0]}/webhooks`;
    const { body } = await api.call('POST', path, { as: `Bearer ${world.ownerToken}`, body: { name: 'x' } });
    const id = api.platform.ids.next();
    right = {
      webhooks: `/api/webhooks/${String(body.id)}/${String(body.token)}`,
      interactions: `/api/interactions/${id}/${interactionTokenOf(api.platform.config.APP_KEY, id)}`,
    };
  });
  after(() => api.close());

  const wrongOf = (kind: 'webhooks' | 'interactions'): string => `${right[kind].slice(0, right[kind].lastIndexOf('/'))}/${wrongToken}`;
  let addresses = 0;
  const newAddress = (): string => `198.51.100.${++addresses}`;
  const call = (method: string, path: string, from: string): Promise<Answer> =>
    api.call(method, path, { body: {}, headers: { 'X-Forwarded-For': from } });
  const times = (count: number, run: () => Promise<Answer>): Promise<Answer[]> => Promise.all(Array.from({ length: count }, run));
  const bucketOf = ({ headers }: Answer): string | null => headers.get('X-RateLimit-Bucket');

  for (const [method, kind, end, status] of routes) {
    const name = `${method} /api/${kind}/{id}/{token}${end}`;

    it(`${name}: a wrong token is 404 before any of the body came`, async () => {
      const headers = { 'Content-Type': 'application/json', 'Content-Length': 1_000_000, 'X-Forwarded-For': newAddress() };
      const sent = request(api.url + wrongOf(kind) + end, { method, headers, agent: false });
      sent.on('error', () => undefined);
      sent.flushHeaders();
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      expect(response.statusCode).to.equal(404);
      sent.destroy();
    });

    it(`${name}: wrong tokens spend the bucket of their address, and a right one passes beside them uncharged`, async () => {
      const address = newAddress();
      const wrong = await times(40, () => call(method, wrongOf(kind) + end, address));
      expect(tally(wrong)[404]).to.be.within(4, 12);
      expect((tally(wrong)[404] ?? 0) + (tally(wrong)[429] ?? 0)).to.equal(40);
      expect(new Set(wrong.map(bucketOf))).to.deep.equal(new Set(['address']));
      const refused = wrong.find((answer) => answer.status === 429);
      expect([refused?.body.code, Number(refused?.headers.get('Retry-After')) > 0]).to.deep.equal(['rate_limited', true]);
      for (const answer of await times(5, () => call(method, right[kind] + end, address))) {
        expect(answer.status).to.equal(status);
        expect(bucketOf(answer)).not.to.equal('address');
      }
    });
  }
});
