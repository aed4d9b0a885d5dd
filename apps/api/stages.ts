import { createHash } from 'node:crypto';
import { create as createDisposition } from 'content-disposition';
import type { Context, ParameterizedContext } from 'koa';
import { refuse } from '../../lib/base/errors.ts';
import { limits } from '../../lib/base/limits.ts';
import { countCodePoints } from '../../lib/base/text.ts';
import type { Actor } from '../../lib/domain/access/checks.ts';
import { findServerIdOfChannel, runManagementWrite } from '../../lib/domain/access/management-writes.ts';
import { runIdempotently, type StoredResponse } from '../../lib/domain/idempotency.ts';
import type { ApiPlatform } from '../../lib/store/platform.ts';
import { type BodySlots, type ReadBody, removeLocalFiles } from './bodies/reader.ts';
import { matchesEtag } from './etag.ts';
import { chargeUndeclaredBody, type IdentifiedRequest, type Identify } from './identify.ts';
import type { RunCostlyRead } from './limits/costly-reads.ts';
import type { PathCredentials } from './limits/path-credentials.ts';
import { setRateHeaders } from './limits/rate-headers.ts';
import { ticketCookie } from './middleware/sign-in.ts';
import { readQuery, setNextPage } from './query.ts';
import { FileBody, Reply, type Route, SerializedBody } from './route.ts';
import { readCookie, setCookie, setSessionCookie } from './session-cookie.ts';
import type { State } from './state.ts';
import { warnOfParameters } from './warnings.ts';

/** What the stages share that lives as long as the process. */
interface Stages {
  platform: ApiPlatform;
  slots: BodySlots;
  identify: Identify;
  pathCredentials: PathCredentials;
  runCostlyRead: RunCostlyRead;
}

/** A request of a route, and who makes it. */
interface IdentifiedCall {
  ctx: Context;
  route: Route;
  params: Record<string, string>;
  identified: IdentifiedRequest;
}

/** The response of a route. The body is a string, the bytes of a `SerializedBody`, or a `FileBody`. */
interface RouteResponse {
  status: number;
  body: string | Buffer | FileBody;
}

const noBody: ReadBody = { value: undefined, fingerprint: undefined, paths: [] };

/** Stage `repeat`: answers a request that repeats an earlier one by its Idempotency-Key, and otherwise goes on, once for each key. */
async function runOnce(platform: ApiPlatform, call: IdentifiedCall, { value, fingerprint }: ReadBody): Promise<RouteResponse> {
  const { ctx, route, identified } = call;
  const { actor, address, newId } = identified;
  const key = route.creates ? ctx.get('Idempotency-Key') : '';
  const query = route.query ? readQuery(route.query, ctx.query) : {};
  if (key === '') return admitAndRun(platform, call, { query, body: value, newId, isRepeatable: false });
  if (countCodePoints(key) > limits.idempotencyKeyChars)
    return refuse('invalid_request', { reason: `Idempotency-Key is longer than ${limits.idempotencyKeyChars} characters` });
  const create = {
    caller: actor?.id ?? address,
    route: `${route.method} ${ctx.path}`,
    key,
    body: fingerprint,
    newId,
    secret: route.creates === 'secret',
  };
  return runIdempotently(platform, create, async (id) => {
    const response = await admitAndRun(platform, call, { query, body: value, newId: id, isRepeatable: true });
    return response as StoredResponse; // routes with `creates` return JSON only
  });
}

/** Stages `admit` and `run`. What manages a server runs in a management write. */
async function admitAndRun(
  platform: ApiPlatform,
  { ctx, route, params, identified }: IdentifiedCall,
  given: { query: Record<string, unknown>; body: unknown; newId: string; isRepeatable: boolean },
): Promise<RouteResponse> {
  const { actor, tokenId, page, address } = identified;
  const { baseUrl } = platform.config;
  const client = { address, userAgent: ctx.get('User-Agent'), tokenId };
  const signInTicket = readCookie(ctx, baseUrl, ticketCookie);
  const input = { ...given, params, page, address, client, tokenId, signInTicket, found: undefined };
  const { rates, found } = route.admit ? await route.admit(platform, actor, input) : { rates: [], found: undefined };
  for (const { bucketName, decision } of rates) setRateHeaders(ctx, bucketName, decision);
  const run = (current: Actor | null): ReturnType<Route['run']> => route.run(platform, current, { ...input, found });
  const managedServerId = route.manages && actor ? await findManagedServer(platform, route, params, given.body) : null;
  const result = await (managedServerId && actor ? runManagementWrite(platform, actor, managedServerId, run) : run(actor));
  return toResponse(ctx, baseUrl, route, result);
}

