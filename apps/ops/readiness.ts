import type { OpsPlatform } from '../../lib/store/platform.ts';
import { listRedisWarnings } from '../../lib/store/redis/redis-info.ts';

/** How long one check may take, in milliseconds. */
const checkMs = 2_000;
/** How old the last heartbeat of a worker may be, in milliseconds. */
const maxHeartbeatAgeMs = 10_000;

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

const timeout = (ms: number): Promise<never> =>
  new Promise((_, reject) => {
    setTimeout(() => reject(new Error(`no response within ${ms} ms`)), ms).unref();
  });

async function check(run: () => Promise<void>, todo: string): Promise<Check> {
  const began = performance.now();
  const elapsedMs = (): number => Math.round((performance.now() - began) * 10) / 10;
  try {
    await Promise.race([run(), timeout(checkMs)]);
    return { ok: true, ms: elapsedMs() };
  } catch (error) {
    return { ok: false, ms: elapsedMs(), reason: (error as Error).message, todo };
  }
}

async function checkHeartbeat(platform: OpsPlatform): Promise<void> {
  const at = await platform.readWorkerHeartbeat();
  if (at === null) throw new Error('no worker sent a heartbeat in the last minute');
  const age = platform.now() - at;
  if (age > maxHeartbeatAgeMs) throw new Error(`the last heartbeat of a worker is ${Math.round(age / 1000)} s old`);
}

/** Writes to the database, pings Redis and checks for the heartbeat of a worker. Never rejects; takes 2 s at most. */
export async function checkReadiness(platform: OpsPlatform): Promise<Readiness> {
  const [database, redis, worker, warnings] = await Promise.all([
    check(
      () => platform.db.checkWritable(),
      'Check that MongoDB is running, that MONGODB_URL is its address, and that its disk is not full.',
    ),
    check(
      () => platform.pingRedis(),
      'Check that Redis is running and that REDIS_URL is its address. Messages can still be sent, but their events are late.',
    ),
    check(
      () => checkHeartbeat(platform),
      'Start a worker (npm run worker), or check its log. Messages can still be sent, but they are not delivered.',
    ),
    Promise.race([platform.readRedisInfo().then(listRedisWarnings), timeout(checkMs)]).catch((): string[] => []),
  ]);
  return { ready: database.ok && redis.ok && worker.ok, checks: { database, redis, worker }, warnings };
}
