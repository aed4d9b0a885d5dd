import { quantile } from './histogram.ts';
import { growthNow, growthOver, type History, historyMs } from './history.ts';
import type { Growth, Reading } from './reading.ts';
import { type Figure, promptQueues, type Verdict, verdict, worstOf } from './verdict.ts';
import { countText, numberText, shareText, timeText } from './words.ts';

/** One row of a table: its name, its current and recent values, and its verdict. */
export interface Row {
  name: string;
  now: string;
  /** One value for each reading, oldest first; null if it was not known. Empty if there is nothing to draw. */
  lately: readonly (number | null)[];
  verdict: Verdict;
}

/** The rows of the tables of the overview, by the id of the section on the page. */
export type Groups = Record<'messages' | 'sockets' | 'queues' | 'outbox' | 'slowest' | 'errors' | 'stores', readonly Row[]>;

const unknown = 'not known';
/** How many of the slowest routes and endpoints are shown. */
const slowestMax = 5;

/** The worst verdict of several figures. */
function worst(first: Figure, ...others: Figure[]): Verdict {
  const verdicts = [first, ...others].map(verdict);
  const state = worstOf(verdicts.map((one) => one.state));
  return verdicts.find((one) => one.state === state) as Verdict;
}

const row = (name: string, now: string | null, lately: Row['lately'], ...figures: [Figure, ...Figure[]]): Row => ({
  name,
  now: now ?? unknown,
  lately,
  verdict: worst(...figures),
});

const series = (history: History, of: (reading: Reading) => number | null): (number | null)[] => history.map(of);
const text = (value: number | null, words: (value: number) => string): string | null => (value === null ? null : words(value));

function messages(history: History): Row[] {
  const now = growthNow(history);
  const rate = (growth: Growth | null): number | null => growth && growth.messages / growth.secs;
  const late = (growth: Growth | null): number | null => growth && quantile(growth.delivery, 0.95);
  const lately = growthOver(history, historyMs);
  return [
    row(
      'Messages per second',
      text(rate(now), numberText),
      series(history, ({ growth }) => rate(growth)),
      { name: 'messages', value: rate(now) },
    ),
    row(
      'Delivery time to bots (p95)',
      lately && lately.delivery.count === 0 ? 'no message was delivered to a bot' : text(late(lately), timeText),
      series(history, ({ growth }) => late(growth)),
      { name: 'message-time', value: lately?.delivery.count === 0 ? 0 : late(lately) },
    ),
  ];
}

const socketsOf = ({ nodes }: Reading): number | null =>
  nodes && nodes.reduce((sum, { bots, people, strangers }) => sum + bots + people + strangers, 0);

