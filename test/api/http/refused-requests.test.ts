import { expect } from 'chai';
import type { NewWebhook } from '../../../lib/contract/webhook.ts';
import { deriveInteractionToken } from '../../../lib/store/seal.ts';
import { type Answer, startTestApi } from '../../harness/api.ts';
import { monitoredUrl, onDatabaseCommand } from '../../harness/commands.ts';
import { bucketOf, inParallel, send, tally } from '../../harness/requests.ts';
import { ownerOf, seedServer } from '../../harness/seed.ts';
import { testConfig } from '../../harness/stores.ts';
import { make, use } from '../../harness/use.ts';

describe('refused requests without an account', () => {
  // An address may send 4 requests at once and one more every 2.5 s.
  const api = use(() => startTestApi({ RATE_LIMIT: '1/10', TRUST_PROXY: '1', MONGODB_URL: monitoredUrl(testConfig().MONGODB_URL) }));
  let commands = 0;
  before(() => onDatabaseCommand(api.platform, () => commands++));
  const seeded = make(() => seedServer(api.platform, { bots: 0, channels: 1 }));

  let addresses = 0;
  const newAddress = (): string => `198.51.100.${++addresses}`;
  const call = (from: string, method: string, path: string, body?: unknown): Promise<Answer> =>
    api.call(method, path, { body, headers: { 'X-Forwarded-For': from } });
  const newWebhook = async (): Promise<string> => {
    const path = `/api/channels/${seeded.channelIds[0]}/webhooks`;
    const { id, token } = await send<NewWebhook>(api, 201, ownerOf(seeded), 'POST', path, { name: 'x' });
    return `/api/webhooks/${id}/${token}`;
  };
  const newInteraction = (): string => {
    const id = api.platform.ids.next();
    return `/api/interactions/${id}/${deriveInteractionToken(api.platform.config.APP_KEY, id)}`;
  };
  /** Makes the function that posts `body` to a path below `start`. */
  const posts = async (start: string | Promise<string>, tail: string, body: object): Promise<(from: string) => Promise<Answer>> => {
    const path = (await start) + tail;
    return (from) => call(from, 'POST', path, body);
  };
  const gets = async (path: string) => (from: string) => call(from, 'GET', path);
  const withoutToken = (path: string): string => path.slice(0, path.lastIndexOf('/'));
  const newKey = (): string => Buffer.from(String(addresses).padStart(16, 'k')).toString('hex');

  /** What is refused, and how to make the function that sends the request from the address that it is passed. */
  const refusals: [what: string, prepare: () => Promise<(from: string) => Promise<Answer>>][] = [
    [
      'a post by a webhook beyond its rate',
      async () => {
        const path = await newWebhook();
        for (let at = 0; at < 5; at++) expect((await call('203.0.113.1', 'POST', path, { content: 'x' })).status).to.equal(201);
        return (from) => call(from, 'POST', path, { content: 'x' });
      },
    ],
    ['a post by a webhook that is not valid', () => posts(newWebhook(), '', {})],
    ['a delivery that is not valid', () => posts(newWebhook(), '/codehost', {})],
    ['an answer to an interaction that does not exist', () => posts(newInteraction(), '/callback', { type: 'message', content: 'x' })],
    ['a follow-up of an interaction that does not exist', () => posts(newInteraction(), '/followup', { content: 'x' })],
    ['an unknown file', () => gets(`/files/${newKey()}/x.png`)],
    ['an unknown path of files', () => gets('/files/unknown')],
    ['an image that was not signed', () => gets('/images/wrong/aHR0cHM6Ly9ob3N0')],
    ['a post with a wrong webhook token', () => posts(newWebhook().then(withoutToken), '/wrong', { content: 'x' })],
  ];

  for (const [what, prepare] of refusals)
    it(`${what} is charged to its address, and repeats do not read the database`, async () => {
      const run = await prepare();
      const [address, other] = [newAddress(), newAddress()];
      const first = await run(address);
      expect(first.status).to.be.within(400, 429);
      await inParallel(40, () => run(address));
      const commandsBefore = commands;
      const repeated = await inParallel(20, () => run(address));
      expect(commands - commandsBefore).to.equal(0);
      for (const { status } of repeated) expect([404, 429]).to.include(status);
      const charged = await call(address, 'GET', '/api/gateway');
      expect([charged.status, bucketOf(charged)]).to.deep.equal([429, 'address']);
      expect((await call(other, 'GET', '/api/gateway')).status).to.equal(200);
    });

  it('a post by a webhook that is repeated too early says how long to wait, with less time left each time', async () => {
    const path = await newWebhook();
    const address = newAddress();
    const good = await inParallel(5, () => call(address, 'POST', path, { content: 'x' }));
    expect(tally(good)).to.deep.equal({ 201: 5 });
    const early = [];
    for (let at = 0; at < 3; at++) early.push(await call(address, 'POST', path, { content: 'x' }));
    expect(early.map(bucketOf)).to.deep.equal(['webhook', 'webhook', 'webhook']);
    const waits = early.map(({ body }) => Number(body.retryAfter));
    expect(waits).to.deep.equal(waits.toSorted((a, b) => b - a));
    const resets = early.map(({ headers }) => Number(headers.get('X-RateLimit-Reset-After')));
    expect(resets).to.deep.equal(resets.toSorted((a, b) => b - a));
  });

  it('good posts work from an address whose bucket is empty', async () => {
    const path = await newWebhook();
    const address = newAddress();
    expect((await call(address, 'POST', path, { content: 'x' })).status).to.equal(201);
    await inParallel(40, () => call(address, 'GET', '/files/unknown'));
    expect((await call(address, 'POST', path, { content: 'x' })).status).to.equal(201);
  });

  it('a post with the Idempotency-Key of one that succeeded is answered, although the next one is too early', async () => {
    const path = await newWebhook();
    const address = newAddress();
    const post = (key: string): Promise<Answer> =>
      api.call('POST', path, { body: { content: 'x' }, headers: { 'X-Forwarded-For': address, 'Idempotency-Key': key } });
    const first = await post('one');
    for (const key of ['two', 'three', 'four', 'five']) await post(key);
    expect((await post('six')).status).to.equal(429);
    const again = await post('one');
    expect([again.status, again.body.id]).to.deep.equal([201, first.body.id]);
  });
});
