import { expect } from 'chai';
import { computeShares } from '../../lib/store/redis/worker-shares.ts';

describe('Shares of the workers', () => {
  const workers = ['a', 'b', 'c', 'd'];
  const ownersOf = (ids: readonly string[]): Map<number, string[]> => {
    const owners = new Map<number, string[]>();
    for (const id of ids) for (const share of computeShares(id, ids)) owners.set(share, [...(owners.get(share) ?? []), id]);
    return owners;
  };

  it('each share belongs to exactly one worker, and each worker has some', () => {
    for (let count = 1; count <= workers.length; count++) {
      const owners = ownersOf(workers.slice(0, count));
      expect([...owners.keys()].sort((one, other) => one - other)).to.deep.equal(Array.from({ length: 256 }, (_, share) => share));
      for (const found of owners.values()) expect(found).to.have.length(1);
      expect(new Set([...owners.values()].flat())).to.have.property('size', count);
    }
  });

  it('only the shares of a worker that is gone change their owner', () => {
    const [before, after] = [ownersOf(workers), ownersOf(workers.slice(1))];
    for (const [share, [owner]] of before) if (owner !== 'a') expect(after.get(share)).to.deep.equal([owner]);
  });
});
