import type { Sample } from './exposition.ts';
import { emptyHistogram, type Histogram } from './histogram.ts';
import { createIncreases, type Increase } from './increase.ts';

/** Every metric that the overview reads, with the labels that it needs. Ops adds the label `process` when it collects them. */
export const readMetrics = {
  parlance_up: ['store'],
  parlance_events_total: ['event', 'process'],
  parlance_delivery_seconds: ['process', 'le'],
  parlance_sockets: ['kind', 'process'],
  parlance_queue_jobs: ['queue', 'state'],
  parlance_queue_oldest_waiting_seconds: ['queue'],
  parlance_outbox_age_seconds: [],
  parlance_outbox_documents: [],
  parlance_http_seconds: ['method', 'route', 'status', 'process', 'le'],
  parlance_job_seconds: ['job', 'outcome', 'process', 'le'],
  parlance_endpoint_posts: ['application'],
  parlance_endpoint_failed_posts: ['application'],
  parlance_endpoint_mean_seconds: ['application'],
  parlance_endpoint_p95_seconds: ['application'],
  parlance_redis_memory_used_bytes: [],
  parlance_redis_memory_max_bytes: [],
  parlance_redis_noeviction: [],
  parlance_redis_aof: [],
  parlance_worker_beat_age_seconds: [],
  process_resident_memory_bytes: ['role', 'process'],
} as const satisfies Record<string, readonly string[]>;

type MetricName = keyof typeof readMetrics;

const parts = ['', '_bucket', '_sum', '_count'];
/** The names of the samples that the overview reads. */
export const wantedNames: ReadonlySet<string> = new Set(Object.keys(readMetrics).flatMap((name) => parts.map((part) => name + part)));
const counted: readonly MetricName[] = [
  'parlance_events_total',
  'parlance_delivery_seconds',
  'parlance_http_seconds',
  'parlance_job_seconds',
];
const counters = new Set(counted.flatMap((name) => parts.map((part) => name + part)));

/** A gateway node and its sockets. */
export interface Node {
  name: string;
  bots: number;
  people: number;
  unidentified: number;
}

/** A queue: the number of jobs by state, and the age of the oldest waiting job. */
export interface QueueReading {
  waiting: number;
  active: number;
  delayed: number;
  oldestSecs: number;
}

/** An Interactions Endpoint that is among the slowest. */
export interface EndpointReading {
  posts: number;
  failed: number;
  meanSecs: number;
  p95Secs: number;
}

/** A process, and whether it answered with its metrics. */
export interface ProcessReading {
  name: string;
  url: string;
  isUp: boolean;
}

/** The growth of the counters since the previous reading. It is null in the first reading. */
export interface Growth {
  secs: number;
  messages: number;
  delivery: Histogram;
  /** By `METHOD route`. */
  routes: Map<string, Histogram>;
  /** Requests by status. */
  statuses: Map<string, number>;
  jobs: Map<string, { done: number; failed: number }>;
}

/** The values of all processes and stores at one time. Values that are not known are null. */
export interface Reading {
  /** The time by a monotonic clock, in milliseconds. */
  at: number;
  database: boolean;
  redis: boolean;
  outboxSecs: number | null;
  outboxDocuments: number | null;
  beatSecs: number | null;
  redisMemoryShare: number | null;
  /** 1 if Redis evicts nothing, otherwise 0. */
  redisNoeviction: number | null;
  /** 1 if Redis stores what it holds on disk, otherwise 0. */
  redisAof: number | null;
  /** The processes, and whether each one answered. Null if Redis has been unavailable since ops started, because their addresses are there. */
  processes: readonly ProcessReading[] | null;
  /** The gateway nodes that answered; null as above. */
  nodes: Node[] | null;
  queues: Map<string, QueueReading>;
  endpoints: Map<string, EndpointReading>;
  growth: Growth | null;
}

const getOrCreate = <T>(map: Map<string, T>, key: string, make: () => T): T => {
  const known = map.get(key) ?? make();
  map.set(key, known);
  return known;
};

function addToHistogram(histogram: Histogram, { sample: { name, labels }, by }: Increase): void {
  if (name.endsWith('_count')) histogram.count += by;
  else if (name.endsWith('_sum')) histogram.sum += by;
  else {
    const bound = labels.le === '+Inf' ? Infinity : Number(labels.le);
    histogram.buckets.set(bound, (histogram.buckets.get(bound) ?? 0) + by);
  }
}

function growthOf(increases: readonly Increase[], secs: number): Growth {
  const growth: Growth = { secs, messages: 0, delivery: emptyHistogram(), routes: new Map(), statuses: new Map(), jobs: new Map() };
  for (const increase of increases) {
    const { sample, by } = increase;
    const { name, labels } = sample;
    if (name === 'parlance_events_total') growth.messages += labels.event === 'MESSAGE_CREATE' ? by : 0;
    else if (name.startsWith('parlance_delivery_seconds')) addToHistogram(growth.delivery, increase);
    else if (name.startsWith('parlance_http_seconds')) {
      addToHistogram(getOrCreate(growth.routes, `${labels.method} ${labels.route}`, emptyHistogram), increase);
      if (name.endsWith('_count')) growth.statuses.set(labels.status ?? '', (growth.statuses.get(labels.status ?? '') ?? 0) + by);
    } else if (name === 'parlance_job_seconds_count') {
      const job = getOrCreate(growth.jobs, labels.job ?? '', () => ({ done: 0, failed: 0 }));
      job[labels.outcome === 'failed' ? 'failed' : 'done'] += by;
    }
  }
  for (const [route, { count: requests }] of growth.routes) if (requests === 0) growth.routes.delete(route);
  return growth;
}

