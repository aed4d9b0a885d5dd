import { expect } from 'chai';
import { createFairQueue, type QueueFull } from '../../lib/base/fair-queue.ts';

/** A queue that runs one task at a time, each until `endAll`. `order` has the names of the tasks in the order in which they started. */
function controlledQueue(bounds: { maxWaitingPerKey: number; maxWaiting: number }) {
  const order: string[] = [];
  const ends: (() => void)[] = [];
  const queue = createFairQueue({ maxRunning: 1, ...bounds }, (why: QueueFull) => {
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
  it('alternates between keys, and runs the tasks of one key in order', async () => {
    const { order, add, endAll } = controlledQueue({ maxWaitingPerKey: 10, maxWaiting: 10 });
    const all = ['a1', 'a2', 'a3', 'b1', 'c1', 'b2'].map((name) => add(name.charAt(0), name));
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

  it('maxRunningPerKey: work of one key waits while others start', async () => {
    const started: string[] = [];
    const ends: (() => void)[] = [];
    const queue = createFairQueue({ maxRunning: 8, maxWaitingPerKey: 10, maxWaiting: 30, maxRunningPerKey: [2, 3] }, (why: QueueFull) => {
      throw new Error(why);
    });
    const add = (name: string, ...keys: [string, ...string[]]): Promise<void> =>
      queue(keys, () => {
        started.push(name);
        return new Promise<void>((resolve) => ends.push(resolve));
      });
    const all = [
      add('a1', 'a', 'x'),
      add('a2', 'a', 'x'),
      add('a3', 'a', 'y'),
      add('b1', 'b', 'x'),
      add('b2', 'b', 'x'),
      add('c1', 'c', 'y'),
    ];
    expect(started).to.deep.equal(['a1', 'a2', 'b1', 'c1']);
    ends.shift()?.();
    await all[0];
    expect(started).to.deep.equal(['a1', 'a2', 'b1', 'c1', 'a3', 'b2']);
    for (let end = ends.shift(); end; end = ends.shift()) {
      end();
      await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all(all);
  });

  it('reservesSlots: a first key gets half of the slots and a second a third, so that other tasks can start', async () => {
    const started: string[] = [];
    const ends: (() => void)[] = [];
    const queue = createFairQueue({ maxRunning: 8, maxWaitingPerKey: 10, maxWaiting: 30, reservesSlots: true }, (why: QueueFull) => {
      throw new Error(why);
    });
    const add = (name: string, ...keys: [string, ...string[]]): Promise<void> =>
      queue(keys, () => {
        started.push(name);
        return new Promise<void>((end) => ends.push(end));
      });
    const all = Array.from({ length: 6 }, () => add('a', 'a', 'slow host'));
    expect(started).to.have.length(3);
    all.push(add('b', 'b', 'slow host'), add('b fast', 'b', 'fast host'), add('a fast', 'a', 'fast host'));
    expect(started.slice(3)).to.deep.equal(['b fast', 'a fast']);
    for (let end = ends.shift(); end; end = ends.shift()) {
      end();
      await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all(all);
    expect(started.slice(5).toSorted()).to.deep.equal(['a', 'a', 'a', 'b']);
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
