import { expect } from 'chai';
import { type Groups, groupsOf } from '../../apps/ops/page/groups.ts';
import { quantile } from '../../apps/ops/page/histogram.ts';
import { type History, remember } from '../../apps/ops/page/history.ts';
import { createReader } from '../../apps/ops/page/reading.ts';
import { stretches } from '../../apps/ops/page/spark-points.ts';

const up = 'parlance_up{store="redis"} 1\nparlance_up{store="database"} 1\n';

/** The groups after these answers of /metrics, 5 s apart. */
function after(...texts: string[]): Groups {
  const read = createReader();
  return groupsOf(texts.reduce<History>((history, text, at) => remember(history, read(up + text, 1_000_000 + at * 5_000)), []));
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

describe('what the overview makes of the measurements', () => {
  it('knows no rate from one reading', () => {
    const row = rowOf(after(messages(100)), 'messages', 'Messages per second');
    expect([row.now, row.verdict.state]).to.deep.equal(['not known', 'unknown']);
  });

  for (const [what, texts, now] of [
    ['growth', [messages(100), messages(150)], '10'],
    ['growth of two processes', [messages(1) + messages(5, 'worker:2'), messages(6) + messages(10, 'worker:2')], '2'],
    ['a counter that began anew', [messages(100), messages(5)], '1'],
    ['a counter that is new in a process that was known', ['parlance_events_total{event="X",process="worker:1"} 1\n', messages(5)], '1'],
    ['no growth from a process that was not there before', [messages(1), messages(1) + messages(1_000, 'worker:2')], '0'],
    ['a mean over half a minute', [messages(0), messages(0), messages(10)], '1'],
    ['events that are no messages', ['', 'parlance_events_total{event="X",process="worker:1"} 9\n'], '0'],
  ] as [string, string[], string][])
    it(`messages a second: ${what}`, () => expect(rowOf(after(...texts), 'messages', 'Messages per second').now).to.equal(now));

  it('says what a read without Redis cannot tell', () => {
    const read = createReader();
    const away = 'parlance_up{store="redis"} 0\nparlance_up{store="database"} 1\nparlance_outbox_age_seconds 0\n';
    const groups = groupsOf([read(away, 1), read(away, 5_001)]);
    expect(rowOf(groups, 'stores', 'Redis').verdict.state).to.equal('act');
    expect(rowOf(groups, 'stores', 'Workers').verdict.state).to.equal('unknown');
    expect(rowOf(groups, 'sockets', 'All nodes').verdict.state).to.equal('unknown');
    expect(rowOf(groups, 'queues', 'All queues').verdict.state).to.equal('unknown');
    expect(rowOf(groups, 'outbox', 'Oldest undelivered event').verdict.state).to.equal('fine');
  });

  it('Redis that answered too late once is worth a look, and twice is to be acted on', () => {
    const read = createReader();
    const away = up.replace('} 1', '} 0');
    const states = [up, away, away, up, up].reduce<[History, string[]]>(
      ([history, found], text, at) => {
        const next = remember(history, read(text, at * 5_000));
        return [next, [...found, rowOf(groupsOf(next), 'stores', 'Redis').verdict.state]];
      },
      [[], []],
    )[1];
    expect(states).to.deep.equal(['fine', 'look', 'act', 'look', 'fine']);
  });

  it('a worker that nobody heard of for a minute is to be acted on', () =>
    expect(rowOf(after(''), 'stores', 'Workers'))
      .to.deep.include({ now: 'no heartbeat for a minute' })
      .and.nested.include({ 'verdict.state': 'act' }));

  it('sockets by node, also of one without any', () => {
    const node = (name: string): string => `process_resident_memory_bytes{role="gateway",process="${name}"} 1\n`;
    const groups = after(
      `${node('gateway:a')}${node('gateway:b')}parlance_sockets{kind="bot",process="gateway:b"} 2\nparlance_sockets{kind="person",process="gateway:b"} 1\n`,
    );
    expect(groups.sockets.map(({ name, now }) => [name, now])).to.deep.equal([
      ['All nodes', '3 sockets on 2 nodes'],
      ['gateway:a', '0 bots, 0 people, 0 not identified'],
      ['gateway:b', '2 bots, 1 person, 0 not identified'],
    ]);
  });

  it('no gateway is to be acted on; half of many sockets gone is worth a look', () => {
    const sockets = (count: number): string => `parlance_sockets{kind="bot",process="gateway:a"} ${count}\n`;
    expect(rowOf(after(''), 'sockets', 'All nodes').verdict.state).to.equal('act');
    expect(rowOf(after(sockets(20), sockets(9)), 'sockets', 'All nodes').verdict.state).to.equal('look');
    expect(rowOf(after(sockets(8), sockets(1)), 'sockets', 'All nodes').verdict.state).to.equal('fine');
  });

  it('a queue somebody waits for is judged more strictly', () => {
    const queue = (name: string): string =>
      `parlance_queue_jobs{queue="${name}",state="waiting"} 1\nparlance_queue_oldest_waiting_seconds{queue="${name}"} 4\n`;
    const groups = after(queue('relay') + queue('media'));
    expect(rowOf(groups, 'queues', 'relay')).to.nested.include({ now: '1 waiting, the oldest for 4 s', 'verdict.state': 'act' });
    expect(rowOf(groups, 'queues', 'media').verdict.state).to.equal('fine');
  });

  it('errors and slowest routes are of what grew, not of all time', () => {
    const groups = after(requests(200, 1_000) + requests(500, 900), requests(200, 1_180) + requests(500, 920));
    expect(rowOf(groups, 'errors', 'Server errors (5xx)')).to.nested.include({ now: '10 % of 200 requests', 'verdict.state': 'act' });
    expect(rowOf(groups, 'errors', 'Refused requests (4xx)').verdict.state).to.equal('fine');
    expect(rowOf(groups, 'slowest', 'GET /x')).to.nested.include({ now: '955 ms, mean 500 ms, 200 requests', 'verdict.state': 'look' });
  });

  it('endpoints of one application that several workers ask are one', () => {
    const of = (process: string, posts: number, failed: number, mean: number): string =>
      Object.entries({ posts, failed_posts: failed, mean_seconds: mean, p95_seconds: mean * 2 })
        .map(([name, value]) => `parlance_endpoint_${name}{application="7",process="${process}"} ${value}\n`)
        .join('');
    const row = rowOf(after(of('worker:1', 10, 0, 0.1) + of('worker:2', 30, 2, 0.3)), 'slowest', 'Endpoint of application 7');
    expect(row.now).to.equal('600 ms, mean 250 ms, 40 requests, 2 without a valid response');
  });

  it('looks back 5 minutes, and no more readings than these hold', () => {
    const read = createReader();
    let history: History = [];
    for (let at = 0; at < 200; at++) history = remember(history, read(up, at * 5_000));
    expect(history.length).to.equal(60);
    for (let at = 0; at < 200; at++) history = remember(history, read(up, 1_000_000 + at));
    expect(history.length).to.equal(61);
    expect(remember(history, read(up, 5)).length, 'a clock that was set back').to.equal(1);
  });

  for (const [what, share, secs] of [
    ['within a bucket', 0.5, 0.75],
    ['at its end', 0.8, 1],
    ['beyond the last bound', 0.95, 1],
  ] as const)
    it(`a quantile ${what}`, () => {
      const buckets = new Map([
        [0.5, 2],
        [1, 8],
        [Infinity, 10],
      ]);
      expect(quantile({ count: 10, sum: 5, buckets }, share)).to.equal(secs);
    });

  it('a line breaks where nothing is known, and begins at the right', () => {
    expect(stretches([1, null, 2, 4])).to.deep.equal(['112.2,20.0 112.2,20.0', '116.1,14.0 118.0,2.0']);
    expect(stretches([null])).to.deep.equal([]);
  });
});
