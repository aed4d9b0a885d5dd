import type { Context } from 'koa';
import { LRUCache } from 'lru-cache';
import { Refusal } from '../../../lib/base/errors.ts';
import type { ApiPlatform } from '../../../lib/store/platform.ts';
import type { CountedRate } from '../../../lib/store/redis/preflight.ts';
import { sha256 } from '../../../lib/store/seal.ts';
import type { Route } from '../route.ts';
import type { State } from '../state.ts';
import { type AddressCharges, maxRemembered } from './address-charges.ts';
import { setRateHeaders } from './rate-headers.ts';

/** How long a refusal is remembered, in milliseconds. */
const refusalLifeMs = 10_000;
/** After this many refusals within that time, a path waits for room in the bucket of its sender's address. */
const maxFreeRefusals = 5;

/** The refusals of one route and credential. `last` is a refusal that a repeat would get, too: until `untilMs`, in Unix milliseconds. */
interface PathRefusals {
  count: number;
  last: { refusal: Refusal; rate: CountedRate | null; atMs: number; untilMs: number } | null;
}

/** The check of credentials in paths, and what is remembered of their refusals. */
export interface PathCredentials {
  /** Runs the `checkPath` of a route. A refusal that is remembered is repeated without reading a store. Refuses `rate_limited` as well. */
  check(ctx: Context, route: Route, params: Record<string, string>, address: string): Promise<{ serverId: string } | void>;
  /** Charges a refused request, whose credential was right, to its address, and remembers the refusal. Does nothing for other errors. */
  chargeRefused(ctx: Context, route: Route, params: Record<string, string>, address: string, error: unknown): Promise<void>;
}

/** Creates the check of one process (docs/behavior/requests.md#rate-limits). */
export function createPathCredentials(platform: ApiPlatform, charges: AddressCharges): PathCredentials {
  const refusalsByPath = new LRUCache<string, PathRefusals>({ max: maxRemembered, ttl: refusalLifeMs });
  const toKey = (route: Route, params: Record<string, string>): string =>
    sha256(JSON.stringify([route.method, route.path, Object.values(params)]));

  const remember = (key: string, refusal: Refusal, rate: CountedRate | null, isFinal: boolean): void => {
    const atMs = platform.now();
    const isRate = refusal.code === 'rate_limited' && rate?.decision.isAllowed === false;
    const lifeMs = isRate ? Math.min(refusalLifeMs, rate.decision.retryAfterSecs * 1000) : refusalLifeMs;
    const count = (refusalsByPath.get(key)?.count ?? 0) + 1;
    refusalsByPath.set(key, {
      count,
      last: isRate || isFinal ? { refusal, rate: isRate ? rate : null, atMs, untilMs: atMs + lifeMs } : null,
    });
  };

  const repeat = (ctx: Context, { refusal, rate, atMs, untilMs }: NonNullable<PathRefusals['last']>): never => {
    if (rate === null) throw refusal;
    const passedSecs = (platform.now() - atMs) / 1000;
    const decision = {
      ...rate.decision,
      resetAfterSecs: Math.max(0, rate.decision.resetAfterSecs - passedSecs),
      retryAfterSecs: Math.max(0.001, (untilMs - platform.now()) / 1000),
    };
    setRateHeaders(ctx, rate.bucketName, decision);
    throw refusal;
  };

  return {
    async check(ctx, route, params, address) {
      const key = toKey(route, params);
      const known = refusalsByPath.get(key);
      // With an Idempotency-Key, the request may repeat one that succeeded.
      if (known?.last && known.last.untilMs > platform.now() && ctx.get('Idempotency-Key') === '') {
        if (known.last.refusal.code === 'not_found') await charges.chargeWrong(ctx, address);
        else await charges.charge(ctx, address);
        repeat(ctx, known.last);
      }
      if (known && known.count >= maxFreeRefusals) await charges.requireRoom(ctx, address);
      try {
        return await route.checkPath?.(platform, params);
      } catch (error) {
        if (error instanceof Refusal && error.code === 'not_found') {
          remember(key, error, null, true);
          await charges.chargeWrong(ctx, address);
        }
        throw error;
      }
    },
    async chargeRefused(ctx, route, params, address, error) {
      if (!(error instanceof Refusal) || error.status >= 500) return;
      remember(toKey(route, params), error, (ctx.state as State).rate ?? null, false);
      await charges.charge(ctx, address);
    },
  };
}
