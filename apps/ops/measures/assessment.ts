import type { Assessment } from '../page/rows.ts';

/** A measure to assess. `value` is null if it is not known now. For shares and times, `count` is the number of events that it was computed from. */
export interface Measure {
  name: MeasureName;
  value: number | null;
  count?: number;
}

interface Rule {
  normal: string;
  advice: string;
  /** The thresholds of the states `warning` and `critical`. Without a threshold a measure does not get that state. */
  warning?: number;
  critical?: number;
  /** Low values are bad: a threshold is reached when the value is below it. */
  lowIsBad?: true;
  /** With fewer events than this, the state is one step milder, because a few events can be chance. */
  minCount?: number;
}

/** The queues whose jobs users wait for. Jobs of the other queues may take longer. */
export const promptQueues: readonly string[] = ['interactions', 'endpoints'];

/** A threshold that a single event reaches. */
const anyEvent = 1e-9;

/** The rule of every measure of the overview. Thresholds are numbers per second, seconds, shares from 0 to 1, or counts. */
export const rules = {
  messages: {
    normal: 'Up to 200 per second, the rate at which the delivery times below were measured on two cores.',
    advice: 'This is above the measured rate. Watch the delivery time, and add workers, then API and gateway nodes.',
    warning: 200,
  },
  'message-time': {
    normal: 'Under 250 ms from a message to bots’ sockets.',
    advice: 'Check the outbox. If nothing waits there, the gateway nodes are busy: add one.',
    warning: 0.25,
    critical: 2,
  },
  nodes: {
    normal: 'At least one gateway node.',
    advice: 'No events are delivered. Start a gateway (npm run gateway), or check its log.',
    critical: 1,
    lowIsBad: true,
  },
  'sockets-kept': {
    normal: 'No sudden drop. Clients of a node that stops reconnect to another within seconds.',
    advice:
      'More than half of the sockets were closed in the last 5 minutes. Check whether a gateway node or the proxy in front of it stopped.',
    warning: 0.5,
    lowIsBad: true,
  },
  'sockets-unidentified': {
    normal: 'Few sockets that have not identified. Each has 30 seconds to do so.',
    advice:
      'Many sockets do not identify. A client may use an invalid token, or someone floods the gateway. Check the close codes 4003 and 4004, and the proxy’s log.',
    warning: 200,
  },
  'prompt-queue-age': {
    normal: 'Jobs start at once: the oldest waits for less than a second.',
    advice: 'The workers cannot keep up, or none is running. Check the worker’s log and CPU, then add one (npm run worker).',
    warning: 1,
    critical: 3,
  },
  'queue-age': {
    normal: 'Jobs start within seconds, or within half a minute after a burst.',
    advice: 'The workers cannot keep up, or one kind of job keeps failing. Check Failed jobs, then add a worker.',
    warning: 30,
    critical: 300,
  },
  'queue-depth': {
    normal: 'A few; several hundred after a burst.',
    advice: 'Jobs arrive faster than they are processed. Check the worker’s log and CPU, then add one (npm run worker).',
    warning: 1_000,
    critical: 10_000,
  },
  'outbox-age': {
    normal: 'Under 2 seconds. A sweep retries events that are older.',
    advice: 'Messages are stored and safe, but not delivered yet. Check that a worker is running and that Redis responds.',
    warning: 4,
    critical: 15,
  },
  'route-time': {
    normal: 'p95 under half a second. Uploads take as long as the sender’s connection needs.',
    advice: 'If one route is slow, check its log lines. If all are slow, check the database’s CPU and disk, then add an API node.',
    warning: 0.5,
    critical: 3,
    minCount: 20,
  },
  'endpoint-time': {
    normal: 'Responses within 1.5 seconds. A command expires after 3 seconds.',
    advice:
      'The application’s own server is slow. Its owner sees each delivery in the developer portal. Other applications are not affected.',
    warning: 1.5,
  },
  'endpoint-failures': {
    normal: 'Nearly every request gets a valid response.',
    advice: 'The application’s server is unreachable or sends invalid responses. Its owner sees each delivery in the developer portal.',
    warning: 0.2,
  },
  'server-errors': {
    normal: 'None. Responses with 503 during a restart of the database count, too.',
    advice: 'Search the API’s log for “request failed”. The error that the caller got has the same request id.',
    warning: anyEvent,
    critical: 0.01,
    minCount: 100,
  },
  'caller-errors': {
    normal: 'Under 20 %: invalid input, missing permissions, rate limits.',
    advice: 'A client keeps sending bad requests. The API’s log at level debug names the caller and the route.',
    warning: 0.2,
    minCount: 100,
  },
  'job-failures': {
    normal: 'None. A failed job is retried, and a sweep finds work that was given up.',
    advice: 'Search the worker’s log for “job failed” and the name of the job.',
    warning: anyEvent,
    critical: 0.05,
    minCount: 100,
  },
  // The value is the share of the last two readings in which the store responded, so that one late response is not an outage: 0.5 is a warning, 0 is critical.
  database: {
    normal: 'It responds.',
    advice: 'Check that MongoDB is running, that MONGODB_URL is its address, and that its disk is not full.',
    warning: 1,
    critical: 0.5,
    lowIsBad: true,
  },
  redis: {
    normal: 'It responds.',
    advice: 'Check that Redis is running and that REDIS_URL is its address. Messages can still be sent, but their events are late.',
    warning: 1,
    critical: 0.5,
    lowIsBad: true,
  },
  'redis-memory': {
    normal: 'Under 70 % of its limit.',
    advice: 'Raise the maxmemory of Redis before it refuses writes, and check which queue has grown.',
    warning: 0.7,
    critical: 0.9,
  },
  'redis-eviction': {
    normal: 'Off (maxmemory-policy noeviction).',
    advice: 'Redis drops jobs and sessions when its memory is full. Set maxmemory-policy noeviction.',
    warning: 1,
    lowIsBad: true,
  },
  'redis-persistence': {
    normal: 'On (appendonly yes).',
    advice: 'Redis loses jobs and sessions when it restarts. Set appendonly yes.',
    warning: 1,
    lowIsBad: true,
  },
  // The value is the share of the processes that answered in one of the last two collections.
  processes: {
    normal: 'Ops reaches the metrics of every process.',
    advice:
      'The values of these processes are missing here. Check that they run, and that METRICS_HOST of each is an address that ops can reach.',
    warning: 1,
    lowIsBad: true,
  },
  'worker-beat': {
    normal: 'A worker sent a heartbeat in the last 5 seconds.',
    advice: 'Start a worker (npm run worker), or check its log. Messages can still be sent, but they are not delivered.',
    warning: 5,
    critical: 10,
  },
} satisfies Record<string, Rule>;

/** The name of a measure that has a rule. */
export type MeasureName = keyof typeof rules;

const isReached = (value: number, threshold: number | undefined, lowIsBad: true | undefined): boolean =>
  threshold !== undefined && (lowIsBad ? value < threshold : value >= threshold);

/** Assesses `measure` by its rule. */
export function assess({ name, value, count = Infinity }: Measure): Assessment {
  const { normal, advice, warning, critical, lowIsBad, minCount = 0 }: Rule = rules[name];
  if (value === null || Number.isNaN(value)) return { state: 'unknown', normal, advice: '' };
  const [isCritical, isWarning] = [isReached(value, critical, lowIsBad), isReached(value, warning, lowIsBad)];
  const state = count >= minCount ? (isCritical ? 'critical' : isWarning ? 'warning' : 'ok') : isCritical ? 'warning' : 'ok';
  return { state, normal, advice: state === 'ok' ? '' : advice };
}
