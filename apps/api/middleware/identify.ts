import type { Context } from 'koa';
import { LRUCache } from 'lru-cache';
import { clientAddress } from '../../../lib/base/client-address.ts';
import { Refusal, refuse } from '../../../lib/base/errors.ts';
import { actorOf, type Credential, checkToken, tokenIdOf } from '../../../lib/domain/accounts/credentials.ts';
import { noteSessionUse } from '../../../lib/domain/accounts/sessions.ts';
import { type Actor, serverOfChannelHint } from '../../../lib/domain/members/access.ts';
import { type PageAhead, type PageStart, readPageAhead } from '../../../lib/domain/messages/message-pages.ts';
import type { ApiPlatform } from '../../../lib/store/platform.ts';
import type { Bucket, GateReply, Verdict } from '../../../lib/store/redis/throttle.ts';
import { sha256 } from '../../../lib/store/seal.ts';
import type { Route } from '../route.ts';
import { addressLogins } from './login-limits.ts';
import { applyVerdict } from './rate-headers.ts';
import { cookieName, tokenOf } from './session-cookie.ts';

/** Who calls, the id for what the request may create, and for a list of messages what was read with and beside the preflight. */
export interface Identified {
  actor: Actor | null;
  tokenId: string | null;
  newId: string;
  page: PageStart;
  address: string;
  /** The server that the route's `checkPath` returned, if any. */
  pathServerId: string | null;
}

type Rate = Pick<Bucket, 'perSecond' | 'burst'>;

function bucketFor(platform: ApiPlatform, route: Route, accountId: string | null, address: string): (Bucket & { name: string }) | null {
  const rate = platform.config.RATE_LIMIT;
  if (rate === null || route.rateLimit === 'none') return null;
  if (route.rateLimit === 'login') return { ...addressLogins(address), name: 'login' };
  if (accountId) return { key: accountId, perSecond: rate.perSecond, burst: rate.burst, name: 'caller' };
  return { ...addressBucket(rate, address), name: 'address' };
}

/** The bucket of an address. Its rate and burst are two fifths of a caller's. */
const addressBucket = ({ perSecond, burst }: Rate, address: string): Bucket => ({
  key: `address:${address}`,
  perSecond: (perSecond * 2) / 5,
  burst: (burst * 2) / 5,
});

/** How many addresses and tokens a process remembers for `createIdentify`. */
const remembered = 10_000;
/** This many wrong credentials of one address per minute are looked up even if its bucket is empty: clients behind a shared address may send old cookies. */
const freeLookups = 20;

/** How many wrong credentials an address has sent within a minute, and the last refusal of its bucket. */
interface WrongCredentials {
  count: number;
  refusal: { verdict: Verdict; untilMs: number } | null;
}

/** Identifies the caller of a route. */
export type Identify = (ctx: Context, route: Route, params: Record<string, string>) => Promise<Identified>;

/**
 * Creates the function that identifies callers. One preflight in Redis returns the rate limiter's decision, the versions of cached access data, and a message's
 * id. The caller's bucket is charged only after the secret has matched; a wrong credential is charged to the address. While the bucket of an address that has
 * sent many wrong credentials is empty, its tokens are refused without a database read, except those that this process has verified before. Refuses
 * `rate_limited`, `unauthorized` and `bots_not_allowed`.
 */
