import { expect } from 'chai';
import { listNetworks } from '../../lib/base/client-address.ts';
import { createNewcomerQueue } from '../../lib/base/newcomer-queue.ts';

describe('the queue that serves newcomers first', () => {
  /** A queue with one slot, whose work ends when `finish` is called. `done` has the addresses in the order in which their work ran, `refused` those that were refused. */
  const start = (options: { maxWaitingPerAddress?: number; maxWaiting?: number } = {}) => {
    const queue = createNewcomerQueue(
      { maxRunning: 1, maxWaitingPerAddress: 10, maxWaiting: 10, windowMs: 60_000, ...options },
      (reason) => {
        throw new Error(reason);
      },
    );
    const done: string[] = [];
    const refused: string[] = [];
    let open: () => void = () => undefined;
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    const all: Promise<void>[] = [];
    const add = (...addresses: string[]): void => {
      for (const address of addresses)
        all.push(
          queue(address, async () => {
            await opened;
            done.push(address);
          }).catch((error: Error) => void refused.push(`${address} ${error.message}`)),
        );
    };
    const finish = async () => {
      open();
      await Promise.all(all);
      return { done: done.join(' '), refused };
    };
    return { add, finish };
  };

  it('serves an address that is new before those that have used it', async () => {
    const { add, finish } = start();
    add('a', 'a', 'a', 'b', 'b', 'c');
    expect((await finish()).done).to.equal('a c b b a a');
  });

  it('serves the newest of equal ones first', async () => {
    const { add, finish } = start();
    add('first', 'a', 'b', 'c');
    expect((await finish()).done).to.equal('first c b a');
  });

  it('remembers uses that have ended', async () => {
    const one = start();
    one.add('a', 'a', 'a');
    await one.finish();
    one.add('a', 'a', 'b', 'b');
    expect((await one.finish()).done).to.equal('a a a a b b a');
  });

  it('refuses the work of the address that used it most when it is full, and never a newcomer', async () => {
    const { add, finish } = start({ maxWaiting: 3 });
    add('a', 'a', 'b', 'b', 'c', 'd', 'e');
    const { done, refused } = await finish();
    expect(done).to.equal('a e d c');
    expect(refused).to.deep.equal(['a all', 'b all', 'b all']);
  });

  it('refuses work beyond the limit of an address', async () => {
    const { add, finish } = start({ maxWaitingPerAddress: 1 });
    add('a', 'a', 'a', 'b');
    const { done, refused } = await finish();
    expect(done).to.equal('a b a');
    expect(refused).to.deep.equal(['a key']);
  });

  it('counts IPv6 by /48, then by /56, then by /64', async () => {
    const { add, finish } = start();
    add('first');
    const [same64, same56, same48, other] = ['2001:db8:1:1::/64', '2001:db8:1:2::/64', '2001:db8:1:ff01::/64', '2001:db8:2::/64'];
    add(same64, same64, same56, same48, other);
    expect((await finish()).done).to.equal(`first ${[other, same48, same56, same64, same64].join(' ')}`);
  });

  it('does not fail for work that fails', async () => {
    const queue = createNewcomerQueue({ maxRunning: 1, maxWaitingPerAddress: 1, maxWaiting: 1, windowMs: 60_000 }, () => {
      throw new Error('full');
    });
    const failed = queue('a', () => Promise.reject(new Error('no'))).catch((error: Error) => error.message);
    const next = queue('a', () => Promise.resolve('yes'));
    expect([await failed, await next, await queue('a', () => Promise.resolve('again'))]).to.deep.equal(['no', 'yes', 'again']);
  });

  it('knows the networks of an address', () => {
    expect(listNetworks('203.0.113.7')).to.deep.equal(['203.0.113.7']);
    expect(listNetworks('2001:db8:1:ff02::/64')).to.deep.equal(['2001:db8:1::/48', '2001:db8:1:ff00::/56', '2001:db8:1:ff02::/64']);
    for (const other of ['::1', 'unknown', '']) expect(listNetworks(other)).to.deep.equal([other]);
  });
});
