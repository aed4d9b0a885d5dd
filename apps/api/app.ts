import { createHash } from 'node:crypto';
import Router from '@koa/router';
import { create as createDisposition } from 'content-disposition';
import Koa, { type Context } from 'koa';
import { refuse } from '../../lib/base/errors.ts';
import { limits } from '../../lib/base/limits.ts';
import type { Metrics } from '../../lib/base/metrics.ts';
import { countCodePoints } from '../../lib/base/text.ts';
import { noTracing } from '../../lib/base/tracing.ts';
import { compileSchema } from '../../lib/contract/check.ts';
import type { Actor } from '../../lib/domain/access/checks.ts';
import { findServerIdOfChannel, runManagementWrite } from '../../lib/domain/access/management-writes.ts';
import { runIdempotently, type StoredResponse } from '../../lib/domain/idempotency.ts';
import type { ApiPlatform } from '../../lib/store/platform.ts';
import { type BodySlots, createBodySlots, type ReadBody, removeLocalFiles } from './bodies/reader.ts';
import { matchesEtag } from './etag.ts';
import { chargeUndeclaredBody, createIdentify, type IdentifiedRequest, type Identify } from './identify.ts';
import { createAddressCharges } from './limits/address-charges.ts';
import { createCostlyReads, type RunCostlyRead } from './limits/costly-reads.ts';
import { createPathCredentials, type PathCredentials } from './limits/path-credentials.ts';
import { setRateHeaders } from './limits/rate-headers.ts';
import { serveFiles } from './middleware/files.ts';
import { serveImages } from './middleware/images.ts';
import { servePages } from './middleware/pages.ts';
import { createRequestMiddleware } from './middleware/request.ts';
import { serveSignIn, ticketCookie } from './middleware/sign-in.ts';
import { createTraceMiddleware } from './middleware/trace.ts';
import { readQuery, setNextPage } from './query.ts';
import { FileBody, Reply, type Route, SerializedBody } from './route.ts';
import { readCookie, setCookie, setSessionCookie } from './session-cookie.ts';
import type { State } from './state.ts';
import { warnOfParameters } from './warnings.ts';

