import { type Assessment, assess, type Measure, promptQueues, worstOf } from './assessment.ts';
import { formatCount, formatNumber, formatShare, formatTime } from './format.ts';
import { quantile } from './histogram.ts';
import { growthNow, growthOver, type History, historyMs } from './history.ts';
import type { Growth, Reading } from './reading.ts';

/** One row of a table: its name, its current and recent values, and its assessment. */
export interface Row {
  name: string;
  now: string;
  /** One value for each reading, oldest first; null if it was not known. Empty if there is nothing to draw. */
  recent: readonly (number | null)[];
  assessment: Assessment;
}

/** The rows of the tables of the overview, by the id of the section on the page. */
export type Groups = Record<'messages' | 'sockets' | 'queues' | 'outbox' | 'slowest' | 'errors' | 'stores', readonly Row[]>;

/** How many of the slowest routes and endpoints are shown. */
const slowestMax = 5;

/** The worst assessment of several measures. */
function worst(first: Measure, ...others: Measure[]): Assessment {
  const assessments = [first, ...others].map(assess);
  const state = worstOf(assessments.map((one) => one.state));
  return assessments.find((one) => one.state === state) as Assessment;
}

const row = (name: string, now: string | null, recent: Row['recent'], ...measures: [Measure, ...Measure[]]): Row => ({
  name,
  now: now ?? 'unknown',
  recent,
  assessment: worst(...measures),
});

const series = (history: History, of: (reading: Reading) => number | null): (number | null)[] => history.map(of);
const formatKnown = (value: number | null, format: (value: number) => string): string | null => (value === null ? null : format(value));

function messages(history: History): Row[] {
  const now = growthNow(history);
  const rate = (growth: Growth | null): number | null => growth && growth.messages / growth.secs;
  const delay = (growth: Growth | null): number | null => growth && quantile(growth.delivery, 0.95);
  const total = growthOver(history, historyMs);
  return [
    row(
      'Messages per second',
      formatKnown(rate(now), formatNumber),
      series(history, ({ growth }) => rate(growth)),
      { name: 'messages', value: rate(now) },
    ),
    row(
      'Delivery time to bots (p95)',
      total && total.delivery.count === 0 ? 'no message was delivered to a bot' : formatKnown(delay(total), formatTime),
      series(history, ({ growth }) => delay(growth)),
      { name: 'message-time', value: total?.delivery.count === 0 ? 0 : delay(total) },
    ),
  ];
}

const socketsOf = ({ nodes }: Reading): number | null =>
  nodes && nodes.reduce((sum, { bots, people, unidentified }) => sum + bots + people + unidentified, 0);

function sockets(history: History): Row[] {
  const nodes = history.at(-1)?.nodes ?? null;
  const counts = series(history, socketsOf);
  const now = counts.at(-1) ?? null;
  const peak = Math.max(0, ...counts.map((one) => one ?? 0));
  // With fewer than 10 sockets it is normal that half of them close.
  const kept = now === null ? null : peak < 10 ? 1 : now / peak;
  const all = nodes && now !== null ? `${formatCount(now, 'socket')} on ${formatCount(nodes.length, 'node')}` : null;
  return [
    row('All nodes', all, counts, { name: 'nodes', value: nodes && nodes.length }, { name: 'sockets-kept', value: kept }),
    ...(nodes ?? []).map(({ name, bots, people, unidentified }) =>
      row(
        name,
        `${formatCount(bots, 'bot')}, ${formatCount(people, 'person', 'people')}, ${formatNumber(unidentified)} not identified`,
        series(history, (reading) => {
          const node = reading.nodes?.find((one) => one.name === name);
          return node ? node.bots + node.people + node.unidentified : null;
        }),
        { name: 'sockets-unidentified', value: unidentified },
      ),
    ),
  ];
}

function queues(history: History): Row[] {
  const found = history.at(-1)?.queues ?? new Map();
  if (found.size === 0) return [row('All queues', null, [], { name: 'queue-age', value: null })];
  return [...found].map(([name, { waiting, active, delayed, oldestSecs }]) =>
    row(
      name,
      [
        waiting ? `${formatNumber(waiting)} waiting, the oldest for ${formatTime(oldestSecs)}` : 'none waiting',
        ...(active ? [`${formatNumber(active)} active`] : []),
        ...(delayed ? [`${formatNumber(delayed)} delayed`] : []),
      ].join('; '),
      series(history, (reading) => reading.queues.get(name)?.waiting ?? null),
      { name: promptQueues.includes(name) ? 'prompt-queue-age' : 'queue-age', value: oldestSecs },
      { name: 'queue-depth', value: waiting },
    ),
  );
}

function outbox(history: History): Row[] {
  const age = history.at(-1)?.outboxSecs ?? null;
  return [
    row(
      'Oldest undelivered event',
      formatKnown(age, (secs) => (secs === 0 ? 'none pending' : `${formatTime(secs)} old`)),
      series(history, ({ outboxSecs }) => outboxSecs),
      { name: 'outbox-age', value: age },
    ),
  ];
}

