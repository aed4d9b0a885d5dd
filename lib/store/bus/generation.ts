import type { Redis } from 'ioredis';
import { bindScript } from '../redis.ts';
import type { Keys } from './keys.ts';

/**
 * Tells whether Redis came back without writes that it had acknowledged (quality 2, "Redis lost data"). At the first call under a new `run_id` the
 * append counter found is recorded; a process that was once told a higher number knows that data are gone and begins a new generation:
 * every session of an older one is refused.
 */
export interface Generation {
  /** The first half of the `run_id` that this process knows of a shard's Redis; empty while the connection is away. */
  run(shard: number): string;
  /** Notes a counter that Redis acknowledged to this process, or that an envelope named, under `run`. One of another run than the known is no proof. */
  acknowledge(shard: number, count: number, run: string): void;
  /** Records the run and compares the counters. Called on every (re)connect and when a script says that the run is unknown. */
  boot(): Promise<void>;
}

const lua = `
local P, run, highest, control = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
if redis.call('GET', P..'run') ~= run then
  redis.call('SET', P..'run', run)
  redis.call('SET', P..'found', redis.call('GET', P..'count') or '0')
end
local found = tonumber(redis.call('GET', P..'found') or '0')
if highest > found and ARGV[5] ~= run and redis.call('GET', P..'gen') ~= run then
  redis.call('SET', P..'gen', run)
  redis.call('PUBLISH', control, '{"kind":"generation"}')
  return 1
end
return 0
`;

/** Watches `redis` for restarts. `onLoss` is told when this process found that acknowledged data are gone. */
export function createGeneration(redis: Redis, keys: Keys, onLoss: () => void): Generation {
  const script = bindScript<number>(redis, 'parlanceBoot', lua);
  const highest: number[] = Array.from({ length: keys.shards }, () => 0);
  let run = '';
  /** The run under which `highest` was collected: only another run can have lost it. */
  let collected = '';
  let booting: Promise<void> | null = null;

  const boot = async (): Promise<void> => {
    const info = await redis.info('server');
    const id = /run_id:(\w{20})/.exec(info)?.[1] ?? '';
    for (let shard = 0; shard < keys.shards; shard++) {
      const prefix = keys.shard(shard);
      if (await script([`${prefix}run`], [prefix, id, highest[shard] ?? 0, keys.topic('control'), collected])) onLoss();
    }
    if (collected !== id) highest.fill(0);
    collected = id;
    run = id;
  };
  redis.on('close', () => {
    run = '';
  });
  return {
    run: () => run,
    acknowledge(shard, count, under) {
      // The subscription may be back before this connection: what it tells of the new run must not look like something the old one acknowledged.
      if (run !== '' && under === run && count > (highest[shard] ?? 0)) highest[shard] = count;
    },
    boot() {
      booting ??= boot().finally(() => {
        booting = null;
      });
      return booting;
    },
  };
}
