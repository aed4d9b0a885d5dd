import { expect } from 'chai';
import { createFairSlots, type Release } from '../../lib/base/fair-slots.ts';

describe('fair slots', () => {
  /** Asks for slots in this order and gives each back as soon as it came; answers the order in which they came. */
  async function orderOf(
    keys: readonly string[],
    limits: { inAll: number; perKey: number },
  ): Promise<{ order: string; most: number; mostOfOne: number }> {
    const acquire = createFairSlots(limits);
    const taken = new Map<string, number>();
    let [order, most, mostOfOne] = ['', 0, 0];
    const one = async (key: string): Promise<void> => {
      const release: Release = await acquire(key);
      order += key;
      taken.set(key, (taken.get(key) ?? 0) + 1);
      most = Math.max(
        most,
        [...taken.values()].reduce((sum, count) => sum + count, 0),
      );
      mostOfOne = Math.max(mostOfOne, taken.get(key) ?? 0);
      await new Promise(setImmediate);
      taken.set(key, (taken.get(key) ?? 0) - 1);
      release();
      release();
    };
    await Promise.all(keys.map(one));
    return { order, most, mostOfOne };
  }

  it('go to the keys in turn, however many requests of one key wait', async () => {
    expect((await orderOf('aaaaaabc'.split(''), { inAll: 1, perKey: 1 })).order).to.equal('abcaaaaa');
  });

  it('are never more than allowed, in all and for one key', async () => {
    const { order, most, mostOfOne } = await orderOf('aaaaaaaabbbbcdef'.split(''), { inAll: 4, perKey: 2 });
    expect([order.split('').toSorted().join(''), most, mostOfOne]).to.deep.equal(['aaaaaaaabbbbcdef', 4, 2]);
  });
});
