import { existsSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { parse } from 'yaml';
import { settings } from '../../config/index.ts';
import { readRedisAddress } from '../../config/redis-address.ts';

interface Service {
  image: string;
  user?: string;
  read_only?: boolean;
  tmpfs?: string[];
  cap_drop?: string[];
  cap_add?: string[];
  security_opt?: string[];
  privileged?: boolean;
  command?: string[];
  deploy?: { replicas?: number };
  environment?: Record<string, string>;
  volumes?: string[];
  ports?: string[];
  /** Network names, as a list or as keys. */
  networks?: string[] | Record<string, { ipv4_address: string }>;
  restart?: string;
  healthcheck?: { test: string[]; interval: string; timeout: string; retries: number };
  depends_on?: Record<string, { condition: string }>;
}
interface Compose {
  services: Record<string, Service>;
  volumes: Record<string, unknown>;
  networks: Record<string, { internal?: boolean } | null>;
}
const roles = { api: 2, gateway: 2, worker: 2, ops: 1 };
const entryFolders: Record<string, string> = { api: 'apps/api', gateway: 'apps/gateway', worker: 'workers', ops: 'apps/ops' };
/** The roles that store files, which must share one volume. */
const rolesWithFiles = ['api', 'worker'];
const filesFolder = '/srv/parlance/files';
const stores = { mongo: '/data/db', redis: '/data' };
const read = (file: string): Compose => parse(readFileSync(file, 'utf8'), { merge: true });
const networksOf = ({ networks = [] }: Service): string[] => (Array.isArray(networks) ? networks : Object.keys(networks));

/** Reads the compose file, merged with `other` as compose does: fields of a service are replaced, its variables and dependencies are added. */
function load(other?: string): Compose {
  const compose = read('docker-compose.yml');
  if (other === undefined) return compose;
  const override = read(other);
  for (const [name, service] of Object.entries(override.services)) {
    const own = compose.services[name];
    compose.services[name] = {
      ...own,
      ...service,
      ...(own?.environment && { environment: { ...own.environment, ...service.environment } }),
      ...(own?.depends_on && { depends_on: { ...own.depends_on, ...service.depends_on } }),
    };
  }
  return { ...compose, volumes: { ...compose.volumes, ...override.volumes }, networks: { ...compose.networks } };
}

const isPinned = (image: string): boolean => /^[a-z0-9./-]+:\d+\.\d+\.\d+(-[a-z0-9.-]+)?$/.test(image);
const hasPair = (list: string[] | undefined, flag: string, value: string): boolean => list?.[list.indexOf(flag) + 1] === value;

function roleErrors(name: string, replicas: number, service: Service): string[] {
  const errors: string[] = [];
  if ((service.deploy?.replicas ?? 1) !== replicas) errors.push(`${name}: not ${replicas} replicas`);
  if (service.command?.join(' ') !== `node dist/${entryFolders[name]}/main.js`) errors.push(`${name}: runs ${service.command?.join(' ')}`);
  const variables = service.environment ?? {};
  for (const variable of Object.keys(variables)) if (!(variable in settings)) errors.push(`${name}: ${variable} is not a setting`);
  for (const [variable, one] of Object.entries(settings))
    if (one.defaultText === undefined && !variables[variable]) errors.push(`${name}: ${variable} is missing`);
  if (service.depends_on?.migrate?.condition !== 'service_completed_successfully') errors.push(`${name}: does not wait for migrate`);
  for (const secret of ['APP_KEY', 'OPS_PASSWORD'])
    if (variables[secret] !== undefined && !variables[secret].startsWith(`\${${secret}:?`)) errors.push(`${name}: ${secret} has a default`);
  return errors;
}

/** Errors of the one-off task that prepares the database, with the image and settings of the roles. */
function migrateErrors(service: Service | undefined, api: Service | undefined): string[] {
  if (!service) return ['migrate: missing'];
  const runs = service.command?.join(' ');
  return [
    ...(runs === 'node dist/apps/operator/main.js migrate' ? [] : [`migrate: runs ${runs}`]),
    ...(service.image === api?.image ? [] : ['migrate: another image than the roles']),
    ...(Object.keys(service.depends_on ?? {}).join() === 'mongo' ? [] : ['migrate: does not wait for mongo alone']),
    ...(['MONGODB_URL', 'APP_KEY'].every((name) => service.environment?.[name] === api?.environment?.[name])
      ? []
      : ['migrate: another database than the roles']),
  ];
}

/** Unneeded privileges of a container. The proxy runs as root, for its volumes, and its only capability is to listen below port 1024. */
function hardeningErrors(name: string, service: Service): string[] {
  const isProxy = name === 'proxy';
  return [
    ...(service.read_only && service.tmpfs?.join() === '/tmp' ? [] : [`${name}: can write to its image`]),
    ...(service.cap_drop?.join() === 'ALL' && (service.cap_add ?? []).join() === (isProxy ? 'NET_BIND_SERVICE' : '')
      ? []
      : [`${name}: has capabilities`]),
    ...(service.security_opt?.includes('no-new-privileges:true') && !service.privileged ? [] : [`${name}: can gain privileges`]),
    ...(isProxy || (service.user && !/^(root|0)\b/.test(service.user)) ? [] : [`${name}: runs as root`]),
  ];
}

/** All errors of a compose file, one line each. */
function errorsOf(compose: Compose): string[] {
  const errors: string[] = [];
  for (const [name, service] of Object.entries(compose.services)) {
    if (!isPinned(service.image)) errors.push(`${name}: image ${service.image} is not pinned`);
    errors.push(...hardeningErrors(name, service));
    if (service.restart === 'no') continue; // a one-off task, such as migrate
    const health = service.healthcheck;
    if (!health?.test.length || !health.interval || !health.timeout || !health.retries) errors.push(`${name}: no health check`);
    if (service.restart !== 'unless-stopped') errors.push(`${name}: does not restart`);
    for (const volume of service.volumes ?? []) {
      const [source = ''] = volume.split(':');
      if (source.startsWith('.') ? !existsSync(source) : !(source in compose.volumes))
        errors.push(`${name}: volume ${source} does not exist`);
    }
    if (name !== 'proxy' && service.ports?.some((port) => !port.startsWith('127.0.0.1:'))) errors.push(`${name}: open to the network`);
  }
  for (const [name, replicas] of Object.entries(roles)) {
    const service = compose.services[name];
    errors.push(...(service ? roleErrors(name, replicas, service) : [`${name}: missing`]));
  }
  errors.push(...migrateErrors(compose.services.migrate, compose.services.api));
  for (const name of rolesWithFiles) {
    const { volumes, environment } = compose.services[name] ?? {};
    if (!volumes?.includes(`files:${filesFolder}`) || environment?.FILES_DIR !== filesFolder) errors.push(`${name}: files are not shared`);
  }
  for (const [name, folder] of Object.entries(stores)) {
    const service = compose.services[name];
    if (!service?.volumes?.some((volume) => volume.endsWith(`:${folder}`))) errors.push(`${name}: ${folder} is not on a volume`);
    if (!service || networksOf(service).join() !== 'inside' || !compose.networks.inside?.internal)
      errors.push(`${name}: not only on the inner network`);
  }
  const redis = compose.services.redis?.command;
  if (!hasPair(redis, '--appendonly', 'yes') || !hasPair(redis, '--appendfsync', 'everysec'))
    errors.push('redis: AOF is not synced every second');
  if (!hasPair(redis, '--maxmemory-policy', 'noeviction')) errors.push('redis: may evict keys');
  if (!hasPair(compose.services.mongo?.command, '--replSet', 'rs0')) errors.push('mongo: no replica set');
  if (!compose.services.proxy) errors.push('proxy: missing');
  return errors;
}

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
    expect(text).to.match(/^WORKDIR \/srv\/parlance\n(?:.+\n)+RUN mkdir files && chown node:node files\nUSER node$/m);
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
    ['a missing noeviction policy', (all) => Object.assign(all.redis ?? {}, { command: ['redis-server'] }), /may evict/],
  ];
  for (const [what, change, error] of cases)
    it(`the check detects ${what}`, () => {
      const compose = load();
      change(compose.services);
      expect(errorsOf(compose).join('\n')).to.match(error);
    });
});
