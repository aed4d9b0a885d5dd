import type { Context } from 'koa';
import { LRUCache } from 'lru-cache';
import { readClientAddress } from '../../../lib/base/client-address.ts';
import { Refusal, refuse } from '../../../lib/base/errors.ts';
import { limits } from '../../../lib/base/limits.ts';
import { type Credential, checkToken, createActor, parseTokenId } from '../../../lib/domain/accounts/credentials.ts';
import { recordSessionUse } from '../../../lib/domain/accounts/sessions.ts';
import { type Actor, getCachedServerId } from '../../../lib/domain/members/access.ts';
import { type MessagePreflight, type PrefetchedPage, prefetchPage } from '../../../lib/domain/messages/message-pages.ts';
import type { ApiPlatform } from '../../../lib/store/platform.ts';
import { type Bucket, countInBucket, type PreflightResult, type RateDecision } from '../../../lib/store/redis/preflight.ts';
import { sha256 } from '../../../lib/store/seal.ts';
import type { Route } from '../route.ts';
import { toAddressLoginBucket } from './login-limits.ts';
import { setRateHeaders } from './rate-headers.ts';
import { cookieName, readToken } from './session-cookie.ts';

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

type Rate = Pick<Bucket, 'perSecond' | 'burst'>;

function chooseBucket(platform: ApiPlatform, route: Route, accountId: string | null, address: string): (Bucket & { name: string }) | null {
  const rate = platform.config.RATE_LIMIT;
  if (rate === null || route.rateLimit === 'none') return null;
  if (route.rateLimit === 'login') return { ...toAddressLoginBucket(address), name: 'login' };
  if (accountId) return { key: accountId, perSecond: rate.perSecond, burst: rate.burst, name: 'caller' };
  return { ...toAddressBucket(rate, address), name: 'address' };
}

/** The bucket of an address. Its rate and burst are two fifths of a caller's. */
export const toAddressBucket = ({ perSecond, burst }: Rate, address: string): Bucket => ({
  key: `address:${address}`,
  perSecond: perSecond / limits.addressRateDivisor,
  burst: burst / limits.addressRateDivisor,
});

/** How many addresses and tokens a process remembers for `createIdentify`. */
const maxRemembered = 10_000;
/** This many wrong credentials of one address per minute are looked up even if its bucket is empty: clients behind a shared address may send old cookies. */
const maxFreeLookups = 20;

/** How many wrong credentials an address has sent within a minute, and the last refusal of its bucket. */
interface WrongCredentials {
  wrongCount: number;
  refusal: { decision: RateDecision; untilMs: number } | null;
}

/** Identifies the caller of a route. */
export type Identify = (ctx: Context, route: Route, params: Record<string, string>) => Promise<IdentifiedRequest>;

/**
 * Creates the function that identifies callers. One preflight in Redis returns the rate limiter's decision, the versions of cached access data, and a message's
 * id. The caller's bucket is charged only after the secret has matched; a wrong credential is charged to the address. While the bucket of an address that has
 * sent many wrong credentials is empty, its tokens are refused without a database read, except those that this process has verified before. Refuses
 * `rate_limited`, `unauthorized` and `bots_not_allowed`.
 */
