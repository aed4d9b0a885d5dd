import type { Context } from 'koa';
import { LRUCache } from 'lru-cache';
import { readClientAddress } from '../../lib/base/client-address.ts';
import { Refusal, refuse } from '../../lib/base/errors.ts';
import { type Actor, getCachedServerId } from '../../lib/domain/access/checks.ts';
import {
  createActor,
  findCachedCredential,
  isCurrent,
  parseTokenId,
  readCredential,
  readTokenAccountId,
} from '../../lib/domain/access/credentials.ts';
import { recordSessionUse } from '../../lib/domain/accounts/sessions.ts';
import { type MessagePreflight, type PrefetchedPage, prefetchPage } from '../../lib/domain/messages/pages.ts';
import type { ApiPlatform } from '../../lib/store/platform.ts';
import { type Bucket, countInBucket, type PreflightResult } from '../../lib/store/redis/preflight.ts';
import { type AddressCharges, maxRemembered, toAddressBucket } from './limits/address-charges.ts';
import { getDeclaredCost, getReceivedCost } from './limits/body-size.ts';
import { toAddressLoginBucket } from './limits/logins.ts';
import { createOwnerBudget } from './limits/owner-budget.ts';
import type { PathCredentials } from './limits/path-credentials.ts';
import { setRateHeaders } from './limits/rate-headers.ts';
import type { Route } from './route.ts';
import { accountHeader, cookieName, readToken } from './session-cookie.ts';
import type { State } from './state.ts';

/** Who calls, the id for what the request may create, and for a list of messages what was read with and beside the preflight. */
export interface IdentifiedRequest {
  actor: Actor | null;
  tokenId: string | null;
  newId: string;
  page: MessagePreflight;
  address: string;
  /** The server that the route's `checkPath` returned, if any. */
  pathServerId: string | null;
}

const isCountedBySize = (ctx: Context, { body }: Route): boolean => body?.isCountedBySize(ctx) ?? true;

function chooseBucket(
  ctx: Context,
  platform: ApiPlatform,
  route: Route,
  accountId: string | null,
  address: string,
): (Bucket & { name: string }) | null {
  const rate = platform.config.RATE_LIMIT;
  const cost = isCountedBySize(ctx, route) ? getDeclaredCost(ctx) : 1;
  if (rate === null || route.rateLimit === 'none') return null;
  if (route.rateLimit === 'login') return { ...toAddressLoginBucket(address), name: 'login' };
  if (accountId) return { key: accountId, perSecond: rate.perSecond, burst: rate.burst, cost, name: 'caller' };
  return { ...toAddressBucket(rate, address), cost, name: 'address' };
}

/**
 * Charges a refused request for a body whose length it did not declare, or that was compressed: to the bucket that the request was charged to. Later requests
 * wait until the bucket has made up for it.
 */
export async function chargeUndeclaredBody(
  ctx: Context,
  platform: ApiPlatform,
  route: Route,
  { actor, address }: IdentifiedRequest,
  error: unknown,
): Promise<void> {
  if (!(error instanceof Refusal) || error.status >= 500 || !isCountedBySize(ctx, route)) return;
  const cost = getReceivedCost(ctx) - getDeclaredCost(ctx);
  const bucket = cost > 0 ? chooseBucket(ctx, platform, route, actor?.id ?? null, address) : null;
  if (bucket) await countInBucket(platform.preflight, { ...bucket, cost, isForced: true });
}

/** Identifies the caller of a route. */
export type Identify = (ctx: Context, route: Route, params: Record<string, string>) => Promise<IdentifiedRequest>;

/**
 * Creates the function that identifies callers, in one pass: the account that the token claims, the preflight, the credential, the owner's budget. One preflight
 * in Redis returns the rate limiter's decision, the versions of cached access data, and a message's id. The caller's bucket is charged only after the secret has
 * matched; a wrong credential is charged to the address. An address that has sent many wrong credentials is charged before its tokens are read from the
 * database, except for those that this process has verified before. Refuses `rate_limited`, `unauthorized` and `bots_not_allowed`.
 */
