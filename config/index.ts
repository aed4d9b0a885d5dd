import { limits } from '../lib/base/limits.ts';
import { findOidcErrors, oidcSettings } from './oidc.ts';
import { readRedisAddress } from './redis-address.ts';
import {
  appKey,
  appKeys,
  days,
  emptyAs,
  hostPorts,
  integer,
  ipAddress,
  mongodbUrl,
  oneOf,
  origin,
  port,
  rateLimit,
  redisUrl,
  type Setting,
  setting,
  text,
  url,
} from './setting.ts';
import { tracingSettings } from './tracing.ts';

/** Every environment variable that the processes of an installation read (docs/operations.md#settings). */
export const settings = {
  PORT: setting('Port of the HTTP API.', '8080', port),
  GATEWAY_PORT: setting('Port of a WebSocket gateway node.', '8081', port),
  OPS_PORT: setting('Port of the operators’ pages: overview, readiness, queues.', '8082', port),
  HOST: setting(
    'Address that the API, the gateway and the operators’ pages listen on: one of this machine, or 0.0.0.0 or :: for all.',
    '127.0.0.1',
    ipAddress,
  ),
  METRICS_PORT: setting(
    'Port of the metrics and the health check of a process, without a password. 0: any free port; the log line `serving metrics` names it.',
    '0',
    port,
  ),
  METRICS_HOST: setting(
    'Address that the metrics and the health check listen on: one of this machine, or 0.0.0.0 for all.',
    '127.0.0.1',
    ipAddress,
  ),
  OPS_PASSWORD: setting(
    'Password of the operators’ pages (user `ops`, or `ops.<name>`). Without a password they listen on 127.0.0.1 only, whatever HOST is, and answer to localhost, 127.0.0.1 and [::1] only.',
    '',
    text,
  ),
  BASE_URL: setting('Public URL of the API and the pages. Default: http://localhost:PORT.', '', origin),
  GATEWAY_URL: setting(
    'Public URL of the gateway. Default: /gateway on the origin of BASE_URL; ws://localhost:GATEWAY_PORT without BASE_URL or for localhost.',
    '',
    url('ws:', 'wss:'),
  ),
  MONGODB_URL: setting('URL of the MongoDB database, with its name in the path.', undefined, mongodbUrl),
  REDIS_URL: setting(
    'URL of Redis 7 or newer, configured with AOF and noeviction. Of a Redis Cluster: `redis+cluster://user:password@host:port,host:port` with some of its nodes.',
    undefined,
    redisUrl,
  ),
  REDIS_PREFIX: setting('Prefix of every Redis key, so that several installations can share one Redis.', 'parlance', text),
  LOG_PARTITIONS: setting(
    'Number of hash slots that events and sessions are spread over, 1 to 16; fixed at the first start. Default: 1, and 16 on a Redis Cluster.',
    '',
    emptyAs(integer(1, 16), 0),
  ),
  STORE_TIMEOUT_FACTOR: setting(
    'Multiplies the time that Redis (0.3 s) and the database (2 s) have to respond before they count as unavailable. For slow machines.',
    '1',
    integer(1, 100),
  ),
  FILES_DIR: setting(
    'Folder for uploaded files, shared by all API and worker processes. With S3 it holds only temporary files, and each machine has its own.',
    '.data/files',
    text,
  ),
  S3_ENDPOINT: setting(
    'URL of an S3-compatible storage for uploaded files, instead of a folder, such as https://s3.example.org.',
    '',
    url('http:', 'https:'),
  ),
  S3_BUCKET: setting('S3 bucket. It must exist.', '', text),
  S3_ACCESS_KEY: setting('S3 access key.', '', text),
  S3_SECRET_KEY: setting('S3 secret key.', '', text),
  STORAGE_PER_ACCOUNT_MIB: setting(
    'How many MiB of files one account may keep in messages, counted as uploaded. 0: no limit.',
    '10240',
    integer(0, 1_000_000_000),
  ),
  STORAGE_PER_SERVER_MIB: setting(
    'How many MiB of files may be kept in the messages of one server, counted as uploaded. 0: no limit.',
    '102400',
    integer(0, 1_000_000_000),
  ),
  APP_KEY: setting('32 random bytes in base64. Encrypts stored secrets and derives interaction tokens.', undefined, appKey),
  APP_KEYS_OLD: setting('Comma-separated earlier values of APP_KEY. They still decrypt, until `operator rotate-key` has run.', '', appKeys),
  RATE_LIMIT: setting(
    'Requests per second and burst of each caller, or off. Unauthenticated addresses get two fifths.',
    `${limits.callerPerSecond}/${limits.callerBurst}`,
    rateLimit,
  ),
  TRUST_PROXY: setting(
    'Number of trusted reverse proxies in front of the service. Their X-Forwarded-For header gives the client’s address.',
    '0',
    integer(0, 8),
  ),
  REGISTRATION: setting(
    'Who can create an account: anyone (open), people with an invite to a server (invite), or nobody (closed).',
    'open',
    oneOf('open', 'invite', 'closed'),
  ),
  SERVER_CREATION: setting(
    'Who can create servers: everyone, or only operators on the command line (operators).',
    'everyone',
    oneOf('everyone', 'operators'),
  ),
  ...oidcSettings,
  MESSAGE_RETENTION_DAYS: setting(
    'After how many days messages are deleted, in direct messages and in servers without a retention of their own. Empty: never.',
    '',
    emptyAs(days, null),
  ),
  AUDIT_RETENTION_DAYS: setting(
    'After how many days entries of the servers’ audit logs are deleted. Empty: never.',
    '',
    emptyAs(days, null),
  ),
  OPERATOR_AUDIT_RETENTION_DAYS: setting('After how many days new entries of the operators’ audit log are deleted.', '365', days),
  DELIVERY_RETENTION_DAYS: setting(
    'After how many days deliveries in the logs of webhooks are deleted. Empty: each webhook keeps its last 50.',
    '',
    emptyAs(days, null),
  ),
  ACCOUNT_DELETION_DAYS: setting(
    'How many days after the request an account is deleted. Until then the person can keep it. 0: at once.',
    '14',
    integer(0, 90),
  ),
  HEARTBEAT_INTERVAL_MS: setting('How often gateway clients send a heartbeat, in milliseconds.', '30000', integer(500, 300_000)),
  OUTBOUND_ALLOW: setting(
    'Comma-separated host:port pairs that outbound requests may reach even if they are private or use plain http. For development.',
    '',
    hostPorts,
  ),
  LOG_LEVEL: setting('Minimum log level.', 'info', oneOf('trace', 'debug', 'info', 'warn', 'error', 'silent')),
  ...tracingSettings,
  FAILPOINTS: setting('Comma-separated names of failpoints that crash the process there. For fault tests only.', '', text),
} as const;

