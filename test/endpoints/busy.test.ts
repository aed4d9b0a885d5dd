import type { ServerResponse } from 'node:http';
import { expect } from 'chai';
import { reply } from '../harness/endpoint.ts';
import { startEndpointFixture } from '../harness/endpoint-fixture.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { type OwnProcess, startOwn } from '../harness/own-process.ts';
import { startSite } from '../harness/site.ts';
import { use } from '../harness/use.ts';
import { startRaceFixture } from './race-fixture.ts';

describe('Interactions Endpoint: 60 parallel uses while the endpoint hangs', () => {
  let workers: OwnProcess[] = [];
  after(() => {
    for (const worker of workers) worker.kill();
    return Promise.all(workers.map(({ ended }) => ended));
  });
  const fixture = use(startRaceFixture);

  it('two workers send 50 requests together and fail 10 as busy; slots are free again after the answers', async () => {
    const held = fixture.hold();
    const ids: string[] = [];
    for (let at = 0; at < 60; at++) ids.push(await fixture.use()); // with a minute of time left, so that no request times out
    const { config } = fixture.api.platform;
    workers = await Promise.all([startOwn('worker', config), startOwn('worker', config)]);
    await waitUntil(() => held.length === 50, '50 requests');
    await waitUntil(async () => (await fixture.log()).length === 10, '10 failures');
    const busy = {
      status: null,
      ms: 0,
      outcome: 'failed',
      reason: 'busy: too many requests of this application are waiting for a response',
    };
    for (const line of await fixture.log()) expect(line).to.deep.include(busy);
    const refused = (await fixture.log()).map(({ interactionId }) => interactionId);
    expect([...fixture.posted(), ...refused].sort()).to.deep.equal([...ids].sort());
    expect(held.every((response) => !response.destroyed)).to.equal(true);
    // A callback can still answer an interaction that failed as busy.
    expect((await fixture.send('callback', String(refused[0]), { type: 'defer' })).status).to.equal(204);

    fixture.endpoint.answer(reply(200, { type: 'defer' }));
    for (const response of held) response.end();
    await waitUntil(async () => (await fixture.log()).length === 60, 'all outcomes');
    const next = await fixture.use();
    await waitUntil(async () => (await fixture.stored(next)).state === 'deferred', 'the next answer');
    expect(held).to.have.length(50);
  });
});

describe('Interactions Endpoint: parallel pings', () => {
  const held: ServerResponse[] = [];
  const slow = use(() => startSite((_request, response) => void held.push(response)));
  const fixture = use(() => startEndpointFixture([slow.pair]));

  it('runs 3 pings per application and answers 429 to a fourth; they do not use up the slots of its 50 requests', async () => {
    const { api, asPerson, bot, worker, seeded } = fixture.fixture;
    const path = `/api/applications/${bot.applicationId}`;
    const ping = () => api.call('POST', `${path}/interactions-endpoint/test`, { as: asPerson });
    const save = (interactionsEndpointUrl: string) => api.call('PATCH', path, { as: asPerson, body: { interactionsEndpointUrl } });
    const acquireSlot = (at: number) =>
      worker.acquireRequestSlot({ id: `slot-${at}`, group: bot.applicationId, maxPerGroup: 50, ttlMs: 30_000 });
    const all = Array.from({ length: 50 }, (_, at) => at);
    const slots = await Promise.all(all.map(acquireSlot));
    expect(slots).not.to.include(null);
    await fixture.moveTo(`${slow.url}/slow`);
    // Two pings test the saved URL, one a new URL. Each ends when the test answers, or after 3 s.
    const tries = [ping(), save(`${slow.url}/other`), ping()];
    await waitUntil(() => held.length === 3, 'three pings');
    for (const refused of [await ping(), await save(`${slow.url}/third`)]) {
      expect([refused.status, refused.body.code]).to.deep.equal([429, 'rate_limited']);
      expect(refused.headers.get('Retry-After')).to.equal('1');
    }
    for (const release of slots) release?.();
    const moreSlots = await Promise.all(all.map(acquireSlot));
    expect(moreSlots).not.to.include(null);
    // Pings of another application are counted apart.
    const other = `/api/applications/${seeded.bots[1]?.applicationId}`;
    const body = { interactionsEndpointUrl: fixture.endpoint.url };
    expect((await api.call('PATCH', other, { as: asPerson, body })).status).to.equal(200);
    for (const response of held.splice(0)) response.end('{"type":"pong"}');
    expect((await Promise.all(tries)).map(({ status }) => status)).to.deep.equal([200, 200, 200]);
    expect((await save(fixture.endpoint.url)).status).to.equal(200);
    expect((await ping()).body).to.deep.include({ ok: true });
    for (const release of moreSlots) release?.();
  });
});
