import { expect } from 'chai';
import { createTurns } from '../../lib/base/turns.ts';

/** Runs `count` pieces of work that each take a turn of the event loop; answers in which order they began. */
async function orderOf(options: { newestFirst?: boolean }, count: number): Promise<number[]> {
  const turns = createTurns(1, options);
  const began: number[] = [];
  const work = (n: number) => async (): Promise<void> => {
    began.push(n);
    await new Promise((resolve) => setImmediate(resolve));
  };
  await Promise.all(Array.from({ length: count }, (_, n) => turns('', work(n))));
  return began;
}

describe('turns', () => {
  it('come in the order asked for', async () => expect(await orderOf({}, 4)).to.deep.equal([0, 1, 2, 3]));

  it('newestFirst: the last to ask is next', async () => expect(await orderOf({ newestFirst: true }, 4)).to.deep.equal([0, 3, 2, 1]));
});
