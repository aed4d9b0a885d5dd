import { expect } from 'chai';
import { shareRuns } from '../../lib/base/shared-run.ts';

describe('shareRuns', () => {
  it('gives a caller that comes just as a run ends the next run, which another caller awaits already', async () => {
    const ends: (() => void)[] = [];
    const runs: Promise<void>[] = [];
    const call = shareRuns(() => {
      const run = new Promise<void>((resolve) => ends.push(resolve));
      runs.push(run);
      return run;
    });
    const calls = [call(), call()];
    const late = runs[0]?.then(() => void calls.push(call()));
    ends[0]?.();
    await Promise.all([late, calls[0]]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(runs).to.have.length(2);
    ends[1]?.();
    await Promise.all(calls);
    expect(runs).to.have.length(2);
  });

  it('begins the next run also when the first one fails', async () => {
    let runs = 0;
    const call = shareRuns(async () => {
      if (++runs === 1) throw new Error('the first run');
      return runs;
    });
    const [first, second] = await Promise.allSettled([call(), call()]);
    expect(first.status).to.equal('rejected');
    expect(second).to.deep.equal({ status: 'fulfilled', value: 2 });
  });
});
