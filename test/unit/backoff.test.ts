import { expect } from 'chai';
import { backoffMs } from '../../apps/web/api/backoff.ts';

describe('backoffMs', () => {
  for (const [failures, maxMs] of [
    [0, 1_000],
    [1, 2_000],
    [5, 32_000],
    [6, 60_000],
    [2_000, 60_000],
  ] as const)
    it(`returns random waits up to ${maxMs} ms after ${failures} failures`, () => {
      const waits = Array.from({ length: 200 }, () => backoffMs(failures));
      expect(Math.min(...waits)).to.be.within(0, maxMs / 4);
      expect(Math.max(...waits)).to.be.within((maxMs * 3) / 4, maxMs);
    });
});
