import { randomUUID } from 'node:crypto';
import Router, { type RouterContext } from '@koa/router';
import type { Context, Middleware } from 'koa';
import { LRUCache } from 'lru-cache';
import { Refusal, refuse } from '../../../lib/base/errors.ts';
import { changeAsOperator } from '../../../lib/domain/operators/changes.ts';
import { isUnavailable } from '../../../lib/store/mongo/database.ts';
import type { OpsPlatform } from '../../../lib/store/platform.ts';
import { type Html, html } from '../html.ts';
import { renderPage } from '../layout.ts';
import { requireSameOrigin } from '../same-origin.ts';
import type { Action, FieldValues } from './actions.ts';
import { renderAudit } from './audit.ts';
import type { Managed } from './managed.ts';
import { renderActionForm, renderEntry, renderList, renderNotice, renderOneUseLink } from './pages.ts';
import { people } from './people.ts';
import { readForm, readQuery } from './requests.ts';
import { servers } from './servers.ts';
import { renderSection } from './views.ts';

/** How long the result of an action can be shown after the browser was sent to the next page, and how many results are kept. */
const noticeLifeMs = 60_000;
const noticesMax = 100;

type Current = Parameters<typeof renderPage>[0]['current'];

const show = (ctx: Context, current: Current, title: string, main: Html): void => {
  ctx.type = 'html';
  ctx.body = renderPage({ title, current, main });
};

/** What a request that failed with `error` shows; null for errors that are no refusals. */
function toFailure(error: unknown): { status: number; message: string } | null {
  if (error instanceof Refusal) return { status: error.status, message: error.message };
  if (error instanceof Error && isUnavailable(error))
    return { status: 503, message: `The database cannot be reached: ${error.message.replace(/\.$/, '')}. Try again when it is available.` };
  return null;
}

const showFailures =
  (current: Current): Middleware =>
  async (ctx, next) => {
    try {
      await next();
    } catch (error) {
      const failure = toFailure(error);
      if (!failure) throw error;
      ctx.status = failure.status;
      show(ctx, current, 'Error', renderSection(html`Error`, html`<p>${failure.message}</p>`));
    }
  };

function addRoutes<T extends { id: string }>(router: Router, platform: OpsPlatform, managed: Managed<T>): void {
  const { path, title, actions, list, load, nameOf } = managed;
  const notices = new LRUCache<string, string>({ max: noticesMax, ttl: noticeLifeMs });
  const findNotice = (ctx: Context): Html | null => {
    const notice = notices.get(readQuery(ctx, 'notice') ?? '');
    return notice === undefined ? null : renderNotice(notice);
  };
  const loadEntry = (ctx: RouterContext): Promise<T> => load(platform, ctx.params.id ?? '');
  const findAction = (ctx: RouterContext): Action<T> =>
    Object.entries(actions).find(([name]) => name === ctx.params.action)?.[1] ?? refuse('not_found', { what: 'page' });
  const showForm = (ctx: Context, entry: T, action: Action<T>, values: FieldValues = {}, error: string | null = null): void =>
    show(ctx, path, `${action.label}: ${nameOf(entry)}`, renderActionForm(managed, entry, action, values, error));

  router.get(path, async (ctx) => {
    const [query = '', after] = [readQuery(ctx, 'query'), readQuery(ctx, 'after')];
    const page = await list(platform, { query, ...(after === undefined ? {} : { after }) });
    show(ctx, path, title, html`${findNotice(ctx)}${renderList(managed, query, page)}`);
  });
  router.get(`${path}/:id`, async (ctx) => {
    const entry = await loadEntry(ctx);
    show(ctx, path, nameOf(entry), html`${findNotice(ctx)}${renderEntry(managed, entry)}`);
  });
  router.get(`${path}/:id/:action`, async (ctx) => showForm(ctx, await loadEntry(ctx), findAction(ctx)));
  router.post(`${path}/:id/:action`, async (ctx) => {
    const [entry, action] = [await loadEntry(ctx), findAction(ctx)];
    const own = `${path}/${entry.id}`;
    let values: FieldValues = {};
    try {
      values = await readForm(ctx, action.fields);
      const command = await action.toCommand(entry, values, platform);
      const outcome = await changeAsOperator(platform, command, String(ctx.state.operator));
      // In the response itself, so that the link is in no address and is kept nowhere.
      if (outcome.link !== undefined) return show(ctx, path, 'Link', renderOneUseLink(own, outcome, outcome.link));
      const notice = randomUUID();
      notices.set(notice, `${outcome.name}: ${outcome.sentence}`);
      ctx.status = 303;
      ctx.redirect(`${action.isFinal ? path : own}?notice=${notice}`);
    } catch (error) {
      const failure = toFailure(error);
      if (!failure) throw error;
      ctx.status = failure.status;
      showForm(ctx, entry, action, values, failure.message);
    }
  });
}

/** The pages on which operators see and change accounts and servers, and see what operators did. Everything that changes something needs the same origin. */
export function manage(platform: OpsPlatform): Middleware {
  const router = new Router();
  router.use(requireSameOrigin);
  router.use('/people', showFailures('/people'));
  router.use('/servers', showFailures('/servers'));
  router.use('/audit', showFailures('/audit'));
  addRoutes(router, platform, people);
  addRoutes(router, platform, servers);
  router.get('/audit', async (ctx) => show(ctx, '/audit', 'Audit log', await renderAudit(platform, readQuery(ctx, 'before'))));
  return router.routes() as Middleware;
}