export function createIdentify(platform: ApiPlatform): Identify {
  const wrongByAddress = new LRUCache<string, WrongCredentials>({ max: remembered, ttl: 60_000 });
  /** The hash of the last valid token for each token id. */
  const provenHashes = new LRUCache<string, string>({ max: remembered });
  /** Until when the bucket of each caller is empty, in Unix milliseconds. Until then nothing is read for the caller beside the preflight. */
  const emptyUntilMs = new LRUCache<string, number>({ max: remembered });

  const refuseUnproven = (ctx: Context, address: string, token: string): void => {
    const { count = 0, refusal = null } = wrongByAddress.get(address) ?? {};
    const leftSecs = refusal ? (refusal.untilMs - platform.now()) / 1000 : 0;
    if (!refusal || count < freeLookups || leftSecs <= 0 || provenHashes.get(tokenIdOf(token) ?? '') === sha256(token)) return;
    applyVerdict(ctx, 'address', { ...refusal.verdict, retryAfterSecs: leftSecs });
  };

  const noteWrong = (address: string, verdict: Verdict | null): void => {
    const wrong = wrongByAddress.get(address) ?? { count: 0, refusal: null };
    wrong.count++;
    if (verdict?.allowed === false) wrong.refusal = { verdict, untilMs: platform.now() + verdict.retryAfterSecs * 1000 };
    if (wrong.count === 1) wrongByAddress.set(address, wrong);
  };

  /** Charges a wrong id and token in a path (`not_found`) to the address. Refuses `rate_limited` if its bucket is empty, else throws `error`. */
  const chargeFailure = async (ctx: Context, address: string, error: unknown): Promise<never> => {
    const rate = platform.config.RATE_LIMIT;
    if (rate && error instanceof Refusal && error.code === 'not_found') {
      const { verdict } = await platform.gate({ bucket: addressBucket(rate, address), versionsOf: [], wantId: false });
      if (verdict) applyVerdict(ctx, 'address', verdict);
    }
    throw error;
  };

  return async (ctx, route, params) => {
    const address = clientAddress(ctx.get('X-Forwarded-For'), ctx.req.socket.remoteAddress, platform.config.TRUST_PROXY);
    const presented = route.auth === 'none' ? null : tokenOf(ctx, platform.config.baseUrl);
    const token = presented?.token ?? null;
    const serverId = params.serverId ?? (params.channelId ? serverOfChannelHint(platform, params.channelId) : null);
    const known = new Map<string, string | null>();
    let ahead: PageAhead | null = null;
    const pass = async (accountId: string | null): Promise<GateReply> => {
      const bucket = bucketFor(platform, route, accountId, address);
      const readsChannel = route.readsMessages ? params.channelId : undefined;
      if (accountId !== null && readsChannel !== undefined && serverId !== null)
        ahead = readPageAhead(platform, readsChannel, ctx.query, (emptyUntilMs.get(accountId) ?? 0) <= platform.now());
      const versionsOf = [...new Set([accountId, accountId && serverId, ...(ahead?.authorIds ?? [])])].filter((id) => id !== null);
      const reply = await platform.gate({ bucket, versionsOf, wantId: route.takesClockId === true, readsChannel });
      reply.versions?.forEach((version, at) => known.set(versionsOf[at] as string, version));
      if (reply.versions === null) for (const id of versionsOf) known.set(id, null);
      const { verdict } = reply;
      if (accountId === null && token !== null) noteWrong(address, verdict);
      if (accountId !== null && verdict?.allowed === false) emptyUntilMs.set(accountId, platform.now() + verdict.retryAfterSecs * 1000);
      if (bucket && verdict) applyVerdict(ctx, bucket.name, verdict);
      return reply;
    };
    if (route.auth === 'none') {
      const owner = await route.checkPath?.(platform, params).catch((error: unknown) => chargeFailure(ctx, address, error));
      const reply = await pass(null);
      const newId = reply.id ?? platform.ids.next();
      return {
        actor: null,
        tokenId: null,
        newId,
        page: { horizon: null, versions: known, ahead },
        address,
        pathServerId: owner?.serverId ?? null,
      };
    }
    let reply: GateReply | null = null;
    const versionOf = async (accountId: string): Promise<string | null> => {
      if (!known.has(accountId)) reply = await pass(accountId);
      return known.get(accountId) ?? null;
    };
    const credential: Credential | null = token
      ? await checkToken(platform, token, versionOf, () => refuseUnproven(ctx, address, token))
      : null;
    if (!credential) await pass(null);
    if (!credential || (credential.account.kind === 'bot') !== presented?.bot)
      return refuse('unauthorized', {
        hint: `Missing or invalid credentials. Send \`Authorization: Bot <token>\` or \`Bearer <token>\`, or the cookie ${cookieName}`,
      });
    noteSessionUse(platform, credential.token, address);
    provenHashes.set(credential.token._id, credential.token.hash);
    const actor = actorOf(platform, credential.account, known);
    if (route.auth === 'person' && actor.bot) refuse('bots_not_allowed');
    return {
      actor,
      tokenId: credential.token._id,
      newId: (reply as GateReply | null)?.id ?? platform.ids.next(),
      page: { horizon: (reply as GateReply | null)?.horizon ?? null, versions: known, ahead },
      address,
      pathServerId: null,
    };
  };
}
