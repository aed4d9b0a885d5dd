import { expect } from 'chai';
import { use } from '../harness/use.ts';

describe('use', () => {
  const closed: string[] = [];
  const start = (name: string) => async () => ({ name, close: () => closed.push(name) });

  describe('while the tests run', () => {
    const first = use(start('first'));
    const second = use(start('second'));
    const third = use(start('third of a test'), { each: true });
    const fourth = use(start('fourth of a test'), { each: true });

    it('starts in the order of the calls, and closes nothing', () => {
      expect([first, second, third, fourth].map(({ name }) => name)).to.deep.equal([
        'first',
        'second',
        'third of a test',
        'fourth of a test',
      ]);
      expect(closed).to.deep.equal([]);
    });
  });

  describe('after the tests', () => {
    it('has closed what was started last first', () =>
      expect(closed).to.deep.equal(['fourth of a test', 'third of a test', 'second', 'first']));
  });
});
