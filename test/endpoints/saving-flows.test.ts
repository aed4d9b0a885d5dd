import { createHmac } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { expect } from 'chai';
import { limits } from '../../lib/base/limits.ts';
import type { Application } from '../../lib/contract/application.ts';
import type { Answer } from '../harness/api.ts';
import { reply, startEndpoint, type TestEndpoint } from '../harness/endpoint.ts';
import { postWhole } from '../harness/endpoint-scene.ts';
import { expectError } from '../harness/expect-error.ts';
import { type Scene, startScene, until } from '../harness/scene.ts';
import { type Site, startSite } from '../harness/site.ts';
import { startTcpProxy } from '../harness/tcp-proxy.ts';

describe('saving an Interactions Endpoint', () => {
  let endpoint: TestEndpoint;
  let other: TestEndpoint;
  let hanging: Site;
  /** Requests that the hanging endpoint got and did not answer yet. */
  const held: ServerResponse[] = [];
  let scene: Scene;
  before(async () => {
    [endpoint, other] = await Promise.all([startEndpoint(), startEndpoint()]);
    hanging = await startSite((_request, response) => void held.push(response));
    scene = await startScene({ OUTBOUND_ALLOW: [endpoint.site, other.site, hanging].map(({ pair }) => pair).join(',') });
  });
  after(async () => {
    await scene.close();
    await Promise.all([endpoint.close(), other.close(), hanging.close()]);
  });

  const path = (tail = ''): string => `/api/applications/${scene.bot.applicationId}${tail}`;
  const patch = (body: unknown): Promise<Answer<Application>> => scene.api.call('PATCH', path(), { as: scene.asPerson, body });
  const save = (interactionsEndpointUrl: unknown) => patch({ interactionsEndpointUrl });
  const read = async (): Promise<Application> => (await scene.api.call<Application>('GET', path(), { as: scene.asPerson })).body;
  const holds = (count: number): Promise<void> => until(() => held.length === count, `${count} requests at the hanging endpoint`);
  const letGo = (): void => {
    for (const response of held.splice(0)) reply(200, { type: 'pong' })({} as never, response);
  };

  it('sends one ping, signed over its very bytes with the secret of now', async () => {
    const { body } = await scene.api.call<{ signingSecret: string }>('POST', path('/signing-secret'), { as: scene.asPerson });
    const pings = endpoint.pings.length;
    expect(await save(endpoint.url)).to.deep.include({ status: 200 });
    expect([endpoint.pings.length - pings, endpoint.received.length]).to.deep.equal([1, 0]);
    const [{ headers, bytes }] = endpoint.pings.slice(-1) as [(typeof endpoint.pings)[number]];
    expect(bytes.toString()).to.equal('{"type":"ping"}');
    const stamp = String(headers['x-service-timestamp']);
    expect(stamp).to.match(/^\d{10}$/);
    expect(Math.abs(Date.now() / 1000 - Number(stamp))).to.be.lessThan(limits.signatureAgeSecs);
    const expected = createHmac('sha256', body.signingSecret).update(Buffer.concat([Buffer.from(`${stamp}.`), bytes]));
    expect(headers['x-service-signature']).to.equal(expected.digest('hex'));
    expect(headers['content-type']).to.equal('application/json');
  });

  it('the same URL is pinged again, and is the same then', async () => {
    const pings = endpoint.pings.length;
    const [first, second] = [await save(endpoint.url), await save(endpoint.url)];
    expect(second.body).to.deep.equal(first.body);
    expect(endpoint.pings.length - pings).to.equal(2);
  });

  for (const [what, url] of [
    ['a number', 5],
    ['a boolean', true],
    ['a list', ['https://bot.example/']],
    ['an object', {}],
    ['2,049 characters', `https://bot.example/${'x'.repeat(2029)}`],
  ] as const)
    it(`400 invalid_request for ${what}, and no ping`, async () => {
      const before = await read();
      expectError(
        await scene.api.call('PATCH', path(), { as: scene.asPerson, body: { interactionsEndpointUrl: url } }),
        400,
        'invalid_request',
      );
      expect(await read()).to.deep.equal(before);
    });

  it('a URL of 2,048 characters is saved', async () => {
    const url = `${endpoint.url}?${'x'.repeat(2047 - endpoint.url.length)}`;
    expect(url).to.have.length(2048);
    expect((await save(url)).body.interactionsEndpointUrl).to.equal(url);
  });

  it('a save that fails leaves the old URL, which works', async () => {
    await save(endpoint.url);
    await scene.api.platform.db.applications.updateOne({ _id: scene.bot.applicationId }, { $set: { description: 'kept' } });
    expect((await save(endpoint.url.replace(/:\d+/, ':1'))).status).to.equal(400);
    expect(await read()).to.include({ interactionsEndpointUrl: endpoint.url, description: 'kept' });
    endpoint.answer(reply(200, { type: 'message', content: 'still here' }));
    const id = await scene.use();
    await postWhole(scene.worker, id);
    expect(endpoint.received.at(-1)?.json).to.include({ id });
    expect(await scene.stored(id)).to.include({ state: 'answered' });
  });

  it('null takes it off without a ping: commands need the gateway from then on, 409 bot_offline', async () => {
    await save(endpoint.url);
    await scene.disconnect();
    await scene.use();
    const opened = endpoint.site.opened();
    expect((await save(null)).body).to.include({ interactionsEndpointUrl: null });
    expect((await save(null)).body).to.include({ interactionsEndpointUrl: null });
    expect(endpoint.site.opened()).to.equal(opened);
    const invoke = `/api/channels/${scene.channelId}/commands/${scene.commands.hello}/invoke`;
    expectError(await scene.api.call('POST', invoke, { as: scene.asPerson, body: {} }), 409, 'bot_offline');
    await scene.connect();
    const id = await scene.use();
    expect(await scene.stored(id)).to.include({ endpoint: false });
  });

  it('of two saves at once each pings its own, and one of the two stands', async () => {
    for (let round = 0; round < 5; round++) {
      const answers = await Promise.all([save(endpoint.url), save(other.url)]);
      expect(answers.map(({ status, body }) => [status, body.interactionsEndpointUrl])).to.deep.equal([
        [200, endpoint.url],
        [200, other.url],
      ]);
      expect([endpoint.url, other.url]).to.include((await read()).interactionsEndpointUrl);
    }
  });

  it('a ping that hangs holds up nothing else, also of the same application, and changes only what it was asked to', async () => {
    await save(endpoint.url);
    const slow = save(hanging.url);
    await holds(1);
    expect((await patch({ name: 'meanwhile', public: true })).status).to.equal(200);
    expect(await read()).to.include({ name: 'meanwhile', interactionsEndpointUrl: endpoint.url });
    const id = await scene.use();
    await postWhole(scene.worker, id);
    expect(endpoint.received.at(-1)?.json).to.include({ id });
    letGo();
    expect((await slow).body).to.include({ name: 'meanwhile', interactionsEndpointUrl: hanging.url });
  });

  it('429 rate_limited for a fourth ping at once of one application; one that ended makes room', async () => {
    const slow = [save(hanging.url), save(hanging.url), save(hanging.url)];
    await holds(3);
    const fourth = await scene.api.call('PATCH', path(), { as: scene.asPerson, body: { interactionsEndpointUrl: endpoint.url } });
    expectError(fourth, 429, 'rate_limited');
    expect(fourth.headers.get('Retry-After')).to.equal('1');
    expectError(await scene.api.call('POST', path('/interactions-endpoint/test'), { as: scene.asPerson }), 429, 'rate_limited');
    letGo();
    for (const { status } of await Promise.all(slow)) expect(status).to.equal(200);
    await until(async () => (await save(endpoint.url)).status === 200, 'room for a ping');
  });

  it('400 not_public, and no URL is saved, when it was made private while its ping ran', async () => {
    await patch({ public: true, interactionsEndpointUrl: endpoint.url });
    const slow = patch({ inDirectory: true, interactionsEndpointUrl: hanging.url });
    await holds(1);
    await patch({ public: false });
    letGo();
    expect(await slow)
      .to.deep.include({ status: 400 })
      .and.to.have.nested.property('body.code', 'not_public');
    expect(await read()).to.include({ public: false, inDirectory: false, interactionsEndpointUrl: endpoint.url });
  });

  it('404 when it was deleted while its ping ran', async () => {
    const made = await scene.api.call<Application>('POST', '/api/applications', { as: scene.asPerson, body: { name: 'brief' } });
    const own = `/api/applications/${made.body.id}`;
    const slow = scene.api.call('PATCH', own, { as: scene.asPerson, body: { interactionsEndpointUrl: hanging.url } });
    await holds(1);
    expect((await scene.api.call('DELETE', own, { as: scene.asPerson })).status).to.equal(204);
    letGo();
    expectError(await slow, 404, 'not_found');
  });

  it('503 unavailable while Redis is away, before anything is sent or saved', async () => {
    const proxy = await startTcpProxy(process.env.REDIS_URL ?? '', 6379);
    const away = await startScene({ REDIS_URL: proxy.url, OUTBOUND_ALLOW: endpoint.site.pair });
    const own = `/api/applications/${away.bot.applicationId}`;
    const opened = endpoint.site.opened();
    proxy.cut();
    const body = { name: 'x', interactionsEndpointUrl: endpoint.url };
    expectError(await away.api.call('PATCH', own, { as: away.asPerson, body }), 503, 'unavailable');
    expect((await away.api.call('GET', own, { as: away.asPerson })).body).to.include({ interactionsEndpointUrl: null, name: 'app 0' });
    expect(endpoint.site.opened()).to.equal(opened);
    proxy.mend();
    await until(async () => (await away.api.call('PATCH', own, { as: away.asPerson, body })).status === 200, 'Redis to be back');
    await away.close();
    await proxy.close();
  });
});
