import type { ServerResponse } from 'node:http';
import { expect } from 'chai';
import { reply } from '../harness/endpoint.ts';
import { startOwn } from '../harness/own-process.ts';
import { until } from '../harness/scene.ts';
import { type RaceScene, startRaceScene } from './race-scene.ts';

describe('Interactions Endpoint: a worker that is told to end', function () {
  this.timeout(180_000); // a process starts in each
  let scene: RaceScene;
  beforeEach(async () => {
    scene = await startRaceScene();
  });
  afterEach(() => scene.close());

  it('SIGTERM while the endpoint thinks: the request is finished, its answer applied, then the process ends', async () => {
    const held: ServerResponse[] = [];
    scene.endpoint.answer((_received, response) => void held.push(response));
    const worker = await startOwn('worker', scene.api.platform.config);
    const id = await scene.use();
    await until(() => held.length > 0, 'the request');
    worker.kill('SIGTERM');
    await worker.logged('stopping');
    const other = await scene.use(); // it takes no more work
    const [response] = held;
    if (response) reply(200, { type: 'message', content: 'finished' })(scene.endpoint.received[0] ?? expect.fail(), response);
    expect(await worker.ended).to.deep.equal([0, null]);
    expect(await scene.answersTo(id)).to.deep.equal(['finished']);
    expect(await scene.logged(id)).to.deep.equal([200, 'answered', null]);
    expect(scene.posted()).to.deep.equal([id]);
    expect((await scene.stored(other)).deliveredAt).to.equal(null);
  });

  it('SIGTERM while the endpoint hangs: the process ends when the 3 seconds of the request do', async () => {
    scene.endpoint.answer(() => undefined);
    const worker = await startOwn('worker', scene.api.platform.config);
    const path = `/api/channels/${scene.channelId}/commands/${scene.commands.hello}/invoke`;
    const id = String((await scene.api.call('POST', path, { as: scene.asPerson, body: {} })).body.id); // in real time
    await until(() => scene.posted().includes(id), 'the request');
    worker.kill('SIGTERM');
    expect(await worker.ended).to.deep.equal([0, null]);
    expect(await scene.logged(id)).to.deep.equal([null, 'failed', 'status: timed out']);
  });
});