type Settings = typeof settings;
type Values = { readonly [K in keyof Settings]: Settings[K] extends Setting<infer T> ? T : never };

/** The checked configuration: one value for each setting, and the public URLs, which have defaults. */
export interface Config extends Values {
  readonly baseUrl: string;
  readonly gatewayUrl: string;
  /** The URL that receives traces; '' for none. */
  readonly tracesUrl: string;
}

const loopback = ['localhost', '127.0.0.1', '[::1]'];

/** The URL of the gateway by BASE_URL: where the API is reached directly, its own port; behind a proxy `/gateway` on the same origin. */
function deriveGatewayUrl({ BASE_URL, PORT, GATEWAY_PORT }: Pick<Values, 'BASE_URL' | 'PORT' | 'GATEWAY_PORT'>): string {
  const { protocol, hostname, port: publicPort, host } = new URL(BASE_URL || `http://localhost:${PORT}`);
  const isDirect = protocol === 'http:' && (publicPort || '80') === String(PORT);
  if (loopback.includes(hostname)) return `ws://localhost:${GATEWAY_PORT}`;
  return isDirect ? `ws://${hostname}:${GATEWAY_PORT}` : `${protocol.replace('http', 'ws')}//${host}/gateway`;
}

/** Reads and checks `env`. Throws one Error that names every invalid or missing variable, each on its own line and without its value. */
export function readConfig(env: Record<string, string | undefined>): Config {
  const errors: string[] = [];
  const entries = Object.entries(settings as Record<string, Setting<unknown>>).map(([name, { read, defaultText, description }]) => {
    // Values often come from files, whose last line ends.
    const value = env[name]?.replace(/^\s*[\r\n]+|[\r\n]+\s*$/g, '') ?? defaultText;
    if (value !== undefined && /[\r\n]/.test(value)) {
      errors.push(`${name} must be one line.`);
      return [name, undefined];
    }
    if (value === undefined) {
      errors.push(`${name} is not set. ${description}`);
      return [name, undefined];
    }
    try {
      return [name, read(read === text ? value : value.trim())];
    } catch (error) {
      errors.push(`${name} ${(error as Error).message}.`);
      return [name, undefined];
    }
  });
  const storage = ['S3_ENDPOINT', 'S3_BUCKET', 'S3_ACCESS_KEY', 'S3_SECRET_KEY'];
  const missing = storage.filter((name) => !env[name]);
  if (missing.length > 0 && missing.length < storage.length)
    errors.push(`${missing.join(', ')} must be set too: S3 needs all of ${storage.join(', ')}`);
  const values = Object.fromEntries(entries) as Values;
  errors.push(...findOidcErrors(env, values.OIDC_ISSUER, values.OUTBOUND_ALLOW));
  if (errors.length) throw new Error(`Invalid configuration: ${errors.join('\n  ')}`);
  return Object.freeze({
    ...values,
    LOG_PARTITIONS: values.LOG_PARTITIONS || (readRedisAddress(values.REDIS_URL).isCluster ? 16 : 1),
    baseUrl: values.BASE_URL || `http://localhost:${values.PORT}`,
    gatewayUrl: values.GATEWAY_URL || deriveGatewayUrl(values),
    tracesUrl: values.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || values.OTEL_EXPORTER_OTLP_ENDPOINT.replace(/.$/, '$&/v1/traces'),
  });
}

/** Reads the configuration from the environment of this process. If it is invalid, passes the error to `report` (default: stderr) and exits with code 78. */
export function readConfigOrExit(report = (error: string): unknown => process.stderr.write(`${error}\n`)): Config {
  try {
    return readConfig(process.env);
  } catch (error) {
    report((error as Error).message);
    return process.exit(78);
  }
}
