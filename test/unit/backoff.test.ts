import { expect } from 'chai';
import { backoffMs } from '../../apps/web/api/backoff.ts';

describe('the backoff of pages', () => {
  for (const [failures, most] of [
    [0, 1_000],
    [1, 2_000],
    [5, 32_000],
    [6, 60_000],
    [2_000, 60_000],
  ] as const)
    it(`waits up to ${most} ms after ${failures} failures, and not always the same`, () => {
      const waits = Array.from({ length: 200 }, () => backoffMs(failures));
      expect(Math.min(...waits)).to.be.within(0, most / 4);
      expect(Math.max(...waits)).to.be.within((most * 3) / 4, most);
    });
});
