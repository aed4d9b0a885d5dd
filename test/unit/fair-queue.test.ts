import { expect } from 'chai';
import { createFairQueue, type FairQueueOptions, type QueueFull } from '../../lib/base/fair-queue.ts';

/** A queue whose tasks run until `endNext` or `endAll`. `order` has the names of the tasks in the order in which they started. */
function controlledQueue(bounds: Partial<FairQueueOptions>) {
  const order: string[] = [];
  const ends: (() => void)[] = [];
  const queue = createFairQueue({ maxRunning: 1, maxWaitingPerKey: 10, maxWaiting: 30, ...bounds }, (why: QueueFull) => {
    throw new Error(why);
  });
  const add = (name: string, ...keys: [string, ...string[]]): Promise<void> =>
    queue(keys, () => {
      order.push(name);
      return new Promise<void>((resolve) => ends.push(resolve));
    });
  const endNext = (): void => ends.shift()?.();
  const endAll = async (): Promise<void> => {
    while (ends.length > 0) {
      endNext();
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return { order, add, endNext, endAll };
}

describe('fair queue', () => {
  it('alternates between keys, and runs the tasks of one key in order', async () => {
    const { order, add, endAll } = controlledQueue({});
    const all = ['a1', 'a2', 'a3', 'b1', 'c1', 'b2'].map((name) => add(name, name.charAt(0)));
    await endAll();
    await Promise.all(all);
    expect(order).to.deep.equal(['a1', 'a2', 'b1', 'c1', 'a3', 'b2']);
  });

  it('refuses tasks beyond its limits at once, and accepts tasks again later', async () => {
    const { add, endAll } = controlledQueue({ maxWaitingPerKey: 2, maxWaiting: 3 });
    const refusal = (key: string): Promise<string> =>
      add(key, key).then(
        () => '',
        ({ message }: Error) => message,
      );
    const all = [add('runs', 'a'), add('waits', 'a'), add('waits', 'a')];
    expect(await refusal('a')).to.equal('key');
    all.push(add('waits', 'b'));
    expect(await refusal('c')).to.equal('all');
    await endAll();
    await Promise.all(all);
    const later = add('later', 'a');
    await endAll();
    await later;
  });

  it('maxRunningPerKey: work of one key waits while others start', async () => {
    const { order, add, endNext, endAll } = controlledQueue({ maxRunning: 8, maxRunningPerKey: [2, 3] });
    const all = [
      add('a1', 'a', 'x'),
      add('a2', 'a', 'x'),
      add('a3', 'a', 'y'),
      add('b1', 'b', 'x'),
      add('b2', 'b', 'x'),
      add('c1', 'c', 'y'),
    ];
    expect(order).to.deep.equal(['a1', 'a2', 'b1', 'c1']);
    endNext();
    await all[0];
    expect(order).to.deep.equal(['a1', 'a2', 'b1', 'c1', 'a3', 'b2']);
    await endAll();
    await Promise.all(all);
  });

  it('reservesSlots: a first key gets half of the slots and a second a third, so that other tasks can start', async () => {
    const { order, add, endAll } = controlledQueue({ maxRunning: 8, reservesSlots: true });
    const all = Array.from({ length: 6 }, () => add('a', 'a', 'slow host'));
    expect(order).to.have.length(3);
    all.push(add('b', 'b', 'slow host'), add('b fast', 'b', 'fast host'), add('a fast', 'a', 'fast host'));
    expect(order.slice(3)).to.deep.equal(['b fast', 'a fast']);
    await endAll();
    await Promise.all(all);
    expect(order.slice(5).toSorted()).to.deep.equal(['a', 'a', 'a', 'b']);
  });

  it('continues after a failed task', async () => {
    const queue = createFairQueue({ maxRunning: 1, maxWaitingPerKey: 1, maxWaiting: 1 }, () => {
      throw new Error('full');
    });
    const failed = queue('a', () => Promise.reject(new Error('work'))).catch(({ message }: Error) => message);
    const next = queue('a', async () => 'done');
    expect([await failed, await next]).to.deep.equal(['work', 'done']);
  });
});
