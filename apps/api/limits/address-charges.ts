import type { Context } from 'koa';
import { LRUCache } from 'lru-cache';
import { delayRefusal } from '../../../lib/base/delay-refusal.ts';
import { limits } from '../../../lib/base/limits.ts';
import type { ApiPlatform } from '../../../lib/store/platform.ts';
import { type Bucket, countInBucket, type RateDecision } from '../../../lib/store/redis/preflight.ts';
import { sha256 } from '../../../lib/store/seal.ts';
import type { State } from '../state.ts';
import { getReceivedCost } from './body-size.ts';
import { setRateHeaders } from './rate-headers.ts';

type Rate = Pick<Bucket, 'perSecond' | 'burst'>;

/** The bucket of an address. Its rate and burst are two fifths of a caller's. */
export const toAddressBucket = ({ perSecond, burst }: Rate, address: string): Bucket => ({
  key: `address:${address}`,
  perSecond: perSecond / limits.addressRateDivisor,
  burst: burst / limits.addressRateDivisor,
});

/** How many addresses, and how many credentials, a process remembers. */
export const maxRemembered = 10_000;
/**
 * After this many refusals in a minute, an address is suspect. Before that, its credentials are looked up even if its bucket is empty: clients behind a shared
 * address may send old cookies.
 */
const maxFreeLookups = 20;

/** How many requests of an address were refused within a minute, and the last refusal of its bucket. */
interface Refusals {
  count: number;
  empty: { decision: RateDecision; untilMs: number } | null;
}

/** What requests with a wrong credential, and refused ones without an account, cost their address (docs/behavior/requests.md#rate-limits). */
export interface AddressCharges {
  /** Counts a refusal that was charged to the address with the result `decision`. Resolves when it may be answered. */
  count(address: string, decision: RateDecision | null): Promise<void>;
  /**
   * Is called before the database is read for `credential`. For a suspect address, charges the request now, unless this process has confirmed the credential
   * before. Refuses `rate_limited` if the bucket is empty; as long as it is known to be empty, without a request to Redis.
   */
  requireRoom(ctx: Context, address: string, credential?: string): Promise<void>;
  /** Remembers that `credential` is right. */
  confirm(credential: string): void;
  /** Charges a refused request to its address, if that was not done yet. Returns the decision; null if there is none, as with RATE_LIMIT=off. */
  charge(ctx: Context, address: string): Promise<RateDecision | null>;
  /** Charges a wrong credential. Refuses `rate_limited` if the bucket is empty, and sets the rate limit headers. */
  chargeWrong(ctx: Context, address: string): Promise<void>;
}

/**
 * Creates what one process remembers of the refusals of addresses. While the bucket of a suspect address is empty, its refusals are answered later
 * (`delayRefusal`).
 */
export function createAddressCharges(platform: Pick<ApiPlatform, 'config' | 'now' | 'preflight'>): AddressCharges {
  const rate = platform.config.RATE_LIMIT;
  const refusalsByAddress = new LRUCache<string, Refusals>({ max: maxRemembered, ttl: 60_000 });
  /** Hashes of credentials that were right. */
  const confirmed = new LRUCache<string, true>({ max: maxRemembered });

  const isSuspect = (address: string): boolean => (refusalsByAddress.get(address)?.count ?? 0) >= maxFreeLookups;

  const count = async (address: string, decision: RateDecision | null): Promise<void> => {
    const refusals = refusalsByAddress.get(address) ?? { count: 0, empty: null };
    refusals.count++;
    if (decision?.isAllowed === false) refusals.empty = { decision, untilMs: platform.now() + decision.retryAfterSecs * 1000 };
    if (refusals.count === 1) refusalsByAddress.set(address, refusals);
    if (decision?.isAllowed === false && isSuspect(address)) await delayRefusal();
  };

  /** The refusal of the bucket of a suspect address, while it is known to be empty. */
  const findEmpty = (address: string): RateDecision | null => {
    const { empty = null } = refusalsByAddress.get(address) ?? {};
    const retryAfterSecs = empty ? (empty.untilMs - platform.now()) / 1000 : 0;
    return empty && retryAfterSecs > 0 && isSuspect(address) ? { ...empty.decision, retryAfterSecs } : null;
  };

  async function charge(ctx: Context, address: string): Promise<RateDecision | null> {
    const state = ctx.state as State;
    if (rate === null || state.isChargedToAddress) return null;
    state.isChargedToAddress = true;
    const known = findEmpty(address);
    if (known) {
      await delayRefusal();
      return known;
    }
    const decision = await countInBucket(platform.preflight, { ...toAddressBucket(rate, address), cost: getReceivedCost(ctx) });
    await count(address, decision);
    return decision;
  }

  async function chargeWrong(ctx: Context, address: string): Promise<void> {
    const decision = await charge(ctx, address);
    if (decision) setRateHeaders(ctx, 'address', decision);
  }

  return {
    count,
    charge,
    chargeWrong,
    async requireRoom(ctx, address, credential) {
      if (isSuspect(address) && !(credential !== undefined && confirmed.has(sha256(credential)))) await chargeWrong(ctx, address);
    },
    confirm: (credential) => void confirmed.set(sha256(credential), true),
  };
}
