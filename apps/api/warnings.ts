import type { Context } from 'koa';
import type { TSchema } from 'typebox';
import { listUnknownFields, listUnknownParameters, type UnknownNames } from '../../lib/contract/unknown-fields.ts';

function addWarnings(ctx: Context, kind: string, { listed, count }: UnknownNames): void {
  if (count === 0) return;
  const more = count - listed.length;
  const warnings = [...listed.map((name) => `${kind} ${name}`), ...(more > 0 ? [`and ${more} more`] : [])];
  const before = ctx.response.get('Warnings');
  ctx.set('Warnings', [...(before ? [before] : []), ...warnings].join('; '));
}

/** Names the query parameters that a route does not have in the header `Warnings` (docs/behavior/requests.md#unknown-fields). */
export const warnOfParameters = (ctx: Context, schema: TSchema | undefined): void =>
  addWarnings(ctx, 'unknown query parameter', listUnknownParameters(schema, ctx.query));

/** Names the fields of a body that its schema does not have in the header `Warnings`. */
export const warnOfFields = (ctx: Context, schema: TSchema, body: unknown): void =>
  addWarnings(ctx, 'unknown field', listUnknownFields(schema, body));