export function createIdentify(platform: ApiPlatform): Identify {
  const wrongByAddress = new LRUCache<string, WrongCredentials>({ max: maxRemembered, ttl: 60_000 });
  /** The hash of the last valid token for each token id. */
  const verifiedHashes = new LRUCache<string, string>({ max: maxRemembered });
  /** Until when the bucket of each caller is empty, in Unix milliseconds. Until then nothing is read for the caller beside the preflight. */
  const emptyUntilMs = new LRUCache<string, number>({ max: maxRemembered });

  const refuseUnverified = (ctx: Context, address: string, token: string): void => {
    const { wrongCount = 0, refusal = null } = wrongByAddress.get(address) ?? {};
    const remainingSecs = refusal ? (refusal.untilMs - platform.now()) / 1000 : 0;
    if (!refusal || wrongCount < maxFreeLookups || remainingSecs <= 0 || verifiedHashes.get(parseTokenId(token) ?? '') === sha256(token))
      return;
    setRateHeaders(ctx, 'address', { ...refusal.decision, retryAfterSecs: remainingSecs });
  };

  const countWrongCredentials = (address: string, decision: RateDecision | null): void => {
    const wrongCredentials = wrongByAddress.get(address) ?? { wrongCount: 0, refusal: null };
    wrongCredentials.wrongCount++;
    if (decision?.isAllowed === false) wrongCredentials.refusal = { decision, untilMs: platform.now() + decision.retryAfterSecs * 1000 };
    if (wrongCredentials.wrongCount === 1) wrongByAddress.set(address, wrongCredentials);
  };

  /** Charges a wrong id and token in a path (`not_found`) to the address. Refuses `rate_limited` if its bucket is empty, else throws `error`. */
  const chargeFailure = async (ctx: Context, address: string, error: unknown): Promise<never> => {
    const rate = platform.config.RATE_LIMIT;
    if (rate && error instanceof Refusal && error.code === 'not_found') {
      const decision = await countInBucket(platform.preflight, toAddressBucket(rate, address));
      if (decision) setRateHeaders(ctx, 'address', decision);
    }
    throw error;
  };

  return async (ctx, route, params) => {
    const address = readClientAddress(ctx.req, platform.config.TRUST_PROXY);
    const presented = route.auth === 'none' ? null : readToken(ctx, platform.config.baseUrl);
    const token = presented?.token ?? null;
    const serverId = params.serverId ?? (params.channelId ? getCachedServerId(platform, params.channelId) : null);
    const versions = new Map<string, string | null>();
    let prefetched: PrefetchedPage | null = null;
    const runPreflight = async (accountId: string | null): Promise<PreflightResult> => {
      const bucket = chooseBucket(platform, route, accountId, address);
      const readsChannel = route.readsMessages ? params.channelId : undefined;
      if (accountId !== null && readsChannel !== undefined && serverId !== null)
        prefetched = prefetchPage(platform, readsChannel, ctx.query, (emptyUntilMs.get(accountId) ?? 0) <= platform.now());
      const versionsOf = [...new Set([accountId, accountId && serverId, ...(prefetched?.authorIds ?? [])])].filter((id) => id !== null);
      const reply = await platform.preflight({ bucket, versionsOf, needsId: route.usesClockId === true, readsChannel });
      reply.versions?.forEach((version, index) => versions.set(versionsOf[index] as string, version));
      if (reply.versions === null) for (const id of versionsOf) versions.set(id, null);
      const { decision } = reply;
      if (accountId === null && token !== null) countWrongCredentials(address, decision);
      if (accountId !== null && decision?.isAllowed === false) emptyUntilMs.set(accountId, platform.now() + decision.retryAfterSecs * 1000);
      if (bucket && decision) setRateHeaders(ctx, bucket.name, decision);
      return reply;
    };
    if (route.auth === 'none') {
      const pathOwner = await route.checkPath?.(platform, params).catch((error: unknown) => chargeFailure(ctx, address, error));
      const reply = await runPreflight(null);
      const newId = reply.id ?? platform.ids.next();
      return {
        actor: null,
        tokenId: null,
        newId,
        page: { horizon: null, versions, prefetched },
        address,
        pathServerId: pathOwner?.serverId ?? null,
      };
    }
    let reply: PreflightResult | null = null;
    const readVersion = async (accountId: string): Promise<string | null> => {
      if (!versions.has(accountId)) reply = await runPreflight(accountId);
      return versions.get(accountId) ?? null;
    };
    const credential: Credential | null = token
      ? await checkToken(platform, token, readVersion, () => refuseUnverified(ctx, address, token))
      : null;
    if (!credential) await runPreflight(null);
    if (!credential || (credential.account.kind === 'bot') !== presented?.isBot)
      return refuse('unauthorized', {
        hint: `Missing or invalid credentials. Send \`Authorization: Bot <token>\` or \`Bearer <token>\`, or the cookie ${cookieName}`,
      });
    recordSessionUse(platform, credential.token, address);
    verifiedHashes.set(credential.token._id, credential.token.hash);
    const actor = createActor(platform, credential.account, versions);
    if (route.auth === 'person' && actor.isBot) refuse('bots_not_allowed');
    return {
      actor,
      tokenId: credential.token._id,
      newId: (reply as PreflightResult | null)?.id ?? platform.ids.next(),
      page: { horizon: (reply as PreflightResult | null)?.horizon ?? null, versions, prefetched },
      address,
      pathServerId: null,
    };
  };
}
