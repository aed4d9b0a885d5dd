import { createHash } from 'node:crypto';
import Router from '@koa/router';
import Koa, { type Context } from 'koa';
import { refuse } from '../../lib/base/errors.ts';
import { limits } from '../../lib/base/limits.ts';
import type { Metrics } from '../../lib/base/metrics.ts';
import { lengthOf } from '../../lib/base/text.ts';
import { prepare } from '../../lib/contract/check.ts';
import { type KeptAnswer, runOnce } from '../../lib/domain/idempotency.ts';
import type { Actor } from '../../lib/domain/members/access.ts';
import { manageServer, serverOfChannel } from '../../lib/domain/members/managing.ts';
import type { ApiPlatform } from '../../lib/store/platform.ts';
import type { Verdict } from '../../lib/store/redis/throttle.ts';
import { createCostlyReads, type RunCostlyRead } from './costly-reads.ts';
import { namesTag } from './etag.ts';
import { serveFiles } from './files.ts';
import { serveImages } from './images.ts';
import { createPlaces, type Intake, type Places, takeBody } from './intake.ts';
import { createIdentify, type Identified, type Identify } from './middleware/identify.ts';
import { takeLogin } from './middleware/login-limits.ts';
import { applyVerdict } from './middleware/rate-headers.ts';
import { requests } from './middleware/request.ts';
import { setSession } from './middleware/session-cookie.ts';
import { servePages } from './pages.ts';
import { readQuery, setNext } from './query.ts';
import { OrElse, Prepared, type Route } from './route.ts';
import type { State } from './state.ts';

/** The number of segments of a path. Routes are grouped by it and the method, so that the router tries only a few of them for a request. */
const segmentsOf = (path: string): number => path.split('/').length - 1;

/** An answer of a route. The body is a string, or the bytes of a `Prepared` reply. */
interface Answer {
  status: number;
  body: string | Buffer;
}

/** The server that a call of a route with `manages` writes to; null when there is none. */
async function managedServer(platform: ApiPlatform, route: Route, params: Record<string, string>, body: unknown): Promise<string | null> {
  if (typeof route.manages === 'function') return route.manages(platform, params, body);
  return params.serverId ?? (params.channelId ? serverOfChannel(platform, params.channelId) : null);
}

async function runRoute(
  platform: ApiPlatform,
  route: Route,
  ctx: Context,
  who: Identified,
  params: Record<string, string>,
  { body, files, identity }: Intake,
): Promise<Answer> {
  const key = route.creates ? ctx.get('Idempotency-Key') : '';
  const query = route.query ? readQuery(route.query, ctx.query) : {};
  const answer = async (newId: string): Promise<Answer> => {
    const input = {
      params,
      query,
      body,
      files,
      newId,
      isRepeatable: key !== '',
      page: who.page,
      address: who.address,
      client: { address: who.address, userAgent: ctx.get('User-Agent') },
      tokenId: who.tokenId,
      takeLogin: (username: string) => takeLogin(ctx, platform, username, who.address),
      tellRate: (bucket: string, verdict: Verdict) => applyVerdict(ctx, bucket, verdict),
      setNext: (next: Record<string, string> | null) => setNext(ctx, platform.config.baseUrl, next),
      setSession: (token: string | null) => setSession(ctx, platform.config.baseUrl, token),
    };
    const run = (actor: Actor | null): ReturnType<Route['run']> => route.run(platform, actor, input);
    const managed = route.manages && who.actor ? await managedServer(platform, route, params, body) : null;
    const result = await (managed && who.actor ? manageServer(platform, who.actor, managed, run) : run(who.actor));
    if (result instanceof Prepared) return { status: route.reply.status, body: result.json };
    const usual = !(result instanceof OrElse);
    const value = usual ? result : result.body;
    return { status: usual ? route.reply.status : (route.orElse?.status ?? 200), body: value === undefined ? '' : JSON.stringify(value) };
  };
  if (key === '') return answer(who.newId);
  if (lengthOf(key) > limits.idempotencyKeyChars)
    return refuse('invalid_request', { reason: `Idempotency-Key is longer than ${limits.idempotencyKeyChars} characters` });
  const caller = who.actor?.id ?? who.address;
  const create = {
    caller,
    route: `${route.method} ${ctx.path}`,
    key,
    body: identity,
    newId: who.newId,
    secret: route.creates === 'secret',
  };
  return runOnce(platform, create, (id) => answer(id) as Promise<KeptAnswer>); // routes with `creates` never return `Prepared`
}

