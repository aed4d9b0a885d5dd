import type { Context } from 'koa';
import type { TObject } from 'typebox';
import { requireValid } from '../../lib/contract/check.ts';

/** Reads the query parameters by the types of `schema`. Refuses repeated parameters, and text that is not a whole number for an integer (`invalid_request`). */
export function readQuery(schema: TObject, rawQuery: Record<string, string | string[] | undefined>): Record<string, unknown> {
  const query: Record<string, unknown> = {};
  for (const [name, property] of Object.entries(schema.properties)) {
    const value = rawQuery[name];
    if (value === undefined) continue;
    const type = (property as { type?: string }).type;
    query[name] = type === 'integer' && typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : value;
  }
  requireValid(schema, query, 'query');
  return query;
}

/** Sets `X-Has-More`, and `Link` to the next page: the caller's own query with the values of `next` replaced. `next` is null on the last page. */
export function setNextPage(ctx: Context, baseUrl: string, next: Record<string, string> | null): void {
  ctx.set('X-Has-More', String(next !== null));
  if (next === null) return;
  const query = new URLSearchParams(ctx.querystring);
  for (const [name, value] of Object.entries(next)) query.set(name, value);
  ctx.set('Link', `<${baseUrl}${ctx.path}?${query.toString()}>; rel="next"`);
}
