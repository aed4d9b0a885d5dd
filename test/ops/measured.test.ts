import { expect } from 'chai';
import { relay } from '../../lib/domain/events/relay.ts';
import { reply } from '../harness/endpoint.ts';
import { type EndpointScene, startEndpointScene } from '../harness/endpoint-scene.ts';

describe('what a worker measures', () => {
  let stage: EndpointScene;
  before(async () => {
    stage = await startEndpointScene();
  });
  after(() => stage.close());

  it('a message is one event that was handed over, however often its channel is drained', async () => {
    const { api, worker, channelId, asBot } = stage.scene;
    const told = async (): Promise<number> => {
      const { values } = await worker.metrics.events.get();
      return values.find(({ labels }) => labels.event === 'MESSAGE_CREATE')?.value ?? 0;
    };
    await relay(worker, 'channel', channelId);
    const before = await told();
    for (const content of ['one', 'two'])
      expect((await api.call('POST', `/api/channels/${channelId}/messages`, { as: asBot, body: { content } })).status).to.equal(201);
    await relay(worker, 'channel', channelId);
    await relay(worker, 'channel', channelId);
    expect((await told()) - before).to.equal(2);
  });

  it('a request to an endpoint under its application, with whether its reply was one', async () => {
    const { scene, endpoint } = stage;
    await stage.post(await scene.use());
    endpoint.answer(reply(500));
    await stage.post(await scene.use());
    const [time, ...others] = scene.worker.metrics.endpoints.slowest();
    expect(time).to.include({ applicationId: scene.bot.applicationId, posts: 2, failed: 1 });
    expect(others).to.deep.equal([]);
  });
});
