import { expect } from 'chai';
import type { Failpoint } from '../../lib/base/failpoint.ts';
import { useOwnProcess } from '../harness/own-process.ts';
import { range, titleOf, useDeliveries } from './fixture.ts';

describe('Code host deliveries: a worker killed while it posts', () => {
  const { fixture, hook } = useDeliveries();
  const startProcess = useOwnProcess(() => fixture.api.platform.config);

  const killWorkerAt = async (failpoint: Failpoint): Promise<void> => {
    const { ended } = await startProcess('worker', failpoint);
    expect((await ended)[1]).to.equal('SIGKILL');
  };

  for (const [failpoint, stored] of [
    ['after-delivery-claim', 0],
    ['after-delivery-message', 1],
  ] as const)
    it(`${failpoint}: the next worker posts each delivery once, in order`, async () => {
      await hook.deliverIssues(1, 3);
      await killWorkerAt(failpoint);
      expect([(await hook.messages()).length, await hook.outcomes()]).to.deep.equal([stored, ['waiting', 'waiting', 'waiting']]);
      const [posted] = await hook.messages();
      expect(await hook.runJob(), 'the webhook stays claimed until the claim expires').to.be.within(1, 1_000);
      await hook.freeSlots();
      await hook.runAllJobs();
      expect(await hook.titles()).to.deep.equal(range(1, 3).map(titleOf));
      if (posted) expect((await hook.messages())[0]?._id).to.equal(posted._id);
      expect((await hook.stored()).map(({ messageId }) => messageId)).to.deep.equal((await hook.messages()).map(({ _id }) => _id));
      expect(await hook.outcomes()).to.deep.equal(['posted', 'posted', 'posted']);
    });
});
