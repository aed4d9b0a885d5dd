import { existsSync, readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { settings } from '../../config/index.ts';
import { bytesPerMib } from '../../lib/base/limits.ts';
import { shutdownMs } from '../../lib/base/process.ts';

/** A service, as far as it is checked. */
export interface Service {
  image: string;
  profiles?: string[];
  user?: string;
  read_only?: boolean;
  tmpfs?: string[];
  cap_drop?: string[];
  cap_add?: string[];
  security_opt?: string[];
  mem_limit?: string;
  logging?: { driver: string; options: Record<string, string> };
  stop_grace_period?: string;
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
/** A compose file. */
export interface Compose {
  services: Record<string, Service>;
  volumes: Record<string, unknown>;
  networks: Record<string, { internal?: boolean } | null>;
}
/** The roles, with their number of containers. */
export const roles = { api: 2, gateway: 2, worker: 2, ops: 1 };
/** The folder of each role's entry file. */
export const entryFolders: Record<string, string> = { api: 'apps/api', gateway: 'apps/gateway', worker: 'workers', ops: 'apps/ops' };
/** The services that store or read files, which must share one volume. */
const servicesWithFiles = ['api', 'worker', 'backup'];
const filesFolder = '/srv/parlance/files';
const stores = { mongo: '/data/db', redis: '/data' };
const read = (file: string): Compose => parse(readFileSync(file, 'utf8'), { merge: true });
/** The names of the networks of a service. */
export const networksOf = ({ networks = [] }: Service): string[] => (Array.isArray(networks) ? networks : Object.keys(networks));

/** Reads the compose file, merged with `other` as compose does: fields of a service are replaced, its variables and dependencies are added. */
export function load(other?: string): Compose {
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

/** Whether an image has a full version. */
export const isPinned = (image: string): boolean => /^[a-z0-9./-]+:v?\d+\.\d+\.\d+(-[a-z0-9.-]+)?$/.test(image);
/** Whether `value` follows `flag` in a command. */
export const hasPair = (list: string[] | undefined, flag: string, value: string): boolean => list?.[list.indexOf(flag) + 1] === value;

function roleErrors(name: string, replicas: number, service: Service): string[] {
  const errors: string[] = [];
  if ((service.deploy?.replicas ?? 1) !== replicas) errors.push(`${name}: not ${replicas} replicas`);
  if (service.command?.join(' ') !== `node dist/${entryFolders[name]}/main.js`) errors.push(`${name}: runs ${service.command?.join(' ')}`);
  const variables = service.environment ?? {};
  for (const variable of Object.keys(variables)) if (!(variable in settings)) errors.push(`${name}: ${variable} is not a setting`);
  for (const [variable, one] of Object.entries(settings))
    if (one.defaultText === undefined && !variables[variable]) errors.push(`${name}: ${variable} is missing`);
  if (!(Number.parseInt(service.stop_grace_period ?? '', 10) * 1000 > shutdownMs)) errors.push(`${name}: is killed before it has stopped`);
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
    ...(service.read_only && service.tmpfs?.join().startsWith('/tmp:') ? [] : [`${name}: can write to its image`]),
    ...(service.cap_drop?.join() === 'ALL' && (service.cap_add ?? []).join() === (isProxy ? 'NET_BIND_SERVICE' : '')
      ? []
      : [`${name}: has capabilities`]),
    ...(service.security_opt?.includes('no-new-privileges:true') && !service.privileged ? [] : [`${name}: can gain privileges`]),
    ...(isProxy || (service.user && !/^(root|0)\b/.test(service.user)) ? [] : [`${name}: runs as root`]),
  ];
}

/** A size such as `512mb` or `1g` in bytes; of `${NAME:-512mb}` the default. NaN for anything else. */
function readBytes(size = ''): number {
  const [, number, unit] = /^(?:\$\{\w+:-)?(\d+)([mg])b?\}?$/.exec(size) ?? [];
  return Number(number) * (unit === 'g' ? 1024 : 1) * bytesPerMib;
}

/** Resources of the machine that a container could use up. */
function limitErrors(name: string, service: Service): string[] {
  const { 'max-size': logBytes, 'max-file': logFiles } = service.logging?.options ?? {};
  const { command } = service;
  const redisBytes = command?.[0] === 'redis-server' ? readBytes(command[command.indexOf('--maxmemory') + 1]) : 0;
  const memoryBytes = readBytes(service.mem_limit);
  return [
    ...(memoryBytes > 0 ? [] : [`${name}: memory has no limit`]),
    ...(redisBytes * 2 <= memoryBytes ? [] : [`${name}: maxmemory is not set, or more than half of its memory`]),
    ...(service.logging?.driver === 'json-file' && readBytes(logBytes) > 0 && Number(logFiles) > 0 ? [] : [`${name}: log has no limit`]),
    ...(service.tmpfs?.every((mount) => readBytes(mount.split(':size=')[1]) < memoryBytes) ? [] : [`${name}: /tmp has no limit`]),
  ];
}

/** All errors of a compose file, one line each. */
export function errorsOf(compose: Compose): string[] {
  const errors: string[] = [];
  for (const [name, service] of Object.entries(compose.services)) {
    if (!isPinned(service.image)) errors.push(`${name}: image ${service.image} is not pinned`);
    errors.push(...hardeningErrors(name, service), ...limitErrors(name, service));
    if (service.restart === 'no') continue; // a one-off task, such as migrate
    const health = service.healthcheck;
    if (!health?.test.length || !health.interval || !health.timeout || !health.retries) errors.push(`${name}: no health check`);
    if (service.restart !== 'unless-stopped') errors.push(`${name}: does not restart`);
    for (const volume of service.volumes ?? []) {
      const [source = ''] = volume.replace(/^\$\{\w+:-(\w+)\}/, '$1').split(':'); // the default of a variable
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
  for (const name of servicesWithFiles) {
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
