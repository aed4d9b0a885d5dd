import { expect } from 'chai';
import { type RepeatedTask, startScheduler } from '../../workers/scheduler.ts';

describe('Scheduler', () => {
  /** A task whose runs are counted. `ran(n)` resolves when run `n` has begun; `work` is what each run does. */
  const createTask = (name: string, work: (run: number) => Promise<unknown>): RepeatedTask & { ran(n: number): Promise<void> } => {
    let count = 0;
    const waiting = new Map<number, () => void>();
    return {
      name,
      intervalMs: 1,
      run: async () => {
        count++;
        waiting.get(count)?.();
        await work(count);
      },
      ran: (n) => new Promise((resolve) => (count >= n ? resolve() : waiting.set(n, resolve))),
    };
  };
  const nothing = (): Promise<void> => Promise.resolve();

  it('repeats each task; one that takes long does not overlap itself and delays no other', async () => {
    let end: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    let slowRuns = 0;
    const slow = createTask('slow', () => (slowRuns++ === 0 ? ended : nothing()));
    const quick = createTask('quick', nothing);
    const scheduler = startScheduler([slow, quick], () => undefined);
    await slow.ran(1);
    await quick.ran(5);
    expect(slowRuns).to.equal(1);
    end();
    await slow.ran(3);
    await scheduler.close();
  });

  it('reports each failure with the name of its task, and runs the task again', async () => {
    const failures: [string, unknown][] = [];
    const task = createTask('bad', (run) => (run < 3 ? Promise.reject(new Error(`run ${run}`)) : nothing()));
    const scheduler = startScheduler([task], (name, error) => failures.push([name, (error as Error).message]));
    await task.ran(4);
    await scheduler.close();
    expect(failures).to.deep.equal([
      ['bad', 'run 1'],
      ['bad', 'run 2'],
    ]);
  });

  it('close waits for the current runs and starts no more', async () => {
    let isEnded = false;
    const task = createTask('last', async () => {
      await new Promise((resolve) => setImmediate(resolve));
      isEnded = true;
    });
    const scheduler = startScheduler([task], () => undefined);
    await task.ran(1);
    isEnded = false;
    await scheduler.close();
    expect(isEnded).to.equal(true);
  });
});