/** The server that a call of a route with `manages` writes to; null when there is none. */
async function findManagedServer(
  platform: ApiPlatform,
  route: Route,
  params: Record<string, string>,
  body: unknown,
): Promise<string | null> {
  if (typeof route.manages === 'function') return route.manages(platform, params, body);
  return params.serverId ?? (params.channelId ? findServerIdOfChannel(platform, params.channelId) : null);
}

/** The bytes of a serialized body in an encoding that the client accepts. Browsers may keep a document for everyone, and ask whether it has changed. */
function encodeBody(ctx: Context, { json, gzip }: SerializedBody): Buffer {
  if (!gzip) return json;
  ctx.set({ 'Cache-Control': 'no-cache', Vary: 'Accept-Encoding' });
  if (ctx.acceptsEncodings('gzip', 'identity') !== 'gzip') return json;
  ctx.set('Content-Encoding', 'gzip');
  return gzip;
}

/** Sets the headers of a reply, and returns its status and body. */
function toResponse(ctx: Context, baseUrl: string, route: Route, result: unknown): RouteResponse {
  const { body, parts } = result instanceof Reply ? result : new Reply(result);
  const { status = route.reply.status, next, sessionCookie, signInTicket } = parts;
  if (next !== undefined) setNextPage(ctx, baseUrl, next);
  if (signInTicket !== undefined) setCookie(ctx, baseUrl, ticketCookie, signInTicket);
  if (sessionCookie !== undefined) setSessionCookie(ctx, baseUrl, sessionCookie);
  if (body instanceof SerializedBody) return { status, body: encodeBody(ctx, body) };
  if (body instanceof FileBody) return { status, body };
  return { status, body: body === undefined ? '' : JSON.stringify(body) };
}

/** Stage `reply`. */
function send(ctx: Context, route: Route, { status, body }: RouteResponse): void {
  ctx.status = status;
  if (body === '') {
    ctx.body = null;
    ctx.status = status;
    return;
  }
  if (body instanceof FileBody) {
    ctx.body = body.stream;
    ctx.set('Content-Type', route.reply.file ?? 'application/octet-stream');
    ctx.set('Content-Disposition', createDisposition(body.filename, { type: 'attachment' }));
    ctx.set('Content-Length', String(body.bytes));
    return;
  }
  ctx.type = 'application/json';
  ctx.body = body;
  if (!route.reply.hasEtag || status !== 200) return;
  const etag = `"${createHash('sha256').update(body).digest('base64url')}"`;
  ctx.set('ETag', etag);
  if (matchesEtag(ctx, etag)) ctx.status = 304;
}

/**
 * Handles the requests of a route, in stages (docs/architecture.md#request): `identify`, `body`, `repeat`, `admit`, `run`, `reply`. The first refusal ends a
 * request; what it cost is then charged.
 */
export function createHandler(stages: Stages, route: Route): (ctx: ParameterizedContext<State> & { params: unknown }) => Promise<void> {
  const { platform, slots, identify, pathCredentials, runCostlyRead } = stages;
  const answer = async (call: IdentifiedCall): Promise<RouteResponse> => {
    const { ctx, params, identified } = call;
    const { actor, address, pathServerId } = identified;
    const body = route.body ? await route.body.read({ ctx, platform, slots, actor, params, address, pathServerId }) : noBody;
    try {
      // Files may take long. So the caller is identified again, for the current permissions, and for a message's id from after the files have come.
      const current = body.paths.length > 0 ? await identify(ctx, { ...route, rateLimit: 'none' }, params) : identified;
      const run = (): Promise<RouteResponse> => runOnce(platform, { ...call, identified: current }, body);
      return await (route.isCostly ? runCostlyRead(actor?.id ?? address, ctx.res, run) : run());
    } finally {
      await removeLocalFiles(body.paths);
    }
  };
  return async (ctx) => {
    ctx.state.route = route.path;
    warnOfParameters(ctx, route.query);
    const params = ctx.params as Record<string, string>;
    const identified = await identify(ctx, route, params);
    ctx.state.actor = identified.actor;
    const response = await answer({ ctx, route, params, identified }).catch(async (error: unknown) => {
      if (route.checkPath) await pathCredentials.chargeRefused(ctx, route, params, identified.address, error);
      else await chargeUndeclaredBody(ctx, platform, route, identified, error);
      throw error;
    });
    send(ctx, route, response);
  };
}
