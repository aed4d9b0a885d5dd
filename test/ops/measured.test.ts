import { expect } from 'chai';
import { relayEvents } from '../../lib/domain/relay/relay.ts';
import { reply } from '../harness/endpoint.ts';
import { startEndpointFixture } from '../harness/endpoint-fixture.ts';
import { use } from '../harness/use.ts';

describe('metrics of a worker', () => {
  const endpointFixture = use(() => startEndpointFixture());

  it('count a message once, however often its channel is relayed', async () => {
    const { api, worker, channelId, asBot } = endpointFixture.fixture;
    const countEvents = async (): Promise<number> => {
      const { values } = await worker.metrics.events.get();
      return values.find(({ labels }) => labels.event === 'MESSAGE_CREATE')?.value ?? 0;
    };
    await relayEvents(worker, 'channel', channelId);
    const before = await countEvents();
    for (const content of ['one', 'two'])
      expect((await api.call('POST', `/api/channels/${channelId}/messages`, { as: asBot, body: { content } })).status).to.equal(201);
    await relayEvents(worker, 'channel', channelId);
    await relayEvents(worker, 'channel', channelId);
    expect((await countEvents()) - before).to.equal(2);
  });

  it('count requests to an endpoint and failed responses by application', async () => {
    const { fixture, endpoint } = endpointFixture;
    await endpointFixture.post(await fixture.use());
    endpoint.answer(reply(500));
    await endpointFixture.post(await fixture.use());
    const [time, ...others] = fixture.worker.metrics.endpoints.slowest();
    expect(time).to.include({ applicationId: fixture.bot.applicationId, posts: 2, failed: 1 });
    expect(others).to.deep.equal([]);
  });
});
