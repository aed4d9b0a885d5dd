import { expect } from 'chai';
import { assess, type MeasureName, rules } from '../../apps/ops/measures/assessment.ts';
import { type State, worstOf } from '../../apps/ops/page/rows.ts';

/** Each measure at the edges of its rule: values with their states, and with a count where few events count for less. */
const table: Record<MeasureName, string> = {
  messages: '0 ok, 199.9 ok, 200 warning, 10000 warning',
  'message-time': '0.249 ok, 0.25 warning, 1.99 warning, 2 critical',
  nodes: '1 ok, 8 ok, 0 critical',
  'sockets-kept': '1 ok, 0.5 ok, 0.49 warning, 0 warning',
  'sockets-unidentified': '199 ok, 200 warning',
  'prompt-queue-age': '0.9 ok, 1 warning, 2.9 warning, 3 critical',
  'queue-age': '29 ok, 30 warning, 299 warning, 300 critical',
  'queue-depth': '999 ok, 1000 warning, 9999 warning, 10000 critical',
  'outbox-age': '0 ok, 3.9 ok, 4 warning, 14.9 warning, 15 critical',
  'route-time': '0.49 ok 20, 0.5 warning 20, 0.5 ok 19, 3 critical 20, 3 warning 19',
  'endpoint-time': '1.49 ok, 1.5 warning',
  'endpoint-failures': '0.19 ok, 0.2 warning',
  'server-errors': '0 ok 1, 0.001 warning 1000, 0.5 warning 2, 0.009 warning 100, 0.01 critical 100',
  'caller-errors': '0.19 ok 100, 0.2 warning 100, 1 ok 99',
  'job-failures': '0 ok 1, 0.001 warning 1000, 1 warning 1, 0.05 critical 100',
  database: '1 ok, 0.5 warning, 0 critical',
  redis: '1 ok, 0.5 warning, 0 critical',
  'redis-memory': '0.69 ok, 0.7 warning, 0.9 critical',
  'redis-eviction': '1 ok, 0 warning',
  'redis-persistence': '1 ok, 0 warning',
  processes: '1 ok, 0.99 warning, 0 warning',
  'worker-beat': '4.9 ok, 5 warning, 10 critical, Infinity critical',
};

describe('assess', () => {
  for (const name of Object.keys(rules) as MeasureName[])
    it(`applies the thresholds of ${name}`, () => {
      for (const row of table[name].split(', ')) {
        const [value, state, count] = row.split(' ');
        const found = assess({ name, value: Number(value), ...(count === undefined ? {} : { count: Number(count) }) });
        expect(found.state, row).to.equal(state);
        expect(found.normal).to.be.a('string').and.have.length.greaterThan(4);
        expect(found.advice !== '', 'advice').to.equal(state !== 'ok');
      }
      for (const value of [null, Number.NaN]) expect(assess({ name, value })).to.include({ state: 'unknown', advice: '' });
    });

  for (const [states, worst] of [
    [[], 'ok'],
    [['ok', 'unknown'], 'unknown'],
    [['unknown', 'warning'], 'warning'],
    [['critical', 'warning', 'ok'], 'critical'],
  ] as [State[], State][])
    it(`${worst} is the worst of ${states.join(', ') || 'no states'}`, () => expect(worstOf(states)).to.equal(worst));
});