/** The samples of one reading by metric name. */
class Samples {
  readonly #byName = new Map<string, Sample[]>();

  constructor(samples: readonly Sample[]) {
    for (const sample of samples) getOrCreate<Sample[]>(this.#byName, sample.name, () => []).push(sample);
  }

  all(name: MetricName): readonly Sample[] {
    return this.#byName.get(name) ?? [];
  }

  one(name: MetricName, label?: string, value?: string): number | null {
    const found = this.all(name).find(({ labels }) => label === undefined || labels[label] === value);
    return found ? found.value : null;
  }
}

function nodesOf(samples: Samples): Node[] {
  const nodes = new Map<string, Node>();
  const node = (name = ''): Node => getOrCreate(nodes, name, () => ({ name, bots: 0, people: 0, unidentified: 0 }));
  // A node without sockets reports no metric of sockets, so nodes are found by another metric.
  for (const { labels } of samples.all('process_resident_memory_bytes')) if (labels.role === 'gateway') node(labels.process);
  for (const { labels, value } of samples.all('parlance_sockets'))
    node(labels.process)[labels.kind === 'bot' ? 'bots' : labels.kind === 'person' ? 'people' : 'unidentified'] += value;
  return [...nodes.values()].sort((one, other) => (one.name < other.name ? -1 : 1));
}

function queuesOf(samples: Samples): Map<string, QueueReading> {
  const queues = new Map<string, QueueReading>();
  const queue = (name = ''): QueueReading => getOrCreate(queues, name, () => ({ waiting: 0, active: 0, delayed: 0, oldestSecs: 0 }));
  for (const { labels, value } of samples.all('parlance_queue_jobs'))
    if (labels.state === 'waiting' || labels.state === 'active' || labels.state === 'delayed') queue(labels.queue)[labels.state] = value;
  for (const { labels, value } of samples.all('parlance_queue_oldest_waiting_seconds')) queue(labels.queue).oldestSecs = value;
  return queues;
}

/** The endpoints by application. The values of all workers are combined, because each worker reports only its own requests. */
function endpointsOf(samples: Samples): Map<string, EndpointReading> {
  const endpoints = new Map<string, EndpointReading>();
  const isSameSource = (one: Sample, other: Sample): boolean =>
    one.labels.application === other.labels.application && one.labels.process === other.labels.process;
  for (const sample of samples.all('parlance_endpoint_posts')) {
    const of = (name: MetricName): number => samples.all(name).find((other) => isSameSource(sample, other))?.value ?? 0;
    const one = getOrCreate(endpoints, sample.labels.application ?? '', () => ({ posts: 0, failed: 0, meanSecs: 0, p95Secs: 0 }));
    const posts = one.posts + sample.value;
    one.meanSecs = posts ? (one.meanSecs * one.posts + of('parlance_endpoint_mean_seconds') * sample.value) / posts : 0;
    one.posts = posts;
    one.failed += of('parlance_endpoint_failed_posts');
    one.p95Secs = Math.max(one.p95Secs, of('parlance_endpoint_p95_seconds'));
  }
  return endpoints;
}

/** Creates a function that makes a reading of samples and compares it with the previous one. `at` is in milliseconds, by a monotonic clock. */
export function createReader(): (found: readonly Sample[], processes: Reading['processes'], at: number) => Reading {
  const increasesOf = createIncreases();
  let last: number | null = null;
  return (found, processes, at) => {
    const samples = new Samples(found);
    const redis = samples.one('parlance_up', 'store', 'redis') === 1;
    const increases = increasesOf(found.filter(({ name }) => counters.has(name)));
    const secs = last === null ? 0 : (at - last) / 1000;
    last = at;
    const max = samples.one('parlance_redis_memory_max_bytes');
    const used = samples.one('parlance_redis_memory_used_bytes');
    return {
      at,
      database: samples.one('parlance_up', 'store', 'database') === 1,
      redis,
      outboxSecs: samples.one('parlance_outbox_age_seconds'),
      outboxDocuments: samples.one('parlance_outbox_documents'),
      beatSecs: samples.one('parlance_worker_beat_age_seconds'),
      redisMemoryShare: max === null || used === null ? null : max > 0 ? used / max : 0,
      redisNoeviction: samples.one('parlance_redis_noeviction'),
      redisAof: samples.one('parlance_redis_aof'),
      processes,
      nodes: processes && nodesOf(samples),
      queues: queuesOf(samples),
      endpoints: endpointsOf(samples),
      growth: increases && secs > 0 ? growthOf(increases, secs) : null,
    };
  };
}
