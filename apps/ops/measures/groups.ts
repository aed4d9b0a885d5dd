import type { GroupId } from '../page/rows.ts';
import { promptQueues } from './assessment.ts';
import { type CurrentRow, formatKnown, toRow } from './current-row.ts';
import { formatCount, formatNumber, formatShare, formatTime } from './format.ts';
import { type Histogram, quantile } from './histogram.ts';
import { growthNow, growthOver, type History, historyMs } from './history.ts';
import type { Growth, Reading } from './reading.ts';
import { toStoreRows } from './store-rows.ts';

/** The rows of the tables of the overview. */
export type Groups = Record<GroupId, readonly CurrentRow[]>;

/** How many of the slowest routes and endpoints are shown. */
const slowestMax = 5;

const latest = (history: History, of: (reading: Reading) => number | null): number | null => {
  const last = history.at(-1);
  return last ? of(last) : null;
};
/** The latency of most events, of nearly all, and of all but the rarest: `p50 8 ms, p95 40 ms, p99 90 ms`. */
const formatPercentiles = (times: Histogram): string =>
  [50, 95, 99].map((percent) => `p${percent} ${formatTime(quantile(times, percent / 100) ?? 0)}`).join(', ');

function messages(history: History): CurrentRow[] {
  const now = growthNow(history);
  const rate = (growth: Growth | null): number | null => growth && growth.messages / growth.secs;
  const delay = (growth: Growth | null): number | null => growth && quantile(growth.delivery, 0.95);
  const total = growthOver(history, historyMs);
  return [
    toRow(
      'Messages per second',
      formatKnown(rate(now), formatNumber),
      latest(history, ({ growth }) => rate(growth)),
      { name: 'messages', value: rate(now) },
    ),
    toRow(
      'Delivery time to bots',
      total && (total.delivery.count === 0 ? 'no message was delivered to a bot' : formatPercentiles(total.delivery)),
      latest(history, ({ growth }) => delay(growth)),
      { name: 'message-time', value: total?.delivery.count === 0 ? 0 : delay(total) },
    ),
  ];
}

const socketsOf = ({ nodes }: Reading): number | null =>
  nodes && nodes.reduce((sum, { bots, people, unidentified }) => sum + bots + people + unidentified, 0);

function sockets(history: History): CurrentRow[] {
  const nodes = history.at(-1)?.nodes ?? null;
  const counts = history.map(socketsOf);
  const now = counts.at(-1) ?? null;
  const peak = Math.max(0, ...counts.map((one) => one ?? 0));
  // With fewer than 10 sockets it is normal that half of them close.
  const kept = now === null ? null : peak < 10 ? 1 : now / peak;
  const all = nodes && now !== null ? `${formatCount(now, 'socket')} on ${formatCount(nodes.length, 'node')}` : null;
  return [
    toRow('All nodes', all, now, { name: 'nodes', value: nodes && nodes.length }, { name: 'sockets-kept', value: kept }),
    ...(nodes ?? []).map(({ name, bots, people, unidentified }) =>
      toRow(
        name,
        `${formatCount(bots, 'bot')}, ${formatCount(people, 'person', 'people')}, ${formatNumber(unidentified)} not identified`,
        bots + people + unidentified,
        { name: 'sockets-unidentified', value: unidentified },
      ),
    ),
  ];
}

function queues(history: History): CurrentRow[] {
  const found = history.at(-1)?.queues ?? new Map();
  if (found.size === 0) return [toRow('All queues', null, undefined, { name: 'queue-age', value: null })];
  return [...found].map(([name, { waiting, active, delayed, oldestSecs }]) =>
    toRow(
      name,
      [
        waiting ? `${formatNumber(waiting)} waiting, the oldest for ${formatTime(oldestSecs)}` : 'none waiting',
        ...(active ? [`${formatNumber(active)} active`] : []),
        ...(delayed ? [`${formatNumber(delayed)} delayed`] : []),
      ].join('; '),
      waiting,
      { name: promptQueues.includes(name) ? 'prompt-queue-age' : 'queue-age', value: oldestSecs },
      { name: 'queue-depth', value: waiting },
    ),
  );
}

