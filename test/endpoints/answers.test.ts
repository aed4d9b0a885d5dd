import { expect } from 'chai';
import { postInteraction } from '../../lib/domain/endpoint-delivery.ts';
import { reply, startEndpoint, type TestEndpoint } from '../harness/endpoint.ts';
import { type Scene, startScene } from '../harness/scene.ts';

describe('an interaction over HTTPS', () => {
  let endpoint: TestEndpoint;
  let scene: Scene;
  before(async () => {
    endpoint = await startEndpoint();
    scene = await startScene({ OUTBOUND_ALLOW: endpoint.site.pair });
    const saved = await scene.api.call('PATCH', `/api/applications/${scene.bot.applicationId}`, {
      as: scene.asPerson,
      body: { interactionsEndpointUrl: endpoint.url },
    });
    expect(saved).to.deep.include({ status: 200 });
    expect(endpoint.pings).to.have.length(1);
  });
  after(async () => {
    await scene.close();
    await endpoint.close();
  });

  it('a message in the answer is the answer', async () => {
    endpoint.answer(reply(200, { type: 'message', content: 'over https' }));
    const id = await scene.use();
    await postInteraction(scene.worker, id);
    await postInteraction(scene.worker, id);
    expect(endpoint.received.map(({ json }) => json.id)).to.deep.equal([id]);
    const { state, delivery } = await scene.stored(id);
    expect(state).to.equal('answered');
    expect(delivery).to.deep.include({ status: 200, outcome: 'answered', reason: null });
    expect((await scene.messages()).map(({ content }) => content)).to.deep.equal(['over https']);
    const log = await scene.api.call('GET', `/api/applications/${scene.bot.applicationId}/deliveries`, { as: scene.asPerson });
    expect(log.body).to.deep.include({ hasMore: false });
    const test = await scene.api.call('POST', `/api/applications/${scene.bot.applicationId}/interactions-endpoint/test`, {
      as: scene.asPerson,
    });
    expect(test.body).to.deep.include({ ok: true, status: 200, step: null });
  });
});
