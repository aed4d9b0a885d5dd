import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { createLog } from '../../lib/base/log.ts';
import { openOpsPlatform } from '../../lib/store/platform.ts';
import { type RedisFacts, redisWarnings, warnOfRedis, watchRedis } from '../../lib/store/redis/redis-facts.ts';
import { testConfig } from '../harness/stores.ts';

const sound: RedisFacts = { memoryUsedBytes: 69, memoryMaxBytes: 100, evictionPolicy: 'noeviction', appendOnly: true };

/** A platform whose Redis is as told, and the warnings that were logged. */
function pretend(facts: RedisFacts | null) {
  const warnings: string[] = [];
  const log = Object.assign(createLog('test', 'silent'), { warn: (text: string) => void warnings.push(text) });
  const state = { facts };
  const redisFacts = async (): Promise<RedisFacts> => state.facts ?? Promise.reject(new Error('away'));
  return { state, warnings, platform: { log, redisFacts } };
}

describe('how Redis is set up', () => {
  it('is asked of Redis itself', async () => {
    const platform = await openOpsPlatform(testConfig(), createLog('ops', 'silent'));
    const facts = await platform.redisFacts();
    await platform.close();
    expect(facts.memoryUsedBytes).to.be.greaterThan(0);
    expect(facts.memoryMaxBytes).to.be.at.least(0);
    expect(facts.evictionPolicy).to.match(/^(noeviction|allkeys-|volatile-)/);
    expect(facts.appendOnly).to.be.a('boolean');
  });

  for (const [what, facts, warning] of [
    ['an eviction policy', { ...sound, evictionPolicy: 'allkeys-lru' }, /set maxmemory-policy noeviction/],
    ['no AOF', { ...sound, appendOnly: false }, /set appendonly yes/],
    ['memory that fills', { ...sound, memoryUsedBytes: 70 }, /uses 70 % of its memory/],
  ] as const)
    it(`one warning for ${what}, with what to do`, () => {
      expect(redisWarnings(facts)).to.have.length(1);
      expect(redisWarnings(facts)[0]).to.match(warning);
    });

  it('none when all is well, or when there is no memory limit', () => {
    expect(redisWarnings(sound)).to.deep.equal([]);
    expect(redisWarnings({ ...sound, memoryMaxBytes: 0 })).to.deep.equal([]);
  });

  it('each warning is logged once while it lasts, and again when it comes back; nothing while Redis is away', async () => {
    const { state, warnings, platform } = pretend({ ...sound, memoryUsedBytes: 75 });
    let told = await warnOfRedis(platform);
    for (const facts of [{ ...sound, memoryUsedBytes: 80 }, null, { ...sound, memoryUsedBytes: 90 }]) {
      state.facts = facts;
      told = await warnOfRedis(platform, told);
    }
    expect(warnings).to.have.length(1);
    state.facts = sound;
    told = await warnOfRedis(platform, told);
    state.facts = { ...sound, memoryUsedBytes: 71 };
    await warnOfRedis(platform, told);
    expect(warnings).to.have.length(2);
  });

  it('is watched until closed', async () => {
    const { state, warnings, platform } = pretend(sound);
    const watch = await watchRedis(platform, 5);
    state.facts = { ...sound, appendOnly: false };
    while (warnings.length === 0) await pause(5);
    watch.close();
    expect(warnings).to.have.length(1);
  });
});