function sockets(history: History): Row[] {
  const nodes = history.at(-1)?.nodes ?? null;
  const total = series(history, socketsOf);
  const now = total.at(-1) ?? null;
  const peak = Math.max(0, ...total.map((one) => one ?? 0));
  // With fewer than 10 sockets it is normal that half of them close.
  const kept = now === null ? null : peak < 10 ? 1 : now / peak;
  const all = nodes && now !== null ? `${countText(now, 'socket')} on ${countText(nodes.length, 'node')}` : null;
  return [
    row('All nodes', all, total, { name: 'nodes', value: nodes && nodes.length }, { name: 'sockets-kept', value: kept }),
    ...(nodes ?? []).map(({ name, bots, people, strangers }) =>
      row(
        name,
        `${countText(bots, 'bot')}, ${countText(people, 'person', 'people')}, ${numberText(strangers)} not identified`,
        series(history, (reading) => {
          const node = reading.nodes?.find((one) => one.name === name);
          return node ? node.bots + node.people + node.strangers : null;
        }),
        { name: 'sockets-strange', value: strangers },
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
        waiting ? `${numberText(waiting)} waiting, the oldest for ${timeText(oldestSecs)}` : 'none waiting',
        ...(active ? [`${numberText(active)} active`] : []),
        ...(delayed ? [`${numberText(delayed)} delayed`] : []),
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
      text(age, (secs) => (secs === 0 ? 'none pending' : `${timeText(secs)} old`)),
      series(history, ({ outboxSecs }) => outboxSecs),
      { name: 'outbox-age', value: age },
    ),
  ];
}

function slowest(history: History): Row[] {
  const lately = growthOver(history, historyMs);
  const routes = [...(lately?.routes ?? [])]
    .map(([name, times]) => ({ name, times, p95: quantile(times, 0.95) ?? 0 }))
    .sort((one, other) => other.p95 - one.p95)
    .slice(0, slowestMax);
  const endpoints = [...(history.at(-1)?.endpoints ?? [])].sort(([, one], [, other]) => other.p95Secs - one.p95Secs).slice(0, slowestMax);
  return [
    ...routes.map(({ name, times: { count, sum }, p95 }) =>
      row(
        name.endsWith(' none') ? `${name.slice(0, -5)} (unknown path)` : name,
        `${timeText(p95)}, mean ${timeText(count ? sum / count : 0)}, ${countText(count, 'request')}`,
        series(history, ({ growth }) => {
          const times = growth?.routes.get(name);
          return times ? quantile(times, 0.95) : null;
        }),
        { name: 'route-time', value: p95, of: count },
      ),
    ),
    ...endpoints.map(([application, { posts, failed, meanSecs, p95Secs }]) =>
      row(
        `Endpoint of application ${application}`,
        `${timeText(p95Secs)}, mean ${timeText(meanSecs)}, ${countText(posts, 'request')}${failed ? `, ${numberText(failed)} without a valid response` : ''}`,
        series(history, (reading) => reading.endpoints.get(application)?.p95Secs ?? null),
        { name: 'endpoint-failures', value: posts ? failed / posts : 0, of: posts },
        { name: 'endpoint-time', value: p95Secs, of: posts },
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
  const lately = growthOver(history, historyMs);
  const all = lately ? requestsOf(lately, () => true) : 0;
  const requests = (name: string, figure: 'server-errors' | 'caller-errors', first: string): Row => {
    const share = (growth: Growth | null): number | null => {
      const every = growth ? requestsOf(growth, () => true) : 0;
      return growth && every ? requestsOf(growth, (status) => status.startsWith(first)) / every : null;
    };
    const value = lately && (share(lately) ?? 0);
    const now = text(value, (one) => (all ? `${shareText(one)} of ${countText(all, 'request')}` : 'no requests'));
    return row(
      name,
      now,
      series(history, ({ growth }) => share(growth)),
      { name: figure, value, of: all },
    );
  };
  const jobs = lately && jobsOf(lately);
  const failing = [...(lately?.jobs ?? [])]
    .filter(([, { failed }]) => failed > 0)
    .map(([job, { failed }]) => `${job} ${numberText(failed)}`);
  const jobShare = (growth: Growth | null): number | null => {
    const sum = growth && jobsOf(growth);
    return sum && sum.all ? sum.failed / sum.all : null;
  };
  return [
    requests('Server errors (5xx)', 'server-errors', '5'),
    requests('Refused requests (4xx)', 'caller-errors', '4'),
    row(
      'Failed jobs',
      jobs && (jobs.all ? [`${shareText(jobs.failed / jobs.all)} of ${countText(jobs.all, 'job')}`, ...failing].join(', ') : 'no jobs'),
      series(history, ({ growth }) => jobShare(growth)),
      { name: 'job-failures', value: lately && (jobShare(lately) ?? 0), of: jobs?.all ?? 0 },
    ),
  ];
}

function stores(history: History): Row[] {
  const last = history.at(-1);
  if (!last) return [];
  const { database, redis, redisFull, redisKeeps, beatSecs } = last;
  const lastTwo = history.slice(-2);
  const answered = (of: 'database' | 'redis'): number => lastTwo.filter((reading) => reading[of]).length / lastTwo.length;
  const answers = (up: boolean): string => (up ? 'responding' : 'not responding');
  const beat = beatSecs ?? (redis ? Infinity : null);
  return [
    row('Database', answers(database), [], { name: 'database', value: answered('database') }),
    row('Redis', answers(redis), [], { name: 'redis', value: answered('redis') }),
    row(
      'Redis’ memory',
      text(redisFull, (share) => (share === 0 ? 'no limit is set' : `${shareText(share)} used`)),
      series(history, (reading) => reading.redisFull),
      { name: 'redis-memory', value: redisFull },
    ),
    row(
      'Redis persistence',
      text(redisKeeps === null ? null : Number(redisKeeps), (keeps) => (keeps ? 'on' : 'data may be lost')),
      [],
      { name: 'redis-keeps', value: redisKeeps === null ? null : Number(redisKeeps) },
    ),
    row(
      'Workers',
      text(beat, (secs) => (Number.isFinite(secs) ? `last heartbeat ${timeText(secs)} ago` : 'no heartbeat for a minute')),
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
