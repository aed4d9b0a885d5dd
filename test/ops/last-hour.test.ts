import { expect } from 'chai';
import { createLastHour } from '../../apps/ops/measures/last-hour.ts';

const halfMinute = 30_000;

describe('createLastHour', () => {
  it('keeps the highest value of each half minute, with gaps, and begins at the first value', () => {
    const hour = createLastHour();
    for (const [value, at] of [
      [3, 0],
      [5, 5_000],
      [4, 29_999],
      [1, halfMinute],
      [null, 2 * halfMinute],
      [2, 3 * halfMinute],
    ] as const)
      hour.record('a', value, at);
    expect(hour.read('a', 3 * halfMinute)).to.deep.equal([5, 1, null, 2]);
    expect(hour.read('a', 4 * halfMinute)).to.deep.equal([5, 1, null, 2, null]);
    expect(hour.read('b', 0)).to.deep.equal([]);
  });

  it('keeps an hour, whatever its length', () => {
    const hour = createLastHour();
    for (let at = 0; at < 500; at++) hour.record('a', at, at * halfMinute);
    expect(hour.read('a', 499 * halfMinute)).to.deep.equal(Array.from({ length: 120 }, (_, index) => 380 + index));
    expect(hour.read('a', 610 * halfMinute).filter((value) => value !== null)).to.deep.equal([491, 492, 493, 494, 495, 496, 497, 498, 499]);
    expect(hour.read('a', 700 * halfMinute)).to.deep.equal([]);
  });

  it('keeps values of at most 2,000 series, and drops those without a value for an hour', () => {
    const hour = createLastHour();
    for (let index = 0; index < 2_001; index++) hour.record(`s${index}`, 1, 0);
    expect([hour.read('s1999', 0), hour.read('s2000', 0)]).to.deep.equal([[1], []]);
    hour.record('later', 1, 121 * halfMinute);
    expect(hour.read('later', 121 * halfMinute)).to.deep.equal([1]);
  });
});
