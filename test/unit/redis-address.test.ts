import { expect } from 'chai';
import { readConfig } from '../../config/index.ts';
import { isRedisUrl, readRedisAddress } from '../../config/redis-address.ts';
import { computeSlot, createKeys } from '../../lib/store/redis/log/keys.ts';

describe('REDIS_URL', () => {
  const host = (name: string, port: number) => ({ host: name, port });
  for (const [url, address] of [
    ['redis://localhost', { isCluster: false, nodes: [host('localhost', 6379)], login: {} }],
    ['redis://:p%40ss@[::1]:80/3', { isCluster: false, nodes: [host('::1', 80)], login: { password: 'p@ss', db: 3 } }],
    [
      'rediss://user:pw@a.example:6380',
      { isCluster: false, nodes: [host('a.example', 6380)], login: { username: 'user', password: 'pw', tls: {} } },
    ],
    ['redis+cluster://a', { isCluster: true, nodes: [host('a', 6379)], login: {} }],
    ['redis://a:1,b:2,c', { isCluster: true, nodes: [host('a', 1), host('b', 2), host('c', 6379)], login: {} }],
    ['rediss+cluster://:pw@a:1,b:2', { isCluster: true, nodes: [host('a', 1), host('b', 2)], login: { password: 'pw', tls: {} } }],
  ] as const)
    it(`reads ${url}`, () => {
      expect(isRedisUrl(url)).to.equal(true);
      expect(readRedisAddress(url)).to.deep.equal(address);
    });

  for (const url of [
    '',
    'http://a',
    'redis://',
    'redis://a,,b',
    'redis://a:x',
    'redis+cluster://a/1',
    'redis://a,b/1',
    'redis://a/x',
    'redis://a b',
  ])
    it(`refuses "${url}"`, () => expect(isRedisUrl(url)).to.equal(false));

  const partitionsOf = (REDIS_URL: string, more = {}): number => {
    const APP_KEY = Buffer.alloc(32).toString('base64');
    return readConfig({ MONGODB_URL: 'mongodb://localhost/x', REDIS_URL, APP_KEY, ...more }).LOG_PARTITIONS;
  };
  it('uses 1 partition for a single Redis and 16 for a cluster, unless LOG_PARTITIONS is set', () => {
    expect(['redis://a', 'redis://a,b', 'redis+cluster://a'].map((url) => partitionsOf(url))).to.deep.equal([1, 16, 16]);
    expect(partitionsOf('redis://a', { LOG_PARTITIONS: '3' })).to.equal(3);
    for (const invalid of ['0', '17', 'x']) expect(() => partitionsOf('redis://a', { LOG_PARTITIONS: invalid })).to.throw('from 1 to 16');
  });
});

describe('partitions', () => {
  it('computes hash slots as Redis does', () => {
    expect(['123456789', 'foo', ''].map(computeSlot)).to.deep.equal([12_739, 12_182, 0]);
  });

  it('gives each partition a hash tag in its own range of slots, and a single partition the tag 0', () => {
    const keys = createKeys('parlance', 16);
    for (let k = 0; k < 16; k++) expect(Math.floor(keys.slot(k) / 1_024)).to.equal(k);
    expect(createKeys('parlance', 1).partitionPrefix(0)).to.equal('{parlance-0}:');
    for (const place of ['server:1', 'account:2', 'broadcast'])
      expect(keys.partitionOfChannel(keys.channel(place))).to.equal(keys.partitionOf(place));
  });
});
