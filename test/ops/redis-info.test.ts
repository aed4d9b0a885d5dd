import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { createLog } from '../../lib/base/log.ts';
import { openOpsPlatform } from '../../lib/store/platform.ts';
import { listRedisWarnings, logRedisWarnings, type RedisInfo, watchRedis } from '../../lib/store/redis/redis-info.ts';
import { testConfig } from '../harness/stores.ts';

const sound: RedisInfo = { memoryUsedBytes: 69, memoryMaxBytes: 100, evictionPolicy: 'noeviction', appendOnly: true };

/** A platform with these facts about Redis, and the warnings that it logged. `null` means that Redis is unavailable. */
function fakePlatform(facts: RedisInfo | null) {
  const warnings: string[] = [];
  const log = Object.assign(createLog('test', 'silent'), { warn: (text: string) => void warnings.push(text) });
  const state = { facts };
  const readRedisInfo = async (): Promise<RedisInfo> => state.facts ?? Promise.reject(new Error('unavailable'));
  return { state, warnings, platform: { log, readRedisInfo } };
}

describe('checks of the Redis configuration', () => {
  it('read the configuration from Redis', async () => {
    const platform = await openOpsPlatform(testConfig(), createLog('ops', 'silent'));
    const facts = await platform.readRedisInfo();
    await platform.close();
    expect(facts.memoryUsedBytes).to.be.greaterThan(0);
    expect(facts.memoryMaxBytes).to.be.at.least(0);
    expect(facts.evictionPolicy).to.match(/^(noeviction|allkeys-|volatile-)/);
    expect(facts.appendOnly).to.be.a('boolean');
  });

  for (const [what, facts, warning] of [
    ['an eviction policy', { ...sound, evictionPolicy: 'allkeys-lru' }, /set maxmemory-policy noeviction/],
    ['no AOF', { ...sound, appendOnly: false }, /set appendonly yes/],
    ['memory that is nearly full', { ...sound, memoryUsedBytes: 70 }, /uses 70 % of its memory/],
  ] as const)
    it(`return one warning for ${what}, with what to do`, () => {
      expect(listRedisWarnings(facts)).to.have.length(1);
      expect(listRedisWarnings(facts)[0]).to.match(warning);
    });

  it('return no warning for a correct configuration or without a memory limit', () => {
    expect(listRedisWarnings(sound)).to.deep.equal([]);
    expect(listRedisWarnings({ ...sound, memoryMaxBytes: 0 })).to.deep.equal([]);
  });

  it('log each warning once while it persists, and again when it returns; nothing while Redis is unavailable', async () => {
    const { state, warnings, platform } = fakePlatform({ ...sound, memoryUsedBytes: 75 });
    let logged = await logRedisWarnings(platform);
    for (const facts of [{ ...sound, memoryUsedBytes: 80 }, null, { ...sound, memoryUsedBytes: 90 }]) {
      state.facts = facts;
      logged = await logRedisWarnings(platform, logged);
    }
    expect(warnings).to.have.length(1);
    state.facts = sound;
    logged = await logRedisWarnings(platform, logged);
    state.facts = { ...sound, memoryUsedBytes: 71 };
    await logRedisWarnings(platform, logged);
    expect(warnings).to.have.length(2);
  });

  it('repeat until they are closed', async () => {
    const { state, warnings, platform } = fakePlatform(sound);
    const watch = await watchRedis(platform, 5);
    state.facts = { ...sound, appendOnly: false };
    while (warnings.length === 0) await pause(5);
    watch.close();
    expect(warnings).to.have.length(1);
  });
});
