import { expect } from 'chai';
import { type Figure, type FigureName, rules, type State, verdict, worstOf } from '../../apps/ops/page/verdict.ts';

/** Each figure at the edges of its rule: the last value that is fine, the first that is not; `of` where few events count for less. */
const table: Record<FigureName, [value: number | null, state: State, of?: number][]> = {
  messages: [
    [0, 'fine'],
    [199.9, 'fine'],
    [200, 'look'],
    [10_000, 'look'],
  ],
  'message-time': [
    [0.249, 'fine'],
    [0.25, 'look'],
    [1.99, 'look'],
    [2, 'act'],
  ],
  nodes: [
    [1, 'fine'],
    [8, 'fine'],
    [0, 'act'],
  ],
  'sockets-kept': [
    [1, 'fine'],
    [0.5, 'fine'],
    [0.49, 'look'],
    [0, 'look'],
  ],
  'sockets-strange': [
    [199, 'fine'],
    [200, 'look'],
  ],
  'prompt-queue-age': [
    [0.9, 'fine'],
    [1, 'look'],
    [2.9, 'look'],
    [3, 'act'],
  ],
  'queue-age': [
    [29, 'fine'],
    [30, 'look'],
    [299, 'look'],
    [300, 'act'],
  ],
  'queue-depth': [
    [999, 'fine'],
    [1_000, 'look'],
    [9_999, 'look'],
    [10_000, 'act'],
  ],
  'outbox-age': [
    [0, 'fine'],
    [3.9, 'fine'],
    [4, 'look'],
    [14.9, 'look'],
    [15, 'act'],
  ],
  'route-time': [
    [0.49, 'fine', 20],
    [0.5, 'look', 20],
    [0.5, 'fine', 19],
    [3, 'act', 20],
    [3, 'look', 19],
  ],
  'endpoint-time': [
    [1.49, 'fine'],
    [1.5, 'look'],
  ],
  'endpoint-failures': [
    [0.19, 'fine'],
    [0.2, 'look'],
  ],
  'server-errors': [
    [0, 'fine', 1],
    [0.001, 'look', 1_000],
    [0.5, 'look', 2],
    [0.009, 'look', 100],
    [0.01, 'act', 100],
  ],
  'caller-errors': [
    [0.19, 'fine', 100],
    [0.2, 'look', 100],
    [1, 'fine', 99],
  ],
  'job-failures': [
    [0, 'fine', 1],
    [0.001, 'look', 1_000],
    [1, 'look', 1],
    [0.05, 'act', 100],
  ],
  database: [
    [1, 'fine'],
    [0.5, 'look'],
    [0, 'act'],
  ],
  redis: [
    [1, 'fine'],
    [0.5, 'look'],
    [0, 'act'],
  ],
  'redis-memory': [
    [0.69, 'fine'],
    [0.7, 'look'],
    [0.9, 'act'],
  ],
  'redis-keeps': [
    [1, 'fine'],
    [0, 'look'],
  ],
  'worker-beat': [
    [4.9, 'fine'],
    [5, 'look'],
    [10, 'act'],
    [Infinity, 'act'],
  ],
};

describe('how a figure of the overview is judged', () => {
  for (const name of Object.keys(rules) as FigureName[])
    it(name, () => {
      for (const [value, state, of] of table[name]) {
        const figure: Figure = { name, value, ...(of === undefined ? {} : { of }) };
        const found = verdict(figure);
        expect(found.state, `${value} of ${of}`).to.equal(state);
        expect(found.normal).to.be.a('string').and.have.length.greaterThan(4);
        expect(found.advice !== '', 'advice').to.equal(state !== 'fine');
      }
      for (const value of [null, Number.NaN]) expect(verdict({ name, value })).to.include({ state: 'unknown', advice: '' });
    });

  for (const [states, worst] of [
    [[], 'fine'],
    [['fine', 'unknown'], 'unknown'],
    [['unknown', 'look'], 'look'],
    [['act', 'look', 'fine'], 'act'],
  ] as [State[], State][])
    it(`the worst of ${states.join(', ') || 'nothing'} is ${worst}`, () => expect(worstOf(states)).to.equal(worst));
});
