import { expect } from 'chai';
import { reply } from '../harness/endpoint.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { startOwn } from '../harness/own-process.ts';
import { use } from '../harness/use.ts';
import { startRaceFixture } from './race-fixture.ts';

describe('Interactions Endpoint: shutdown of a worker', () => {
  const fixture = use(startRaceFixture, { each: true });

  it('on SIGTERM during a request the worker applies the answer and then ends', async () => {
    const held = fixture.hold();
    const worker = await startOwn('worker', fixture.api.platform.config);
    const id = await fixture.use();
    await waitUntil(() => held.length > 0, 'the request');
    worker.kill('SIGTERM');
    await worker.logged('stopping');
    const other = await fixture.use(); // the worker accepts no more work
    const [response] = held;
    if (response) reply(200, { type: 'message', content: 'finished' })(fixture.endpoint.received[0] ?? expect.fail(), response);
    expect(await worker.ended).to.deep.equal([0, null]);
    expect(await fixture.answersTo(id)).to.deep.equal(['finished']);
    expect(await fixture.logged(id)).to.deep.equal([200, 'answered', null]);
    expect(fixture.posted()).to.deep.equal([id]);
    expect((await fixture.stored(other)).deliveredAt).to.equal(null);
  });

  it('on SIGTERM while the endpoint hangs the worker ends with the 3 seconds of the request', async () => {
    fixture.endpoint.answer(() => undefined);
    const worker = await startOwn('worker', fixture.api.platform.config);
    const id = await fixture.invoke();
    await waitUntil(() => fixture.posted().includes(id), 'the request');
    worker.kill('SIGTERM');
    expect(await worker.ended).to.deep.equal([0, null]);
    expect(await fixture.logged(id)).to.deep.equal([null, 'failed', 'status: timed out']);
  });
});
