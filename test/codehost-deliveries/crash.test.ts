import { expect } from 'chai';
import type { Failpoint } from '../../lib/base/failpoint.ts';
import { type OwnProcess, startOwn } from '../harness/own-process.ts';
import { type Hook, range, type Scene, startDeliveries, titleOf } from './fixture.ts';

describe('a worker that is killed while it posts deliveries', function () {
  this.timeout(180_000); // a process starts in each
  let scene: Scene;
  let hook: Hook;
  let child: OwnProcess;
  before(async () => {
    scene = await startDeliveries();
  });
  after(() => scene.close());
  beforeEach(async () => {
    hook = await scene.make();
  });
  afterEach(() => child.kill());

  const outcomes = async (): Promise<string[]> => (await hook.stored()).map(({ outcome }) => outcome);
  const dies = async (failpoint: Failpoint): Promise<void> => {
    child = await startOwn('worker', scene.api.platform.config, { failpoint });
    const [, signal] = await child.ended;
    expect(signal).to.equal('SIGKILL');
  };

  for (const [failpoint, stored] of [
    ['after-delivery-claim', 0],
    ['after-delivery-message', 1],
  ] as const)
    it(`${failpoint}: the next posts each once, in order`, async () => {
      await hook.deliverIssues(1, 3);
      await dies(failpoint);
      expect([(await hook.messages()).length, await outcomes()]).to.deep.equal([stored, ['waiting', 'waiting', 'waiting']]);
      const [made] = await hook.messages();
      expect(await hook.drain(), 'it is held until its time is over').to.be.within(1, 1_000);
      await hook.rest();
      await hook.drainAll();
      expect(await hook.titles()).to.deep.equal(range(1, 3).map(titleOf));
      if (made) expect((await hook.messages())[0]?._id).to.equal(made._id);
      expect((await hook.stored()).map(({ messageId }) => messageId)).to.deep.equal((await hook.messages()).map(({ _id }) => _id));
      expect(await outcomes()).to.deep.equal(['posted', 'posted', 'posted']);
    });
});
