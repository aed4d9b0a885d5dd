import { expect } from 'chai';
import { findPrometheus, runPromtool } from './prometheus.ts';

describe('deploy/monitoring, checked by promtool', () => {
  let promtool: string;
  before(async function () {
    const found = await findPrometheus();
    if (!found) return this.skip();
    promtool = found.promtool;
  });

  for (const args of [
    ['check', 'config', 'prometheus.yml'],
    ['check', 'rules', 'rules.yml'],
    ['test', 'rules', 'rules.test.yml'],
  ])
    it(`promtool ${args.join(' ')}`, async () => {
      const { code, output } = await runPromtool(promtool, ...args);
      expect(code, output).to.equal(0);
    });
});
