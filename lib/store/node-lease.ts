import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Logger } from '../base/log.ts';
import type { Keys } from './bus/keys.ts';
import { bindScript } from './redis.ts';

/** How long a node number stays taken after the last renewal, in milliseconds. */
const leaseMs = 60_000;

// The lowest free number from 1 on, beginning at a random place so that restarts do not crowd; -1 when all are taken.
const takeLua = `
for i = 0, 1022 do
  local node = (tonumber(ARGV[2]) + i) % 1023 + 1
  if redis.call('SET', KEYS[1]..node, ARGV[1], 'NX', 'PX', ${leaseMs}) then return node end
end
return -1
`;
const keepLua = `
local held = redis.call('GET', KEYS[1])
if held == ARGV[1] or not held then redis.call('SET', KEYS[1], ARGV[1], 'PX', ${leaseMs}) return 1 end
return 0
`;
const releaseLua = `if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end return 1`;

/** Leases this process' node number for ids, 1-1023 (decisions 2), and renews it until released. Throws when all are taken. */
export async function leaseNode(redis: Redis, keys: Keys, log: Logger): Promise<{ node: number; release(): Promise<void> }> {
  const holder = randomUUID();
  const prefix = `${keys.shard(0)}id-node:`;
  const node = await bindScript<number>(redis, 'parlanceTakeNode', takeLua)([prefix], [holder, Math.floor(Math.random() * 1023)]);
  if (node < 0) throw new Error('all 1,023 node numbers are taken: are old processes still running?');
  const keep = bindScript<number>(redis, 'parlanceKeepNode', keepLua);
  const release = bindScript<number>(redis, 'parlanceReleaseNode', releaseLua);
  const timer = setInterval(() => {
    keep([prefix + node], [holder]).then(
      (kept) => {
        if (!kept) log.error({ node }, 'the id node number was taken by another process');
      },
      () => undefined, // Redis away: the number is taken again when it is back
    );
  }, leaseMs / 4);
  timer.unref();
  return {
    node,
    release: async () => {
      clearInterval(timer);
      await release([prefix + node], [holder]).catch(() => undefined);
    },
  };
}