function slowest(history: History): Row[] {
  const total = growthOver(history, historyMs);
  const routes = [...(total?.routes ?? [])]
    .map(([name, times]) => ({ name, times, p95: quantile(times, 0.95) ?? 0 }))
    .sort((one, other) => other.p95 - one.p95)
    .slice(0, slowestMax);
  const endpoints = [...(history.at(-1)?.endpoints ?? [])].sort(([, one], [, other]) => other.p95Secs - one.p95Secs).slice(0, slowestMax);
  return [
    ...routes.map(({ name, times: { count, sum }, p95 }) =>
      row(
        name.endsWith(' none') ? `${name.slice(0, -5)} (unknown path)` : name,
        `${formatTime(p95)}, mean ${formatTime(count ? sum / count : 0)}, ${formatCount(count, 'request')}`,
        series(history, ({ growth }) => {
          const times = growth?.routes.get(name);
          return times ? quantile(times, 0.95) : null;
        }),
        { name: 'route-time', value: p95, count },
      ),
    ),
    ...endpoints.map(([application, { posts, failed, meanSecs, p95Secs }]) =>
      row(
        `Endpoint of application ${application}`,
        `${formatTime(p95Secs)}, mean ${formatTime(meanSecs)}, ${formatCount(posts, 'request')}${failed ? `, ${formatNumber(failed)} without a valid response` : ''}`,
        series(history, (reading) => reading.endpoints.get(application)?.p95Secs ?? null),
        { name: 'endpoint-failures', value: posts ? failed / posts : 0, count: posts },
        { name: 'endpoint-time', value: p95Secs, count: posts },
      ),
    ),
  ];
}

const requestsOf = ({ statuses }: Growth, matches: (status: string) => boolean): number =>
  [...statuses].reduce((sum, [status, count]) => (matches(status) ? sum + count : sum), 0);
const jobsOf = ({ jobs }: Growth): { all: number; failed: number } =>
  [...jobs.values()].reduce((sum, { done, failed }) => ({ all: sum.all + done + failed, failed: sum.failed + failed }), {
    all: 0,
    failed: 0,
  });

function errors(history: History): Row[] {
  const total = growthOver(history, historyMs);
  const all = total ? requestsOf(total, () => true) : 0;
  const requests = (name: string, measure: 'server-errors' | 'caller-errors', first: string): Row => {
    const share = (growth: Growth | null): number | null => {
      const every = growth ? requestsOf(growth, () => true) : 0;
      return growth && every ? requestsOf(growth, (status) => status.startsWith(first)) / every : null;
    };
    const value = total && (share(total) ?? 0);
    const now = formatKnown(value, (one) => (all ? `${formatShare(one)} of ${formatCount(all, 'request')}` : 'no requests'));
    return row(
      name,
      now,
      series(history, ({ growth }) => share(growth)),
      { name: measure, value, count: all },
    );
  };
  const jobs = total && jobsOf(total);
  const failing = [...(total?.jobs ?? [])]
    .filter(([, { failed }]) => failed > 0)
    .map(([job, { failed }]) => `${job} ${formatNumber(failed)}`);
  const jobShare = (growth: Growth | null): number | null => {
    const sum = growth && jobsOf(growth);
    return sum && sum.all ? sum.failed / sum.all : null;
  };
  return [
    requests('Server errors (5xx)', 'server-errors', '5'),
    requests('Refused requests (4xx)', 'caller-errors', '4'),
    row(
      'Failed jobs',
      jobs && (jobs.all ? [`${formatShare(jobs.failed / jobs.all)} of ${formatCount(jobs.all, 'job')}`, ...failing].join(', ') : 'no jobs'),
      series(history, ({ growth }) => jobShare(growth)),
      { name: 'job-failures', value: total && (jobShare(total) ?? 0), count: jobs?.all ?? 0 },
    ),
  ];
}

function stores(history: History): Row[] {
  const last = history.at(-1);
  if (!last) return [];
  const { database, redis, redisMemoryShare, redisNoeviction, redisAof, beatSecs } = last;
  const lastTwo = history.slice(-2);
  const availability = (of: 'database' | 'redis'): number => lastTwo.filter((reading) => reading[of]).length / lastTwo.length;
  const upText = (up: boolean): string => (up ? 'responding' : 'not responding');
  const beat = beatSecs ?? (redis ? Infinity : null);
  return [
    row('Database', upText(database), [], { name: 'database', value: availability('database') }),
    row('Redis', upText(redis), [], { name: 'redis', value: availability('redis') }),
    row(
      'Redis memory',
      formatKnown(redisMemoryShare, (share) => (share === 0 ? 'no limit is set' : `${formatShare(share)} used`)),
      series(history, (reading) => reading.redisMemoryShare),
      { name: 'redis-memory', value: redisMemoryShare },
    ),
    row(
      'Redis eviction',
      formatKnown(redisNoeviction, (isOff) => (isOff ? 'off' : 'on')),
      [],
      { name: 'redis-eviction', value: redisNoeviction },
    ),
    row(
      'Redis persistence',
      formatKnown(redisAof, (isOn) => (isOn ? 'on' : 'off')),
      [],
      { name: 'redis-persistence', value: redisAof },
    ),
    row(
      'Workers',
      formatKnown(beat, (secs) => (Number.isFinite(secs) ? `last heartbeat ${formatTime(secs)} ago` : 'no heartbeat for a minute')),
      series(history, (reading) => reading.beatSecs),
      { name: 'worker-beat', value: beat },
    ),
  ];
}

/** The rows of all tables of the overview, from the readings of the last 5 minutes. */
export const groupsOf = (history: History): Groups => ({
  messages: messages(history),
  sockets: sockets(history),
  queues: queues(history),
  outbox: outbox(history),
  slowest: slowest(history),
  errors: errors(history),
  stores: stores(history),
});
