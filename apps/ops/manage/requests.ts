import type { Context, Middleware } from 'koa';
import { koaBody } from 'koa-body';
import { refuse } from '../../../lib/base/errors.ts';
import { formatMib, limits } from '../../../lib/base/limits.ts';
import type { Field, FieldValues } from './actions.ts';

const formType = 'application/x-www-form-urlencoded';

const parseForm: Middleware = koaBody({
  urlencoded: true,
  formLimit: limits.opsFormBytes,
  json: false,
  text: false,
  multipart: false,
  onError: (error: Error) => {
    if ((error as { status?: number }).status === 413) refuse('payload_too_large', { limit: formatMib(limits.opsFormBytes) });
    refuse('invalid_request', { reason: 'the body is not a valid form' });
  },
});

const checkText = (name: string, value: unknown, maxChars: number): string | undefined => {
  if (value === undefined || value === '') return undefined;
  if (typeof value !== 'string' || value.length > maxChars)
    refuse('invalid_request', { reason: `${name} has 1 to ${maxChars} characters` });
  return value.trim() || undefined;
};

/** The text of a query parameter; undefined if it is missing or empty. Refuses one that is given twice or is too long. */
export const readQuery = (ctx: Context, name: string): string | undefined => checkText(name, ctx.query[name], limits.operatorTextChars);

/** The text of these fields of the form in the body. Refuses another content type (415), a body that is too large (413), and invalid or missing fields (400). */
export async function readForm(
  ctx: Context,
  fields: readonly Pick<Field, 'name' | 'maxChars' | 'isRequired' | 'choices'>[],
): Promise<FieldValues> {
  if (!ctx.is(formType)) refuse('unsupported_media_type', { expected: formType });
  await parseForm(ctx, async () => undefined);
  const body = ctx.request.body as Readonly<Record<string, unknown>>;
  const values = fields.flatMap(({ name, maxChars, isRequired, choices }) => {
    const value = checkText(name, body[name], maxChars);
    if (isRequired && value === undefined) refuse('invalid_request', { reason: `${name} is missing` });
    if (value !== undefined && choices && !Object.hasOwn(choices, value))
      refuse('invalid_request', { reason: `${name} is one of ${Object.keys(choices).join(', ')}` });
    return value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(values);
}