/** The response of a route. The body is a string, the bytes of a `SerializedBody`, or a `FileBody`. */
interface RouteResponse {
  status: number;
  body: string | Buffer | FileBody;
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

async function runRoute(
  platform: ApiPlatform,
  route: Route,
  ctx: Context,
  identified: IdentifiedRequest,
  params: Record<string, string>,
  { value: body, fingerprint }: ReadBody,
): Promise<RouteResponse> {
  const key = route.creates ? ctx.get('Idempotency-Key') : '';
  const query = route.query ? readQuery(route.query, ctx.query) : {};
  const { actor, tokenId, page, address } = identified;
  const { baseUrl } = platform.config;
  const runWithId = async (newId: string): Promise<RouteResponse> => {
    const input = {
      params,
      query,
      body,
      newId,
      isRepeatable: key !== '',
      page,
      address,
      client: { address, userAgent: ctx.get('User-Agent'), tokenId },
      tokenId,
      signInTicket: readCookie(ctx, baseUrl, ticketCookie),
      found: undefined,
    };
    const { rates, found } = route.admit ? await route.admit(platform, actor, input) : { rates: [], found: undefined };
    for (const { bucketName, decision } of rates) setRateHeaders(ctx, bucketName, decision);
    const run = (current: Actor | null): ReturnType<Route['run']> => route.run(platform, current, { ...input, found });
    const managedServerId = route.manages && actor ? await findManagedServer(platform, route, params, body) : null;
    const result = await (managedServerId && actor ? runManagementWrite(platform, actor, managedServerId, run) : run(actor));
    return toResponse(ctx, baseUrl, route, result);
  };
  if (key === '') return runWithId(identified.newId);
  if (countCodePoints(key) > limits.idempotencyKeyChars)
    return refuse('invalid_request', { reason: `Idempotency-Key is longer than ${limits.idempotencyKeyChars} characters` });
  const caller = actor?.id ?? address;
  const create = {
    caller,
    route: `${route.method} ${ctx.path}`,
    key,
    body: fingerprint,
    newId: identified.newId,
    secret: route.creates === 'secret',
  };
  return runIdempotently(platform, create, (id) => runWithId(id) as Promise<StoredResponse>); // routes with `creates` return JSON only
}

/** What decides whether a request may run now. */
interface Guards {
  identify: Identify;
  pathCredentials: PathCredentials;
  runCostlyRead: RunCostlyRead;
}

function createHandler(
  platform: ApiPlatform,
  route: Route,
  slots: BodySlots,
  { identify, pathCredentials, runCostlyRead }: Guards,
): (ctx: Koa.ParameterizedContext<State> & { params: unknown }) => Promise<void> {
  for (const schema of [route.body?.schema, route.query]) if (schema) compileSchema(schema);
  const run = async (ctx: Context, identified: IdentifiedRequest, params: Record<string, string>): Promise<RouteResponse> => {
    const { actor, address, pathServerId } = identified;
    const body = route.body
      ? await route.body.read({ ctx, platform, slots, actor, params, address, pathServerId })
      : { value: undefined, fingerprint: undefined, paths: [] };
    try {
      // Files may take long. So identify the caller again, to apply the current permissions and to take the message's id after they have come.
      const current = body.paths.length > 0 ? await identify(ctx, { ...route, rateLimit: 'none' }, params) : identified;
      const runOnce = () => runRoute(platform, route, ctx, current, params, body);
      return await (route.isCostly ? runCostlyRead(actor?.id ?? address, ctx.res, runOnce) : runOnce());
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
    const { status, body } = await run(ctx, identified, params).catch(async (error: unknown) => {
      if (route.checkPath) await pathCredentials.chargeRefused(ctx, route, params, identified.address, error);
      else await chargeUndeclaredBody(ctx, platform, route, identified, error);
      throw error;
    });
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
    if (!route.hasEtag || status !== 200) return;
    const etag = `"${createHash('sha256').update(body).digest('base64url')}"`;
    ctx.set('ETag', etag);
    if (matchesEtag(ctx, etag)) ctx.status = 304;
  };
}

/** Creates the Koa application of `routes`. An unknown path is 404. A known path with another method is 405 with `Allow`. */
export function createApp(platform: ApiPlatform, metrics: Metrics, routes: readonly Route[]): Koa<State> {
  const app = new Koa<State>();
  const router = new Router<State>({ sensitive: true, strict: true });
  const slots = createBodySlots();
  const charges = createAddressCharges(platform);
  const pathCredentials = createPathCredentials(platform, charges);
  const guards: Guards = {
    identify: createIdentify(platform, charges, pathCredentials),
    pathCredentials,
    runCostlyRead: createCostlyReads(),
  };
  for (const route of routes) {
    const handle = createHandler(platform, route, slots, guards);
    router.register(route.path.replace(/\{(\w+)\}/g, ':$1'), [route.method], handle);
  }
  if (platform.tracing !== noTracing) app.use(createTraceMiddleware(platform));
  app.use(createRequestMiddleware(platform, metrics));
  app.use(serveFiles(platform, charges));
  app.use(serveImages(platform, charges));
  app.use(serveSignIn(platform));
  app.use(servePages(platform));
  app.use((ctx, next) => {
    ctx.path = ctx.path.replace('/%40me', '/@me');
    return next();
  });
  app.use(router.routes());
  app.use((ctx) => {
    const methods = router.match(ctx.path, ctx.method).path.flatMap((layer) => layer.methods);
    const allowed = [...new Set(methods)].filter((method) => method !== 'HEAD');
    if (allowed.length) refuse('method_not_allowed', { allowed: allowed.join(', ') }, { allow: allowed });
    refuse('not_found', { what: 'path' });
  });
  // Koa emits this when it cannot send a response, for example because the client disconnected. That is not an error of the service.
  app.on('error', (error: Error) => platform.log.debug({ err: error }, 'could not send the response'));
  return app;
}