export function createIdentify(platform: ApiPlatform, charges: AddressCharges, pathCredentials: PathCredentials): Identify {
  const countForOwner = createOwnerBudget(platform);
  /** Until when the bucket of each caller is empty, in Unix milliseconds. Until then nothing is read for the caller beside the preflight. */
  const emptyUntilMs = new LRUCache<string, number>({ max: maxRemembered });

  return async (ctx, route, params) => {
    const address = readClientAddress(ctx.req, platform.config.TRUST_PROXY);
    const pathOwner = route.checkPath ? await pathCredentials.check(ctx, route, params, address) : undefined;
    const presented = route.auth === 'none' ? null : readToken(ctx, platform.config.baseUrl);
    const token = presented?.token ?? null;
    const cached = token === null ? null : findCachedCredential(platform, token);
    let accountId = cached?.account._id ?? null;
    if (token !== null && cached === null && parseTokenId(token) !== null) {
      await charges.requireRoom(ctx, address, token);
      accountId = await readTokenAccountId(platform, token);
    }

    const serverId = params.serverId ?? (params.channelId ? getCachedServerId(platform, params.channelId) : null);
    const versions = new Map<string, string | null>();
    let prefetched: PrefetchedPage | null = null;
    const runPreflight = async (callerId: string | null): Promise<PreflightResult> => {
      const isCharged = callerId === null && (ctx.state as State).isChargedToAddress === true;
      const bucket = isCharged ? null : chooseBucket(ctx, platform, route, callerId, address);
      const readsChannel = route.readsMessages ? params.channelId : undefined;
      if (callerId !== null && readsChannel !== undefined && serverId !== null)
        prefetched = prefetchPage(platform, readsChannel, ctx.query, (emptyUntilMs.get(callerId) ?? 0) <= platform.now());
      const versionsOf = [...new Set([callerId, callerId && serverId, ...(prefetched?.authorIds ?? [])])].filter((id) => id !== null);
      const result = await platform.preflight({ bucket, versionsOf, needsId: route.usesClockId === true, readsChannel });
      versionsOf.forEach((id, index) => versions.set(id, result.versions?.[index] ?? null));
      const { decision } = result;
      if (bucket?.name === 'address' && (token !== null || decision?.isAllowed === false)) await charges.count(address, decision);
      if (callerId !== null && decision?.isAllowed === false) emptyUntilMs.set(callerId, platform.now() + decision.retryAfterSecs * 1000);
      if (bucket && decision) setRateHeaders(ctx, bucket.name, decision);
      return result;
    };
    const { id, horizon } = await runPreflight(accountId);
    const found = {
      newId: id ?? platform.ids.next(),
      page: { horizon, versions, prefetched },
      address,
      pathServerId: pathOwner?.serverId ?? null,
    };
    if (route.auth === 'none') return { ...found, actor: null, tokenId: null };

    const version = accountId === null ? null : (versions.get(accountId) ?? null);
    let credential = cached && isCurrent(cached, version) ? cached : null;
    if (!credential && token !== null && accountId !== null) {
      credential = await readCredential(platform, token, accountId, version);
      if (!credential) await runPreflight(null);
    }
    if (!credential || (credential.account.kind === 'bot') !== presented?.isBot)
      return refuse('unauthorized', {
        hint: `Missing or invalid credentials. Send \`Authorization: Bot <token>\` or \`Bearer <token>\`, or the cookie ${cookieName}`,
      });
    const namedAccountId = ctx.get(accountHeader);
    if (namedAccountId !== '' && namedAccountId !== credential.account._id)
      return refuse('unauthorized', { hint: `The credentials are not those of the account that ${accountHeader} names` });
    recordSessionUse(platform, credential.token, address);
    charges.confirm(token as string);
    await countForOwner(ctx, credential.account);
    const actor = createActor(platform, credential.account, versions);
    if (route.auth === 'person' && actor.isBot) refuse('bots_not_allowed');
    return { ...found, actor, tokenId: credential.token._id };
  };
}
