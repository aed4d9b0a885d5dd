import type { ServerResponse } from 'node:http';
import { expect } from 'chai';
import { reply } from '../harness/endpoint.ts';
import { type EndpointScene, startEndpointScene } from '../harness/endpoint-scene.ts';
import { type OwnProcess, startOwn } from '../harness/own-process.ts';
import { until } from '../harness/scene.ts';
import { type Site, startSite } from '../harness/site.ts';
import { type RaceScene, startRaceScene } from './race-scene.ts';

describe('Interactions Endpoint: 60 uses at once of one that hangs', function () {
  this.timeout(180_000); // processes start
  let scene: RaceScene;
  let workers: OwnProcess[] = [];
  before(async () => {
    scene = await startRaceScene();
  });
  after(async () => {
    for (const worker of workers) worker.kill('SIGKILL');
    await Promise.all(workers.map(({ ended }) => ended));
    await scene.close();
  });

  it('two workers together send 50; 10 fail as busy while these hang; then there are places again', async () => {
    const held: ServerResponse[] = [];
    scene.endpoint.answer((_received, response) => void held.push(response));
    const ids: string[] = [];
    for (let at = 0; at < 60; at++) ids.push(await scene.use()); // with all their time left: none of the requests ends by itself
    const { config } = scene.api.platform;
    workers = await Promise.all([startOwn('worker', config), startOwn('worker', config)]);
    await until(() => held.length === 50, '50 requests');
    await until(async () => (await scene.log()).length === 10, '10 failures');
    const busy = { status: null, ms: 0, outcome: 'failed', reason: 'busy: too many requests of the application wait for their answer' };
    for (const line of await scene.log()) expect(line).to.deep.include(busy);
    const refused = (await scene.log()).map(({ interactionId }) => interactionId);
    expect([...scene.posted(), ...refused].sort()).to.deep.equal([...ids].sort());
    expect(held.every((response) => !response.destroyed)).to.equal(true);
    // One that failed as busy is open to the callback route as ever.
    expect((await scene.send('callback', String(refused[0]), { type: 'defer' })).status).to.equal(204);

    scene.endpoint.answer(reply(200, { type: 'defer' }));
    for (const response of held) response.end();
    await until(async () => (await scene.log()).length === 60, 'all outcomes');
    const next = await scene.use();
    await until(async () => (await scene.stored(next)).state === 'deferred', 'the next answer');
    expect(held).to.have.length(50);
  });
});

describe('Interactions Endpoint: pings at once', () => {
  let scene: EndpointScene;
  let slow: Site;
  let held: ServerResponse[];
  before(async () => {
    held = [];
    slow = await startSite((_request, response) => void held.push(response));
    scene = await startEndpointScene([slow.pair]);
  });
  after(async () => {
    await scene.close();
    await slow.close();
  });

  it('3 of an application at a time, a fourth is 429; they are counted apart from its 50 requests, and given back', async () => {
    const { api, asPerson, bot, worker, world } = scene.scene;
    const path = `/api/applications/${bot.applicationId}`;
    const ping = () => api.call('POST', `${path}/interactions-endpoint/test`, { as: asPerson });
    const save = (interactionsEndpointUrl: string) => api.call('PATCH', path, { as: asPerson, body: { interactionsEndpointUrl } });
    const place = (at: number) => worker.takeFlight({ id: `place-${at}`, group: bot.applicationId, groupMax: 50, lastsMs: 30_000 });
    const all = Array.from({ length: 50 }, (_, at) => at);
    const places = await Promise.all(all.map(place));
    expect(places).not.to.include(null);
    await scene.moveTo(`${slow.url}/slow`);
    // Two try what is saved, one what shall be; each ends as the test says, or after 3 s.
    const tries = [ping(), save(`${slow.url}/other`), ping()];
    await until(() => held.length === 3, 'three pings');
    for (const refused of [await ping(), await save(`${slow.url}/third`)]) {
      expect([refused.status, refused.body.code]).to.deep.equal([429, 'rate_limited']);
      expect(refused.headers.get('Retry-After')).to.equal('1');
    }
    for (const land of places) land?.();
    const again = await Promise.all(all.map(place));
    expect(again).not.to.include(null);
    // Another application's pings are its own.
    const other = `/api/applications/${world.bots[1]?.applicationId}`;
    const body = { interactionsEndpointUrl: scene.endpoint.url };
    expect((await api.call('PATCH', other, { as: asPerson, body })).status).to.equal(200);
    for (const response of held.splice(0)) response.end('{"type":"pong"}');
    expect((await Promise.all(tries)).map(({ status }) => status)).to.deep.equal([200, 200, 200]);
    expect((await save(scene.endpoint.url)).status).to.equal(200);
    expect((await ping()).body).to.deep.include({ ok: true });
    for (const land of again) land?.();
  });
});
