import { expect } from 'chai';
import { limits } from '../../lib/base/limits.ts';
import { use } from '../harness/use.ts';
import { startDeliveries } from './fixture.ts';

describe('Code host deliveries: ignored ones', () => {
  const fixture = use(startDeliveries);

  it('answers 204 to 300 at once, stores only some of them, and does not affect other webhooks', async () => {
    const [hook, other] = [await fixture.createHook(), await fixture.createHook()];
    const answers = await Promise.all(Array.from({ length: 300 }, () => hook.deliver({}, { event: 'watch' })));
    expect(new Set(answers.map(({ status }) => status))).to.deep.equal(new Set([204]));
    expect((await hook.stored()).length).to.be.within(limits.deliveriesIgnoredBurst, limits.deliveriesIgnoredBurst + 60);
    await other.deliver({}, { event: 'watch' });
    expect(await other.stored()).to.have.length(1);
    await hook.deliverIssues(1, 1);
  });
});