function serve(
  platform: ApiPlatform,
  route: Route,
  places: Places,
  identify: Identify,
  runCostlyRead: RunCostlyRead,
): (ctx: Koa.ParameterizedContext<State> & { params: unknown }) => Promise<void> {
  for (const schema of [route.body, route.query]) if (schema) prepare(schema);
  return async (ctx) => {
    ctx.state.route = route.path;
    const params = ctx.params as Record<string, string>;
    const who = await identify(ctx, route, params);
    ctx.state.actor = who.actor;
    const intake = await takeBody(ctx, platform, route, who, params, places);
    let answer: Answer;
    try {
      // An upload may take long. So identify the caller again, to apply the current permissions and to take the message's id after the upload.
      const now = intake.files.length ? await identify(ctx, { ...route, rateLimit: 'none' }, params) : who;
      const run = () => runRoute(platform, route, ctx, now, params, intake);
      answer = await (route.costly ? runCostlyRead(who.actor?.id ?? who.address, ctx.res, run) : run());
    } finally {
      await intake.discard();
    }
    const { status, body } = answer;
    ctx.status = status;
    if (body === '') {
      ctx.body = null;
      ctx.status = status;
      return;
    }
    ctx.type = 'application/json';
    ctx.body = body;
    if (!route.hasEtag || status !== 200) return;
    const etag = `"${createHash('sha256').update(body).digest('base64url')}"`;
    ctx.set('ETag', etag);
    if (namesTag(ctx, etag)) ctx.status = 304;
  };
}

/** Creates the Koa application of `routes`. An unknown path is 404. A known path with another method is 405 with `Allow`. */
export function createApp(platform: ApiPlatform, metrics: Metrics, routes: readonly Route[]): Koa<State> {
  const app = new Koa<State>();
  const groups = new Map<string, Router<State>>();
  const places = createPlaces();
  const identify = createIdentify(platform);
  const runCostlyRead = createCostlyReads();
  for (const route of routes) {
    const group = `${route.method} ${segmentsOf(route.path)}`;
    const router = groups.get(group) ?? new Router<State>({ sensitive: true, strict: true });
    groups.set(group, router);
    const handle = serve(platform, route, places, identify, runCostlyRead);
    router.register(route.path.replace(/\{(\w+)\}/g, ':$1'), [route.method], handle as never);
  }
  const layers = new Map([...groups].map(([name, router]) => [name, router.routes()]));
  const methods = [...new Set(routes.map((route) => route.method))];
  app.use(requests(platform, metrics));
  app.use(serveFiles(platform));
  app.use(serveImages(platform));
  app.use(servePages(platform));
  app.use(async (ctx, next) => {
    ctx.path = ctx.path.replace('/%40me', '/@me');
    const method = ctx.method === 'HEAD' ? 'GET' : ctx.method;
    const segments = segmentsOf(ctx.path);
    await layers.get(`${method} ${segments}`)?.(ctx as never, next);
    if (ctx.state.route) return;
    const allow = methods.filter((other) => groups.get(`${other} ${segments}`)?.match(ctx.path, other).route);
    if (allow.length) refuse('method_not_allowed', { allowed: allow.join(', ') }, { allow });
    refuse('not_found', { what: 'path' });
  });
  // Koa emits this when it cannot send an answer, for example because the client disconnected. That is not an error of the service.
  app.on('error', (error: Error) => platform.log.debug({ err: error }, 'response'));
  return app;
}
