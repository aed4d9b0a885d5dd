import { expect } from 'chai';
import { createFairQueue, type QueueFull } from '../../lib/base/fair-queue.ts';

/** A queue of one at a time whose pieces end when told; `order` says in which order they began. */
function heldQueue(bounds: { waitingPerKey: number; waitingInAll: number }) {
  const order: string[] = [];
  const ends: (() => void)[] = [];
  const queue = createFairQueue({ atOnce: 1, ...bounds }, (why: QueueFull) => {
    throw new Error(why);
  });
  const add = (key: string, name: string): Promise<void> =>
    queue(key, () => {
      order.push(name);
      return new Promise<void>((resolve) => ends.push(resolve));
    });
  const endAll = async (): Promise<void> => {
    for (let end = ends.shift(); end; end = ends.shift()) {
      end();
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return { order, add, endAll };
}

describe('fair queue', () => {
  it('serves keys in turns, and the work of one key in its order', async () => {
    const { order, add, endAll } = heldQueue({ waitingPerKey: 10, waitingInAll: 10 });
    const all = ['a1', 'a2', 'a3', 'b1', 'c1', 'b2'].map((name) => add(name.charAt(0), name));
    await endAll();
    await Promise.all(all);
    expect(order).to.deep.equal(['a1', 'a2', 'b1', 'c1', 'a3', 'b2']);
  });

  it('refuses what is beyond its bounds at once, and takes work again when there is room', async () => {
    const { add, endAll } = heldQueue({ waitingPerKey: 2, waitingInAll: 3 });
    const refusal = (key: string): Promise<string> =>
      add(key, key).then(
        () => '',
        ({ message }: Error) => message,
      );
    const all = [add('a', 'runs'), add('a', 'waits'), add('a', 'waits')];
    expect(await refusal('a')).to.equal('key');
    all.push(add('b', 'waits'));
    expect(await refusal('c')).to.equal('all');
    await endAll();
    await Promise.all(all);
    const later = add('a', 'later');
    await endAll();
    await later;
  });

  it('keeps room: a first key gets half and a second key a third, so that neither holds up other work', async () => {
    const began: string[] = [];
    const ends: (() => void)[] = [];
    const queue = createFairQueue({ atOnce: 8, waitingPerKey: 10, waitingInAll: 30, keepsRoom: true }, (why: QueueFull) => {
      throw new Error(why);
    });
    const add = (name: string, ...keys: [string, ...string[]]): Promise<void> =>
      queue(keys, () => {
        began.push(name);
        return new Promise<void>((end) => ends.push(end));
      });
    const all = Array.from({ length: 6 }, () => add('a', 'a', 'slow host'));
    expect(began).to.have.length(3);
    all.push(add('b', 'b', 'slow host'), add('b fast', 'b', 'fast host'), add('a fast', 'a', 'fast host'));
    expect(began.slice(3)).to.deep.equal(['b fast', 'a fast']);
    for (let end = ends.shift(); end; end = ends.shift()) {
      end();
      await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all(all);
    expect(began.slice(5).toSorted()).to.deep.equal(['a', 'a', 'a', 'b']);
  });

  it('goes on after work that fails', async () => {
    const queue = createFairQueue({ atOnce: 1, waitingPerKey: 1, waitingInAll: 1 }, () => {
      throw new Error('full');
    });
    const failed = queue('a', () => Promise.reject(new Error('work'))).catch(({ message }: Error) => message);
    const next = queue('a', async () => 'done');
    expect([await failed, await next]).to.deep.equal(['work', 'done']);
  });
});
