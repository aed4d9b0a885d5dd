import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { createEndpointTimes, type EndpointTimes } from './endpoint-times.ts';

const secondsBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** The metrics of one process, which it serves itself (docs/operations.md#metrics). Each role sets only its own. */
export interface Metrics {
  readonly registry: Registry;
  /** Seconds from a request to its response, by `method`, `route` (the path pattern) and `status`. */
  readonly http: Histogram<'method' | 'route' | 'status'>;
  /** Duration of a job in seconds, by `job` and `outcome` (done, failed). */
  readonly jobs: Histogram<'job' | 'outcome'>;
  /** Open sockets, by `kind` (bot, person, unidentified). */
  readonly sockets: Gauge<'kind'>;
  /** Events published to the gateway, by `event`. A message counts as one MESSAGE_CREATE, however many sessions receive it. A repeated attempt counts again. */
  readonly events: Counter<'event'>;
  /** Requests to Interactions Endpoints; only the slowest become metrics. */
  readonly endpoints: EndpointTimes;
  /** Events sent to sockets, by `event`. */
  readonly deliveries: Counter<'event'>;
  /** Seconds from the time in a message's id until its MESSAGE_CREATE is sent to sockets. */
  readonly deliveryLatency: Histogram;
  /** Sockets that the gateway closed, by close `code`. */
  readonly closes: Counter<'code'>;
  /** Sessions that ended with op 9, and resumes that were refused with it, by `reason` (`apps/gateway/disconnect.ts`). */
  readonly invalidSessions: Counter<'reason'>;
}

/** Creates the gauges of the slowest endpoints, by `application`. Each collection replaces their values, because other endpoints may be the slowest. */
function createEndpointGauges(registers: Registry[]): EndpointTimes {
  const endpoints = createEndpointTimes();
  const gauge = (name: string, help: string, collect?: () => void): Gauge<'application'> =>
    new Gauge({ name: `parlance_endpoint_${name}`, help, labelNames: ['application'], registers, ...(collect ? { collect } : {}) });
  const helpPrefix = 'Of the slowest Interactions Endpoints of the last 5 minutes, at most 10 per process:';
  // This gauge is collected first, and sets the values of all four.
  const posts = gauge('posts', `${helpPrefix} requests, at most the last 50.`, () => {
    for (const one of [posts, failed, mean, p95]) one.reset();
    for (const { applicationId: application, ...time } of endpoints.slowest()) {
      posts.set({ application }, time.posts);
      failed.set({ application }, time.failed);
      mean.set({ application }, time.meanMs / 1000);
      p95.set({ application }, time.p95Ms / 1000);
    }
  });
  const failed = gauge('failed_posts', `${helpPrefix} requests without a valid response.`);
  const mean = gauge('mean_seconds', `${helpPrefix} mean response time.`);
  const p95 = gauge('p95_seconds', `${helpPrefix} 95th percentile of the response time.`);
  return endpoints;
}

/** Creates the metrics of a process of `role`. */
export function createMetrics(role: string): Metrics {
  const registry = new Registry();
  registry.setDefaultLabels({ role });
  const registers = [registry];
  return {
    registry,
    http: new Histogram({
      name: 'parlance_http_seconds',
      help: 'Duration of an HTTP request.',
      labelNames: ['method', 'route', 'status'],
      buckets: secondsBuckets,
      registers,
    }),
    jobs: new Histogram({
      name: 'parlance_job_seconds',
      help: 'Duration of a job.',
      labelNames: ['job', 'outcome'],
      buckets: secondsBuckets,
      registers,
    }),
    sockets: new Gauge({ name: 'parlance_sockets', help: 'Open gateway sockets.', labelNames: ['kind'], registers }),
    events: new Counter({ name: 'parlance_events_total', help: 'Events published to the gateway.', labelNames: ['event'], registers }),
    endpoints: createEndpointGauges(registers),
    deliveries: new Counter({ name: 'parlance_deliveries_total', help: 'Events sent to sockets.', labelNames: ['event'], registers }),
    deliveryLatency: new Histogram({
      name: 'parlance_delivery_seconds',
      help: 'Time from posting a message to sending its event to sockets.',
      buckets: secondsBuckets,
      registers,
    }),
    closes: new Counter({ name: 'parlance_socket_closes_total', help: 'Sockets closed by the gateway.', labelNames: ['code'], registers }),
    invalidSessions: new Counter({
      name: 'parlance_invalid_sessions_total',
      help: 'Sessions and resumes that the gateway ended with op 9.',
      labelNames: ['reason'],
      registers,
    }),
  };
}
