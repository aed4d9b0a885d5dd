import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { parse } from 'yaml';
import { load, networksOf, type Service } from './compose.ts';

/** The file in the container that a service mounts `source` at. */
const mountOf = ({ volumes = [] }: Service, source: string): string | undefined =>
  volumes.map((volume) => volume.split(':')).find(([from]) => from === source)?.[1];
const readYaml = (file: string): unknown => parse(readFileSync(file, 'utf8'));

describe('the profile monitoring of docker-compose.yml', () => {
  const { services } = load();
  const { prometheus, grafana } = services as Record<'prometheus' | 'grafana', Service>;

  it('starts Prometheus and Grafana only if it is chosen, outside of the network of the stores', () => {
    for (const service of [prometheus, grafana])
      expect([service.profiles, networksOf(service)]).to.deep.equal([['monitoring'], ['outside']]);
  });

  it('Prometheus reads deploy/monitoring, and keeps its data on a volume, for a time and up to a size', () => {
    const folder = mountOf(prometheus, './deploy/monitoring');
    expect(prometheus.command).to.include(`--config.file=${folder}/prometheus.yml`);
    expect(prometheus.command).to.include(`--storage.tsdb.path=${mountOf(prometheus, 'prometheus')}`);
    const options = prometheus.command?.join(' ');
    expect(options)
      .to.match(/--storage\.tsdb\.retention\.time=\$\{\w+:-\d+d\}/)
      .and.match(/--storage\.tsdb\.retention\.size=\$\{\w+:-\d+GB\}/);
  });

  it('Grafana shows the dashboard with the data of that Prometheus', () => {
    const { datasources } = readYaml('deploy/monitoring/grafana/datasource.yml') as { datasources: { url: string; isDefault: boolean }[] };
    expect(datasources).to.have.length(1);
    expect(datasources[0]).to.deep.include({ url: 'http://prometheus:9090', isDefault: true });
    const { providers } = readYaml('deploy/monitoring/grafana/dashboards.yml') as { providers: { options: { path: string } }[] };
    const dashboard = mountOf(grafana, './deploy/monitoring/grafana-dashboard.json');
    expect(dashboard).to.equal(`${providers[0]?.options.path}/parlance.json`);
    expect(grafana.environment?.GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH).to.equal(dashboard);
    for (const name of ['datasource', 'dashboards'])
      expect(mountOf(grafana, `./deploy/monitoring/grafana/${name}.yml`)).to.match(
        /^\/etc\/grafana\/provisioning\/(datasources|dashboards)\//,
      );
  });

  it('Grafana has no default password, and both are published on this machine only', () => {
    expect(grafana.environment?.GF_SECURITY_ADMIN_PASSWORD).to.match(/^\$\{OPS_PASSWORD:\?/);
    for (const { ports = [] } of [prometheus, grafana]) for (const port of ports) expect(port).to.match(/^127\.0\.0\.1:/);
  });

  it('has its variables, with their defaults, in docs/operations.md', () => {
    const rows = [...readFileSync('docs/operations.md', 'utf8').matchAll(/`((?:PROMETHEUS|GRAFANA)_\w+)`[^|]*\| `([^`]+)`/g)];
    const documented = rows.map(([, name, value]) => `\${${name}:-${value}}`);
    const used = JSON.stringify([prometheus, grafana]).match(/\$\{(?:PROMETHEUS|GRAFANA)_\w+:-\w+\}/g) ?? [];
    expect(documented.toSorted()).to.deep.equal(used.toSorted());
  });
});
