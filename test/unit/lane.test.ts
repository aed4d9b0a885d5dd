import { expect } from 'chai';
import { isKnownNumber } from '../../apps/gateway/lane.ts';
import type { Lane } from '../../apps/gateway/state.ts';
import { epochSize } from '../../lib/store/redis/log/epochs.ts';

const at = (epoch: number, count: number): number => epoch * epochSize + count;

describe('isKnownNumber', () => {
  const epochEnds = new Map([1, 2].map((epoch) => [epoch, at(epoch, 9)]));
  const lane = { floor: at(1, 5), epoch: 3, epochEnds, receivedNumber: at(3, 8), sentNumber: at(3, 7) } as Partial<Lane> as Lane;

  for (const [what, number, isKnown] of [
    ['below the floor', at(1, 4), false],
    ['at the floor', at(1, 5), true],
    ['at the end of an earlier epoch', at(2, 9), true],
    ['above the end of an earlier epoch', at(2, 10), false],
    ['that was passed on last', at(3, 7), true],
    ['that was received and not passed on yet', at(3, 8), false],
    ['of an epoch that is not known', at(4, 0), false],
  ] as const)
    it(`is ${isKnown} for a number ${what}`, () => {
      expect(isKnownNumber(lane, number)).to.equal(isKnown);
    });
});
