import type { OpsPlatform } from '../../lib/store/platform.ts';
import { redisWarnings } from '../../lib/store/redis/redis-facts.ts';

/** How long one check may take, in milliseconds. */
const checkMs = 2_000;
/** How old the last heartbeat of a worker may be, in milliseconds. */
const beatAgeMaxMs = 10_000;

/** The result of one check. `todo` says what to do if it is not `ok`. */
export interface Check {
  ok: boolean;
  ms: number;
  reason?: string;
  todo?: string;
}

/** Whether the installation works: the result of each check, and warnings about problems that do not stop it. */
export interface Readiness {
  ready: boolean;
  checks: { database: Check; redis: Check; worker: Check };
  warnings: string[];
}

const late = (ms: number): Promise<never> =>
  new Promise((_, reject) => {
    setTimeout(() => reject(new Error(`no answer within ${ms} ms`)), ms).unref();
  });

async function check(run: () => Promise<void>, todo: string): Promise<Check> {
  const began = performance.now();
  const took = (): number => Math.round((performance.now() - began) * 10) / 10;
  try {
    await Promise.race([run(), late(checkMs)]);
    return { ok: true, ms: took() };
  } catch (error) {
    return { ok: false, ms: took(), reason: (error as Error).message, todo };
  }
}

async function checkBeat(platform: OpsPlatform): Promise<void> {
  const at = await platform.workerBeatAt();
  if (at === null) throw new Error('no worker sent a heartbeat in the last minute');
  const age = platform.now() - at;
  if (age > beatAgeMaxMs) throw new Error(`the last heartbeat of a worker is ${Math.round(age / 1000)} s old`);
}

/** Writes to the database, pings Redis and checks for the heartbeat of a worker. Never rejects; takes 2 s at most. */
export async function checkReadiness(platform: OpsPlatform): Promise<Readiness> {
  const [database, redis, worker, warnings] = await Promise.all([
    check(() => platform.db.probe(), 'Check that MongoDB runs, that MONGODB_URL names it, and that its disk is not full.'),
    check(() => platform.pingRedis(), 'Check that Redis runs and that REDIS_URL names it. Posts still work; events come late.'),
    check(() => checkBeat(platform), 'Start a worker (npm run worker), or check its log. Posts still work, but they are not delivered.'),
    Promise.race([platform.redisFacts().then(redisWarnings), late(checkMs)]).catch((): string[] => []),
  ]);
  return { ready: database.ok && redis.ok && worker.ok, checks: { database, redis, worker }, warnings };
}
