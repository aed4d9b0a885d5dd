import type { Context } from 'koa';
import { LRUCache } from 'lru-cache';
import { limits } from '../../../lib/base/limits.ts';
import { readById } from '../../../lib/store/mongo/batched-reads.ts';
import type { AccountDoc } from '../../../lib/store/mongo/models/account.ts';
import type { ApiPlatform } from '../../../lib/store/platform.ts';
import { countInBucket, type RateDecision } from '../../../lib/store/redis/preflight.ts';
import { maxRemembered } from './address-charges.ts';
import { setRateHeaders } from './rate-headers.ts';

/** How many requests a process takes from the budget of an owner at once, to save requests to Redis. */
const stepRequests = 10;

/** What a process has taken from the budget of an owner. */
interface Budget {
  /** The requests that were taken and not made yet. */
  left: number;
  /** The running request to Redis that takes more. */
  taking: Promise<void> | null;
  empty: { decision: RateDecision; untilMs: number } | null;
}

/** Counts a request of a bot in the budget of its owner. Refuses `rate_limited` when it is empty. Does nothing for people. */
export type CountForOwner = (ctx: Context, account: AccountDoc) => Promise<void>;

/**
 * Creates the budgets of the owners of applications: all bots of one person have five times the rate and burst of one caller together
 * (docs/behavior/requests.md#rate-limits). All processes share a budget, and each takes 10 requests of it at once.
 */
export function createOwnerBudget(platform: ApiPlatform): CountForOwner {
  const rate = platform.config.RATE_LIMIT;
  const budgets = new LRUCache<string, Budget>({ max: maxRemembered });
  const ownerIds = new LRUCache<string, string>({ max: maxRemembered });

  async function findOwner(applicationId: string): Promise<string | null> {
    const known = ownerIds.get(applicationId);
    if (known !== undefined) return known;
    const application = await readById(platform.db.applications, applicationId);
    if (application) ownerIds.set(applicationId, application.ownerId);
    return application?.ownerId ?? null;
  }

  async function take(budget: Budget, ownerId: string, { perSecond, burst }: NonNullable<typeof rate>): Promise<void> {
    const owned = { perSecond: perSecond * limits.ownerBudgetFactor, burst: burst * limits.ownerBudgetFactor };
    const cost = Math.max(1, Math.min(stepRequests, Math.floor(owned.burst)));
    const decision = await countInBucket(platform.preflight, { key: `owner:${ownerId}`, ...owned, cost });
    if (decision?.isAllowed !== false) budget.left += cost;
    else budget.empty = { decision, untilMs: platform.now() + decision.retryAfterSecs * 1000 };
  }

  return async (ctx, { applicationId }) => {
    const ownerId = rate === null || applicationId === null ? null : await findOwner(applicationId);
    if (rate === null || ownerId === null) return;
    const budget = budgets.get(ownerId) ?? { left: 0, taking: null, empty: null };
    budgets.set(ownerId, budget);
    while (budget.left === 0) {
      const leftSecs = budget.empty ? (budget.empty.untilMs - platform.now()) / 1000 : 0;
      if (budget.empty && leftSecs > 0) return setRateHeaders(ctx, 'owner', { ...budget.empty.decision, retryAfterSecs: leftSecs });
      budget.taking ??= take(budget, ownerId, rate).finally(() => {
        budget.taking = null;
      });
      await budget.taking;
    }
    budget.left--;
  };
}
