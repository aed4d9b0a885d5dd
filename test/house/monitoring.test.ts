import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { parse } from 'yaml';
import { promptQueues } from '../../apps/ops/measures/assessment.ts';
import { findMetricNames, listMetricNames } from '../monitoring/metric-names.ts';

interface Rules {
  groups: { rules: { alert: string; expr: string; labels: { severity: string }; annotations: Record<string, string> }[] }[];
}
interface RuleTests {
  tests: { alert_rule_test: { alertname: string; exp_alerts: unknown[] }[] }[];
}

const read = (file: string): string => readFileSync(file, 'utf8');
const { groups } = parse(read('deploy/monitoring/rules.yml')) as Rules;
const rules = groups.flatMap((group) => group.rules);
const names = listMetricNames();

describe('deploy/monitoring', () => {
  for (const file of [
    'deploy/monitoring/rules.yml',
    'deploy/monitoring/rules.test.yml',
    'deploy/monitoring/grafana-dashboard.json',
    'docs/operations.md',
    'docs/delivery.md',
  ])
    it(`${file} names only metrics that exist`, () => {
      const named = [...findMetricNames(read(file))];
      expect(named).not.to.deep.equal([]);
      expect(named.filter((name) => !names.has(name))).to.deep.equal([]);
    });

  it('docs/operations.md and docs/delivery.md have every metric of Parlance', () => {
    const documented = findMetricNames(read('docs/operations.md') + read('docs/delivery.md'));
    expect([...names].filter((name) => name.startsWith('parlance_') && !documented.has(name))).to.deep.equal([]);
  });

  it('rules.test.yml shows for every alert that it fires and that it does not', () => {
    const { tests } = parse(read('deploy/monitoring/rules.test.yml')) as RuleTests;
    const expected = tests.flatMap(({ alert_rule_test }) => alert_rule_test);
    for (const { alert } of rules) {
      const counts = expected.filter(({ alertname }) => alertname === alert).map(({ exp_alerts }) => exp_alerts.length);
      expect(counts, alert).to.include(1).and.include(0);
    }
  });

  it('every alert has a severity, and says what happened and what to do', () => {
    for (const { alert, labels, annotations } of rules) {
      expect(['warning', 'critical'], alert).to.include(labels.severity);
      for (const name of ['summary', 'action']) expect(annotations[name], alert).to.match(/^.{10,}\.$/);
    }
  });

  it('the urgent queues are those of the overview', () => {
    const found = rules.flatMap(({ expr }) => [...expr.matchAll(/queue[=!]~"([^"]+)"/g)].map(([, list]) => list));
    expect(found).to.deep.equal([promptQueues.join('|'), promptQueues.join('|')]);
  });

  it('prometheus.yml scrapes every role on the port of the image', () => {
    const config = parse(read('deploy/monitoring/prometheus.yml')) as {
      scrape_configs: { job_name: string; dns_sd_configs: { names: string[]; port: number }[] }[];
    };
    const { services } = parse(read('docker-compose.yml'), { merge: true }) as {
      services: Record<string, { command?: string[]; restart?: string }>;
    };
    // The service that migrates ends by itself.
    const roles = Object.keys(services).filter((name) => services[name]?.command?.[0] === 'node' && services[name].restart !== 'no');
    const port = Number(/METRICS_PORT=(\d+)/.exec(read('Dockerfile'))?.[1]);
    expect(config.scrape_configs).to.have.deep.members(
      roles.map((name) => ({ job_name: `parlance-${name}`, dns_sd_configs: [{ names: [name], type: 'A', port }] })),
    );
  });
});
