import { expect } from 'chai';
import { type Groups, groupsOf } from '../../apps/ops/measures/groups.ts';
import { quantile } from '../../apps/ops/measures/histogram.ts';
import { addReading, type History } from '../../apps/ops/measures/history.ts';
import { createReader, type Reading } from '../../apps/ops/measures/reading.ts';
import { readSamples } from '../../apps/ops/measures/scrape.ts';
import { toPolylines } from '../../apps/ops/page/sparkline-points.ts';

const up = 'parlance_up{store="redis"} 1\nparlance_up{store="database"} 1\n';

/** A reader of Prometheus texts. By default no process is registered. */
function createTextReader(): (text: string, at: number, processes?: Reading['processes']) => Reading {
  const read = createReader();
  return (text, at, processes = []) => read(readSamples(text), processes, at);
}

/** The groups after these texts were collected, 5 s apart. */
function groupsAfter(...texts: string[]): Groups {
  const read = createTextReader();
  return groupsOf(texts.reduce<History>((history, text, at) => addReading(history, read(up + text, 1_000_000 + at * 5_000)), []));
}

const rowOf = (groups: Groups, group: keyof Groups, name: string) =>
  groups[group].find((row) => row.name === name) ?? expect.fail(`no row ${name}`);
const messages = (count: number, process = 'worker:1'): string =>
  `parlance_events_total{event="MESSAGE_CREATE",process="${process}"} ${count}\n`;
const requests = (status: number, count: number): string =>
  ['0.1', '1', '+Inf']
    .map(
      (le, at) => `parlance_http_seconds_bucket{le="${le}",method="GET",route="/x",status="${status}",process="api:1"} ${at ? count : 0}\n`,
    )
    .join('') +
  `parlance_http_seconds_sum{method="GET",route="/x",status="${status}",process="api:1"} ${count / 2}\n` +
  `parlance_http_seconds_count{method="GET",route="/x",status="${status}",process="api:1"} ${count}\n`;

