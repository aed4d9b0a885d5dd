import { Counter, Gauge, Histogram, Registry } from 'prom-client';

const secondsBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** The measurements of one process; each role fills those that are its own. The operators' pages add them up over all processes. */
export interface Metrics {
  readonly registry: Registry;
  /** Seconds from a request to its answer, by `method`, `route` (its path with holes) and `status`. */
  readonly http: Histogram<'method' | 'route' | 'status'>;
  /** Seconds a job took, by `job` and `outcome` (done, failed). */
  readonly jobs: Histogram<'job' | 'outcome'>;
  /** Sockets open now, by `kind` (bot, person, unidentified). */
  readonly sockets: Gauge<'kind'>;
  /** Events sent to sockets, by `event`. */
  readonly deliveries: Counter<'event'>;
  /** Seconds from a message's id to its MESSAGE_CREATE on a socket. */
  readonly deliveryLatency: Histogram;
  /** Sockets that were closed by us, by close `code`. */
  readonly closes: Counter<'code'>;
}

/** Measurements of a process of `role`. */
export function createMetrics(role: string): Metrics {
  const registry = new Registry();
  registry.setDefaultLabels({ role });
  const registers = [registry];
  return {
    registry,
    http: new Histogram({
      name: 'parlance_http_seconds',
      help: 'Time to answer a request.',
      labelNames: ['method', 'route', 'status'],
      buckets: secondsBuckets,
      registers,
    }),
    jobs: new Histogram({
      name: 'parlance_job_seconds',
      help: 'Time a job took.',
      labelNames: ['job', 'outcome'],
      buckets: secondsBuckets,
      registers,
    }),
    sockets: new Gauge({ name: 'parlance_sockets', help: 'Open gateway sockets.', labelNames: ['kind'], registers }),
    deliveries: new Counter({ name: 'parlance_deliveries_total', help: 'Events sent to sockets.', labelNames: ['event'], registers }),
    deliveryLatency: new Histogram({
      name: 'parlance_delivery_seconds',
      help: 'Time from a message to its event on a socket.',
      buckets: secondsBuckets,
      registers,
    }),
    closes: new Counter({ name: 'parlance_socket_closes_total', help: 'Sockets closed by the gateway.', labelNames: ['code'], registers }),
  };
}