function outbox(history: History): CurrentRow[] {
  const { outboxSecs: age = null, outboxDocuments: count = null } = history.at(-1) ?? {};
  return [
    toRow(
      'Oldest undelivered event',
      formatKnown(age, (secs) =>
        secs === 0 ? 'none pending' : `${formatTime(secs)} old${count ? `, of ${formatCount(count, 'document')} with pending events` : ''}`,
      ),
      age,
      { name: 'outbox-age', value: age },
    ),
  ];
}

function slowest(history: History): CurrentRow[] {
  const total = growthOver(history, historyMs);
  const routes = [...(total?.routes ?? [])]
    .map(([name, times]) => ({ name, times, p95: quantile(times, 0.95) ?? 0 }))
    .sort((one, other) => other.p95 - one.p95);
  const endpoints = [...(history.at(-1)?.endpoints ?? [])].sort(([, one], [, other]) => other.p95Secs - one.p95Secs);
  return [
    ...routes.map(({ name, times, p95 }, rank) => ({
      ...toRow(
        name.endsWith(' none') ? `${name.slice(0, -5)} (unknown path)` : name,
        `${formatPercentiles(times)}, ${formatCount(times.count, 'request')}`,
        latest(history, ({ growth }) => {
          const latestTimes = growth?.routes.get(name);
          return latestTimes ? quantile(latestTimes, 0.95) : null;
        }),
        { name: 'route-time', value: p95, count: times.count },
      ),
      isHidden: rank >= slowestMax,
    })),
    ...endpoints.map(([application, { posts, failed, meanSecs, p95Secs }], rank) => ({
      ...toRow(
        `Endpoint of application ${application}`,
        `p95 ${formatTime(p95Secs)}, mean ${formatTime(meanSecs)}, ${formatCount(posts, 'request')}${failed ? `, ${formatNumber(failed)} without a valid response` : ''}`,
        p95Secs,
        { name: 'endpoint-failures', value: posts ? failed / posts : 0, count: posts },
        { name: 'endpoint-time', value: p95Secs, count: posts },
      ),
      isHidden: rank >= slowestMax,
    })),
  ];
}

const requestsOf = ({ statuses }: Growth, matches: (status: string) => boolean): number =>
  [...statuses].reduce((sum, [status, count]) => (matches(status) ? sum + count : sum), 0);
const jobsOf = ({ jobs }: Growth): { all: number; failed: number } =>
  [...jobs.values()].reduce((sum, { done, failed }) => ({ all: sum.all + done + failed, failed: sum.failed + failed }), {
    all: 0,
    failed: 0,
  });

function errors(history: History): CurrentRow[] {
  const total = growthOver(history, historyMs);
  const all = total ? requestsOf(total, () => true) : 0;
  const requests = (name: string, measure: 'server-errors' | 'caller-errors', first: string): CurrentRow => {
    const share = (growth: Growth | null): number | null => {
      const every = growth ? requestsOf(growth, () => true) : 0;
      return growth && every ? requestsOf(growth, (status) => status.startsWith(first)) / every : null;
    };
    const value = total && (share(total) ?? 0);
    const now = formatKnown(value, (one) => (all ? `${formatShare(one)} of ${formatCount(all, 'request')}` : 'no requests'));
    return toRow(
      name,
      now,
      latest(history, ({ growth }) => share(growth)),
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
    toRow(
      'Failed jobs',
      jobs && (jobs.all ? [`${formatShare(jobs.failed / jobs.all)} of ${formatCount(jobs.all, 'job')}`, ...failing].join(', ') : 'no jobs'),
      latest(history, ({ growth }) => jobShare(growth)),
      { name: 'job-failures', value: total && (jobShare(total) ?? 0), count: jobs?.all ?? 0 },
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
  stores: toStoreRows(history),
});
