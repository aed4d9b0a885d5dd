import type { ServerResponse } from 'node:http';
import { expect } from 'chai';
import type { Application } from '../../lib/contract/application.ts';
import type { Answer } from '../harness/api.ts';
import { reply, startEndpoint } from '../harness/endpoint.ts';
import { postWhole } from '../harness/endpoint-fixture.ts';
import { expectError } from '../harness/expect-error.ts';
import { startInteractionFixture, waitUntil } from '../harness/interaction-fixture.ts';
import { startSite } from '../harness/site.ts';
import { startTcpProxy } from '../harness/tcp-proxy.ts';
import { use } from '../harness/use.ts';
import { isGenuine } from './verify.ts';

describe('PATCH /api/applications/{applicationId}: saving an Interactions Endpoint', () => {
  const [endpoint, other] = [use(startEndpoint), use(startEndpoint)];
  /** Requests that the hanging endpoint got and did not answer yet. */
  const held: ServerResponse[] = [];
  const hanging = use(() => startSite((_request, response) => void held.push(response)));
  const fixture = use(() =>
    startInteractionFixture({ OUTBOUND_ALLOW: [endpoint.site, other.site, hanging].map(({ pair }) => pair).join(',') }),
  );

  const path = (tail = ''): string => `/api/applications/${fixture.bot.applicationId}${tail}`;
  const patch = (body: unknown): Promise<Answer<Application>> => fixture.api.call('PATCH', path(), { as: fixture.asPerson, body });
  const save = (interactionsEndpointUrl: unknown) => patch({ interactionsEndpointUrl });
  const read = async (): Promise<Application> => (await fixture.api.call<Application>('GET', path(), { as: fixture.asPerson })).body;
  const waitForHeld = (count: number): Promise<void> => waitUntil(() => held.length === count, `${count} requests at the hanging endpoint`);
  const answerHeld = (): void => {
    for (const response of held.splice(0)) reply(200, { type: 'pong' })({} as never, response);
  };

  it('sends one ping, whose bytes are signed with the current secret', async () => {
    const { body } = await fixture.api.call<{ signingSecret: string }>('POST', path('/signing-secret'), { as: fixture.asPerson });
    const pings = endpoint.pings.length;
    expect(await save(endpoint.url)).to.deep.include({ status: 200 });
    expect([endpoint.pings.length - pings, endpoint.received.length]).to.deep.equal([1, 0]);
    const ping = endpoint.pings.at(-1) ?? expect.fail();
    expect(ping.bytes.toString()).to.equal('{"type":"ping"}');
    expect(await isGenuine(ping, body.signingSecret, Date.now() / 1000)).to.equal(true);
    expect(ping.headers['content-type']).to.equal('application/json');
  });

  it('pings the same URL again and leaves it unchanged', async () => {
    const pings = endpoint.pings.length;
    const [first, second] = [await save(endpoint.url), await save(endpoint.url)];
    expect(second.body).to.deep.equal(first.body);
    expect(endpoint.pings.length - pings).to.equal(2);
  });

  it('answers 400 invalid_request to 2,049 characters and to no text, and sends no ping', async () => {
    const [before, opened] = [await read(), endpoint.site.opened()];
    for (const url of [`${endpoint.url}?${'x'.repeat(2048 - endpoint.url.length)}`, 5, true, [endpoint.url], {}])
      expectError(await save(url), 400, 'invalid_request', JSON.stringify(url).slice(0, 50));
    expect([await read(), endpoint.site.opened()]).to.deep.equal([before, opened]);
  });

  it('saves a URL of 2,048 characters', async () => {
    const url = `${endpoint.url}?${'x'.repeat(2047 - endpoint.url.length)}`;
    expect(url).to.have.length(2048);
    expect((await save(url)).body.interactionsEndpointUrl).to.equal(url);
  });

  it('keeps the old URL, which still works, when a save fails', async () => {
    await save(endpoint.url);
    await fixture.api.platform.db.applications.updateOne({ _id: fixture.bot.applicationId }, { $set: { description: 'kept' } });
    expect((await save(endpoint.url.replace(/:\d+/, ':1'))).status).to.equal(400);
    expect(await read()).to.include({ interactionsEndpointUrl: endpoint.url, description: 'kept' });
    endpoint.answer(reply(200, { type: 'message', content: 'still here' }));
    const id = await fixture.use();
    await postWhole(fixture.worker, id);
    expect(endpoint.received.at(-1)?.json).to.include({ id });
    expect(await fixture.stored(id)).to.include({ state: 'answered' });
  });

  it('null removes the URL without a ping; commands then need the gateway, 409 bot_offline', async () => {
    await save(endpoint.url);
    await fixture.disconnect();
    await fixture.use();
    const opened = endpoint.site.opened();
    expect((await save(null)).body).to.include({ interactionsEndpointUrl: null });
    expect((await save(null)).body).to.include({ interactionsEndpointUrl: null });
    expect(endpoint.site.opened()).to.equal(opened);
    const invoke = `/api/channels/${fixture.channelId}/commands/${fixture.commands.hello}/invoke`;
    expectError(await fixture.api.call('POST', invoke, { as: fixture.asPerson, body: {} }), 409, 'bot_offline');
    await fixture.connect();
    const id = await fixture.use();
    expect(await fixture.stored(id)).to.include({ endpoint: false });
  });

  it('two parallel saves ping one URL each, and one of the two is stored', async () => {
    for (let round = 0; round < 5; round++) {
      const answers = await Promise.all([save(endpoint.url), save(other.url)]);
      expect(answers.map(({ status, body }) => [status, body.interactionsEndpointUrl])).to.deep.equal([
        [200, endpoint.url],
        [200, other.url],
      ]);
      expect([endpoint.url, other.url]).to.include((await read()).interactionsEndpointUrl);
    }
  });

  it('a hanging ping blocks nothing else of the application, and the save changes only its own field', async () => {
    await save(endpoint.url);
    const slow = save(hanging.url);
    await waitForHeld(1);
    expect((await patch({ name: 'meanwhile', public: true })).status).to.equal(200);
    expect(await read()).to.include({ name: 'meanwhile', interactionsEndpointUrl: endpoint.url });
    const id = await fixture.use();
    await postWhole(fixture.worker, id);
    expect(endpoint.received.at(-1)?.json).to.include({ id });
    answerHeld();
    expect((await slow).body).to.include({ name: 'meanwhile', interactionsEndpointUrl: hanging.url });
  });

  it('answers 400 not_public and saves no URL when the bot was made private during the ping', async () => {
    await patch({ public: true, interactionsEndpointUrl: endpoint.url });
    const slow = patch({ inDirectory: true, interactionsEndpointUrl: hanging.url });
    await waitForHeld(1);
    await patch({ public: false });
    answerHeld();
    expect(await slow)
      .to.deep.include({ status: 400 })
      .and.to.have.nested.property('body.code', 'not_public');
    expect(await read()).to.include({ public: false, inDirectory: false, interactionsEndpointUrl: endpoint.url });
  });

  it('answers 404 when the application was deleted during the ping', async () => {
    const made = await fixture.api.call<Application>('POST', '/api/applications', { as: fixture.asPerson, body: { name: 'brief' } });
    const own = `/api/applications/${made.body.id}`;
    const slow = fixture.api.call('PATCH', own, { as: fixture.asPerson, body: { interactionsEndpointUrl: hanging.url } });
    await waitForHeld(1);
    expect((await fixture.api.call('DELETE', own, { as: fixture.asPerson })).status).to.equal(204);
    answerHeld();
    expectError(await slow, 404, 'not_found');
  });

  it('answers 503 unavailable without Redis, before anything is sent or saved', async () => {
    const proxy = await startTcpProxy(process.env.REDIS_URL ?? '', 6379);
    const away = await startInteractionFixture({ REDIS_URL: proxy.url, OUTBOUND_ALLOW: endpoint.site.pair });
    const callOwn = (method: string, body?: object) =>
      away.api.call<Record<string, unknown>>(method, `/api/applications/${away.bot.applicationId}`, { as: away.asPerson, body });
    const changes = { name: 'x', interactionsEndpointUrl: endpoint.url };
    const opened = endpoint.site.opened();
    proxy.cut();
    expectError(await callOwn('PATCH', changes), 503, 'unavailable');
    expect((await callOwn('GET')).body).to.include({ interactionsEndpointUrl: null, name: 'app 0' });
    expect(endpoint.site.opened()).to.equal(opened);
    proxy.mend();
    await waitUntil(async () => (await callOwn('PATCH', changes)).status === 200, 'Redis to be back');
    await away.close();
    await proxy.close();
  });
});
