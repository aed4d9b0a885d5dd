import { type CurrentRow, formatKnown, toRow } from './current-row.ts';
import { formatNumber, formatShare, formatTime } from './format.ts';
import type { History } from './history.ts';

/** The share of the processes that answered in one of the last two collections, so that one late answer is no fault. */
function shareThatAnswered(history: History): number {
  const [last, before] = history.slice(-2).reverse();
  const processes = last?.processes ?? [];
  const hadAnswered = (name: string): boolean => before?.processes?.find((one) => one.name === name)?.isUp ?? true;
  const answered = processes.filter(({ name, isUp }) => isUp || hadAnswered(name));
  return processes.length ? answered.length / processes.length : 1;
}

/** The rows of the processes, the database and Redis. */
export function toStoreRows(history: History): CurrentRow[] {
  const last = history.at(-1);
  if (!last) return [];
  const { database, redis, redisMemoryShare, redisNoeviction, redisAof, beatSecs, processes } = last;
  const lastTwo = history.slice(-2);
  const availability = (of: 'database' | 'redis'): number => lastTwo.filter((reading) => reading[of]).length / lastTwo.length;
  const upText = (up: boolean): string => (up ? 'responding' : 'not responding');
  const beat = beatSecs ?? (redis ? Infinity : null);
  const silent = processes?.filter(({ isUp }) => !isUp).map(({ name, url }) => `${name} at ${url}`) ?? [];
  return [
    toRow(
      'Processes',
      processes &&
        (silent.length > 0
          ? `no answer from ${silent.join(', ')}`
          : `${formatNumber(processes.length)} of ${formatNumber(processes.length)} answer`),
      processes && processes.length - silent.length,
      { name: 'processes', value: processes && shareThatAnswered(history) },
    ),
    toRow('Database', upText(database), undefined, { name: 'database', value: availability('database') }),
    toRow('Redis', upText(redis), undefined, { name: 'redis', value: availability('redis') }),
    toRow(
      'Redis memory',
      formatKnown(redisMemoryShare, (share) => (share === 0 ? 'no limit is set' : `${formatShare(share)} used`)),
      redisMemoryShare,
      { name: 'redis-memory', value: redisMemoryShare },
    ),
    toRow(
      'Redis eviction',
      formatKnown(redisNoeviction, (isOff) => (isOff ? 'off' : 'on')),
      undefined,
      { name: 'redis-eviction', value: redisNoeviction },
    ),
    toRow(
      'Redis persistence',
      formatKnown(redisAof, (isOn) => (isOn ? 'on' : 'off')),
      undefined,
      { name: 'redis-persistence', value: redisAof },
    ),
    toRow(
      'Workers',
      formatKnown(beat, (secs) => (Number.isFinite(secs) ? `last heartbeat ${formatTime(secs)} ago` : 'no heartbeat for a minute')),
      beatSecs,
      { name: 'worker-beat', value: beat },
    ),
  ];
}