describe('groupsOf', () => {
  it('shows no rate after one reading', () => {
    const row = rowOf(groupsAfter(messages(100)), 'messages', 'Messages per second');
    expect([row.now, row.assessment.state]).to.deep.equal(['unknown', 'unknown']);
  });

  for (const [what, texts, now] of [
    ['growth of one process', [messages(100), messages(150)], '10'],
    ['growth of two processes', [messages(1) + messages(5, 'worker:2'), messages(6) + messages(10, 'worker:2')], '2'],
    ['a counter that restarted at 0', [messages(100), messages(5)], '1'],
    ['a new counter of a known process', ['parlance_events_total{event="X",process="worker:1"} 1\n', messages(5)], '1'],
    ['no growth from a new process', [messages(1), messages(1) + messages(1_000, 'worker:2')], '0'],
    ['the mean over 30 s', [messages(0), messages(0), messages(10)], '1'],
    ['no growth from other events', ['', 'parlance_events_total{event="X",process="worker:1"} 9\n'], '0'],
  ] as [string, string[], string][])
    it(`shows messages per second: ${what}`, () =>
      expect(rowOf(groupsAfter(...texts), 'messages', 'Messages per second').now).to.equal(now));

  it('marks values of Redis as unknown while it is unavailable, and those of processes if none was ever found', () => {
    const read = createTextReader();
    const withoutRedis = 'parlance_up{store="redis"} 0\nparlance_up{store="database"} 1\nparlance_outbox_age_seconds 0\n';
    const groups = groupsOf([read(withoutRedis, 1, null), read(withoutRedis, 5_001, null)]);
    expect(rowOf(groups, 'stores', 'Redis').assessment.state).to.equal('critical');
    expect(rowOf(groups, 'stores', 'Workers').assessment.state).to.equal('unknown');
    expect(rowOf(groups, 'stores', 'Processes').assessment.state).to.equal('unknown');
    expect(rowOf(groups, 'sockets', 'All nodes').assessment.state).to.equal('unknown');
    expect(rowOf(groups, 'queues', 'All queues').assessment.state).to.equal('unknown');
    expect(rowOf(groups, 'outbox', 'Oldest undelivered event').assessment.state).to.equal('ok');
  });

  it('says p50, p95 and p99 of the delivery time', () => {
    const delivered = (count: number): string =>
      ['0.05', '0.1', '+Inf']
        .map((le) => `parlance_delivery_seconds_bucket{le="${le}",process="gateway:a"} ${le === '0.05' ? count / 2 : count}\n`)
        .join('') + `parlance_delivery_seconds_count{process="gateway:a"} ${count}\n`;
    expect(rowOf(groupsAfter(delivered(0), delivered(100)), 'messages', 'Delivery time to bots').now).to.equal(
      'p50 50 ms, p95 95 ms, p99 99 ms',
    );
  });

  it('is a warning that names a process which did not answer twice', () => {
    const read = createTextReader();
    const process = (isUp: boolean) => [{ name: 'api:a', url: 'http://10.0.0.1:1', isUp }];
    const shown = [true, false, false, true].reduce<[History, string[]]>(
      ([history, found], isUp, at) => {
        const next = addReading(history, read(up, at * 5_000, process(isUp)));
        const { now, assessment } = rowOf(groupsOf(next), 'stores', 'Processes');
        return [next, [...found, `${now}: ${assessment.state}`]];
      },
      [[], []],
    )[1];
    const silent = 'no answer from api:a at http://10.0.0.1:1';
    expect(shown).to.deep.equal(['1 of 1 answer: ok', `${silent}: ok`, `${silent}: warning`, '1 of 1 answer: ok']);
  });

  it('is a warning when Redis responds late once, and critical when it does twice', () => {
    const read = createTextReader();
    const withoutRedis = up.replace('} 1', '} 0');
    const states = [up, withoutRedis, withoutRedis, up, up].reduce<[History, string[]]>(
      ([history, found], text, at) => {
        const next = addReading(history, read(text, at * 5_000));
        return [next, [...found, rowOf(groupsOf(next), 'stores', 'Redis').assessment.state]];
      },
      [[], []],
    )[1];
    expect(states).to.deep.equal(['ok', 'warning', 'critical', 'warning', 'ok']);
  });

  for (const [what, noeviction, aof, eviction, persistence] of [
    ['a sound Redis', 1, 1, ['off', 'ok'], ['on', 'ok']],
    ['a Redis that evicts', 0, 1, ['on', 'warning'], ['on', 'ok']],
    ['a Redis that does not persist', 1, 0, ['off', 'ok'], ['off', 'warning']],
  ] as const)
    it(`shows eviction and persistence of ${what}`, () => {
      const groups = groupsAfter(`parlance_redis_noeviction ${noeviction}\nparlance_redis_aof ${aof}\n`);
      for (const [name, shown] of [
        ['Redis eviction', eviction],
        ['Redis persistence', persistence],
      ] as const) {
        const { now, assessment } = rowOf(groups, 'stores', name);
        expect([now, assessment.state], name).to.deep.equal(shown);
      }
    });

  it('is critical when no worker sent a heartbeat for a minute', () =>
    expect(rowOf(groupsAfter(''), 'stores', 'Workers'))
      .to.deep.include({ now: 'no heartbeat for a minute' })
      .and.nested.include({ 'assessment.state': 'critical' }));

  it('lists sockets by node, including nodes without sockets', () => {
    const node = (name: string): string => `process_resident_memory_bytes{role="gateway",process="${name}"} 1\n`;
    const groups = groupsAfter(
      `${node('gateway:a')}${node('gateway:b')}parlance_sockets{kind="bot",process="gateway:b"} 2\nparlance_sockets{kind="person",process="gateway:b"} 1\n`,
    );
    expect(groups.sockets.map(({ name, now }) => [name, now])).to.deep.equal([
      ['All nodes', '3 sockets on 2 nodes'],
      ['gateway:a', '0 bots, 0 people, 0 not identified'],
      ['gateway:b', '2 bots, 1 person, 0 not identified'],
    ]);
  });

  it('is critical without a gateway, and a warning when more than half of at least 10 sockets closed', () => {
    const sockets = (count: number): string => `parlance_sockets{kind="bot",process="gateway:a"} ${count}\n`;
    expect(rowOf(groupsAfter(''), 'sockets', 'All nodes').assessment.state).to.equal('critical');
    expect(rowOf(groupsAfter(sockets(20), sockets(9)), 'sockets', 'All nodes').assessment.state).to.equal('warning');
    expect(rowOf(groupsAfter(sockets(8), sockets(1)), 'sockets', 'All nodes').assessment.state).to.equal('ok');
  });

  it('applies stricter thresholds to queues that users wait for', () => {
    const queue = (name: string): string =>
      `parlance_queue_jobs{queue="${name}",state="waiting"} 1\nparlance_queue_oldest_waiting_seconds{queue="${name}"} 4\n`;
    const groups = groupsAfter(queue('interactions') + queue('media'));
    expect(rowOf(groups, 'queues', 'interactions')).to.nested.include({
      now: '1 waiting, the oldest for 4 s',
      'assessment.state': 'critical',
    });
    expect(rowOf(groups, 'queues', 'media').assessment.state).to.equal('ok');
  });

  it('computes errors and slowest routes from the growth, not the totals', () => {
    const groups = groupsAfter(requests(200, 1_000) + requests(500, 900), requests(200, 1_180) + requests(500, 920));
    expect(rowOf(groups, 'errors', 'Server errors (5xx)')).to.nested.include({
      now: '10 % of 200 requests',
      'assessment.state': 'critical',
    });
    expect(rowOf(groups, 'errors', 'Refused requests (4xx)').assessment.state).to.equal('ok');
    expect(rowOf(groups, 'slowest', 'GET /x')).to.nested.include({
      now: 'p50 550 ms, p95 955 ms, p99 991 ms, 200 requests',
      'assessment.state': 'warning',
    });
  });

  it('combines the values of several workers for one endpoint', () => {
    const of = (process: string, posts: number, failed: number, mean: number): string =>
      Object.entries({ posts, failed_posts: failed, mean_seconds: mean, p95_seconds: mean * 2 })
        .map(([name, value]) => `parlance_endpoint_${name}{application="7",process="${process}"} ${value}\n`)
        .join('');
    const row = rowOf(groupsAfter(of('worker:1', 10, 0, 0.1) + of('worker:2', 30, 2, 0.3)), 'slowest', 'Endpoint of application 7');
    expect(row.now).to.equal('p95 600 ms, mean 250 ms, 40 requests, 2 without a valid response');
  });

  it('keeps readings of 5 minutes, at most 61', () => {
    const read = createTextReader();
    let history: History = [];
    for (let at = 0; at < 200; at++) history = addReading(history, read(up, at * 5_000));
    expect(history.length).to.equal(60);
    for (let at = 0; at < 200; at++) history = addReading(history, read(up, 1_000_000 + at));
    expect(history.length).to.equal(61);
    expect(addReading(history, read(up, 5)).length, 'after the clock was set back').to.equal(1);
  });

  for (const [what, share, secs] of [
    ['within a bucket', 0.5, 0.75],
    ['at the end of a bucket', 0.8, 1],
    ['beyond the last bound', 0.95, 1],
  ] as const)
    it(`computes a quantile ${what}`, () => {
      const buckets = new Map([
        [0.5, 2],
        [1, 8],
        [Infinity, 10],
      ]);
      expect(quantile({ count: 10, sum: 5, buckets }, share)).to.equal(secs);
    });

  it('interrupts a line at unknown values and aligns it to the right', () => {
    expect(toPolylines([1, null, 2, 4])).to.deep.equal(['115.1,20.0 115.1,20.0', '117.0,14.0 118.0,2.0']);
    expect(toPolylines([null])).to.deep.equal([]);
  });
});
