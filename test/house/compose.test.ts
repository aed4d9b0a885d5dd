import { existsSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { parse } from 'yaml';
import { readRedisAddress } from '../../config/redis-address.ts';
import { type Compose, entryFolders, errorsOf, hasPair, isPinned, load, networksOf, roles, type Service } from './compose.ts';

describe('compose.cluster.yml', () => {
  const compose = load('compose.cluster.yml');
  const nodes = ['redis', 'redis-2', 'redis-3', 'redis-4', 'redis-5', 'redis-6'];

  it('has no errors', () => expect(errorsOf(compose)).to.deep.equal([]));

  for (const name of nodes)
    it(`${name} is a cluster node with persistent data, only on the inner network`, () => {
      const service = compose.services[name] as Service;
      expect(service.command).to.deep.equal(compose.services['redis-2']?.command);
      for (const [flag, value] of [
        ['--cluster-enabled', 'yes'],
        ['--appendonly', 'yes'],
        ['--appendfsync', 'everysec'],
        ['--maxmemory-policy', 'noeviction'],
      ] as const)
        expect(hasPair(service.command, flag, value), flag).to.equal(true);
      expect([networksOf(service), service.volumes]).to.deep.equal([['inside'], [`${name}:/data`]]);
      expect(service.image).to.equal(load().services.redis?.image);
    });

  it('creates the cluster from the addresses of its nodes, and the roles wait for it and use it', () => {
    const addresses = nodes.map(
      (name) => (compose.services[name]?.networks as Record<string, { ipv4_address: string }> | undefined)?.inside?.ipv4_address,
    );
    const join = compose.services['redis-join']?.command?.join(' ') ?? '';
    expect(join).to.contain(`--cluster create ${addresses.map((address) => `${address}:6379`).join(' ')} --cluster-replicas 1`);
    for (const name of Object.keys(roles)) {
      const { environment, depends_on } = compose.services[name] ?? {};
      const { nodes: named, isCluster } = readRedisAddress(environment?.REDIS_URL ?? '');
      expect([isCluster, named.every(({ host }) => nodes.includes(host))], name).to.deep.equal([true, true]);
      expect(depends_on, name).to.have.property('redis-join');
    }
  });
});

describe('docker-compose.yml', () => {
  it('has every role, pinned images, volumes, health checks and no default password', () => expect(errorsOf(load())).to.deep.equal([]));

  for (const [role, folder] of Object.entries(entryFolders))
    it(`the entry file of ${role} exists`, () => expect(existsSync(`${folder}/main.ts`), `${folder}/main.ts`).to.equal(true));

  it('the Dockerfile pins its images, does not run as root and contains the health check', () => {
    const text = readFileSync('Dockerfile', 'utf8');
    const images = [...text.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image ?? '');
    expect(images).to.have.length.greaterThan(1);
    for (const image of images) expect(isPinned(image), image).to.equal(true);
    expect(text, 'no unpinned frontend').to.not.match(/^# *syntax=/m);
    expect(text).to.match(/^USER node$/m);
    expect(text).to.match(/^WORKDIR \/srv\/parlance\n(?:.+\n)+RUN mkdir files backups && chown node:node files backups\nUSER node$/m);
    expect(text).to.contain('COPY deploy/health.mjs deploy/health.mjs');
    expect(existsSync('deploy/health.mjs')).to.equal(true);
  });

  it('the health check of a worker asks its own process, on the port of the image', () => {
    const port = /\bMETRICS_PORT=(\d+)/.exec(readFileSync('Dockerfile', 'utf8'))?.[1];
    expect(load().services.worker?.healthcheck?.test.at(-1)).to.equal(`http://127.0.0.1:${port}/healthz`);
  });

  it('no port of metrics is published', () => {
    for (const [name, { ports = [] }] of Object.entries(load().services)) expect(ports.join(), name).not.to.match(/:9464\b/);
  });

  it('the repository and the image exclude .env files', () => {
    for (const file of ['.gitignore', '.dockerignore'])
      expect(readFileSync(file, 'utf8').split('\n'), file).to.include.members(['.env', '.env.*']);
  });

  it('the proxy forwards /gateway to the gateways and all other paths to the API, on their ports', () => {
    const { services } = load();
    const text = readFileSync('deploy/Caddyfile', 'utf8');
    expect(text).to.match(/@gateway path \/gateway \/gateway\/\*\n\thandle @gateway \{/);
    expect(text.slice(text.lastIndexOf('\thandle {'))).to.contain('dynamic a api');
    expect(text).to.contain(`dynamic a api ${services.api?.environment?.PORT}`);
    expect(text).to.contain(`dynamic a gateway ${services.gateway?.environment?.GATEWAY_PORT}`);
  });

  it('ops trusts no proxy, because none is in front of its port', () =>
    expect(load().services.ops?.environment?.TRUST_PROXY).to.match(/^\$\{OPS_TRUST_PROXY:-0\}$/));

  const cases: [what: string, change: (services: Compose['services']) => void, error: RegExp][] = [
    ['a missing role', (all) => delete all.worker, /worker: missing/],
    ['a single API process', (all) => Object.assign(all.api ?? {}, { deploy: { replicas: 1 } }), /api: not 2 replicas/],
    ['an image tagged latest', (all) => Object.assign(all.mongo ?? {}, { image: 'mongo:latest' }), /not pinned/],
    ['an image without a tag', (all) => Object.assign(all.redis ?? {}, { image: 'redis' }), /not pinned/],
    ['a missing health check', (all) => delete all.gateway?.healthcheck, /gateway: no health check/],
    ['another command', (all) => Object.assign(all.ops ?? {}, { command: ['node', 'x.js'] }), /ops: runs node x.js/],
    ['an unknown variable', (all) => Object.assign(all.api?.environment ?? {}, { POTR: '1' }), /POTR is not a setting/],
    ['a missing database URL', (all) => delete all.api?.environment?.MONGODB_URL, /MONGODB_URL is missing/],
    ['a default APP_KEY', (all) => Object.assign(all.api?.environment ?? {}, { APP_KEY: 'x' }), /APP_KEY has a default/],
    ['a public port of ops', (all) => Object.assign(all.ops ?? {}, { ports: ['8082:8082'] }), /open to the network/],
    ['an unknown volume', (all) => Object.assign(all.mongo ?? {}, { volumes: ['other:/data/db'] }), /volume other does not exist/],
    ['files that are not shared', (all) => Object.assign(all.worker ?? {}, { volumes: [] }), /worker: files are not shared/],
    ['a writable image', (all) => delete all.api?.read_only, /api: can write to its image/],
    ['default capabilities', (all) => delete all.gateway?.cap_drop, /gateway: has capabilities/],
    ['an added capability', (all) => Object.assign(all.redis ?? {}, { cap_add: ['SYS_ADMIN'] }), /redis: has capabilities/],
    ['a missing no-new-privileges', (all) => delete all.worker?.security_opt, /worker: can gain privileges/],
    ['the user root', (all) => Object.assign(all.mongo ?? {}, { user: 'root' }), /mongo: runs as root/],
    ['a missing user', (all) => delete all.redis?.user, /redis: runs as root/],
    ['a missing migration', (all) => delete all.migrate, /migrate: missing/],
    ['a role that does not wait for it', (all) => delete all.ops?.depends_on?.migrate, /ops: does not wait for migrate/],
    ['another migration', (all) => Object.assign(all.migrate ?? {}, { command: ['node', 'x.js'] }), /migrate: runs node x.js/],
    ['unlimited memory', (all) => delete all.api?.mem_limit, /api: memory has no limit/],
    ['memory without a unit', (all) => Object.assign(all.proxy ?? {}, { mem_limit: '1' }), /proxy: memory has no limit/],
    ['an unlimited log', (all) => delete all.mongo?.logging, /mongo: log has no limit/],
    ['an unlimited /tmp', (all) => Object.assign(all.ops ?? {}, { tmpfs: ['/tmp'] }), /ops: /],
    ['a Redis without maxmemory', (all) => void all.redis?.command?.splice(-2), /redis: maxmemory is not set/],
    ['a maxmemory of all memory', (all) => void all.redis?.command?.splice(-1, 1, '1g'), /redis: maxmemory .* more than half/],
    ['a short time to stop', (all) => Object.assign(all.gateway ?? {}, { stop_grace_period: '25s' }), /gateway: is killed before/],
    ['a missing noeviction policy', (all) => Object.assign(all.redis ?? {}, { command: ['redis-server'] }), /may evict/],
  ];
  for (const [what, change, error] of cases)
    it(`the check detects ${what}`, () => {
      const compose = load();
      change(compose.services);
      expect(errorsOf(compose).join('\n')).to.match(error);
    });
});

describe('the service backup of docker-compose.yml', () => {
  const { backup, api } = load().services;
  const script = backup?.command?.at(-1) ?? '';

  it('makes backups of the stores of the roles into its own volume, if its profile is chosen', () => {
    expect(backup?.profiles).to.deep.equal(['backup']);
    expect(backup?.volumes?.join()).to.match(/\$\{BACKUP_FOLDER:-backups\}:\/srv\/parlance\/backups$/);
    expect(script).to.contain('node dist/apps/operator/main.js backup --keep "$$BACKUP_KEEP" /srv/parlance/backups');
    for (const name of ['MONGODB_URL', 'APP_KEY']) expect(backup?.environment?.[name], name).to.equal(api?.environment?.[name]);
  });

  it('is unhealthy if its last backup failed', () => {
    expect(script).to.match(/then rm -f (\S+); else touch \1; fi/);
    expect(backup?.healthcheck?.test.slice(1)).to.deep.equal(['test', '!', '-e', /touch (\S+);/.exec(script)?.[1]]);
  });

  it('has its settings, with their defaults, in docs/operations/backups.md', () => {
    const page = readFileSync('docs/operations/backups.md', 'utf8');
    const rows = [...page.matchAll(/^\| `(BACKUP_\w+)` \| `(\w+)`/gm)].map(([, name, value]) => `\${${name}:-${value}}`);
    const used = JSON.stringify(backup).match(/\$\{BACKUP_\w+:-\w+\}/g) ?? [];
    expect(rows.toSorted()).to.deep.equal(used.toSorted());
  });
});

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
