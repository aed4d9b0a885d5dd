import { expect } from 'chai';
import { limits } from '../../lib/base/limits.ts';
import { type Scene, startDeliveries } from './fixture.ts';

describe('deliveries that are ignored', () => {
  let scene: Scene;
  before(async () => {
    scene = await startDeliveries();
  });
  after(() => scene.close());

  it('of very many at once a part is stored; all get 204, and other webhooks are not affected', async () => {
    const [hook, other] = [await scene.make(), await scene.make()];
    const answers = await Promise.all(Array.from({ length: 300 }, () => hook.deliver({}, { event: 'watch' })));
    expect(new Set(answers.map(({ status }) => status))).to.deep.equal(new Set([204]));
    expect((await hook.stored()).length).to.be.within(limits.deliveriesIgnoredBurst, limits.deliveriesIgnoredBurst + 60);
    await other.deliver({}, { event: 'watch' });
    expect(await other.stored()).to.have.length(1);
    await hook.deliverIssues(1, 1);
  });
});
