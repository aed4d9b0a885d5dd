import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import type { TSchema } from 'typebox';
import { type FieldError, refuse } from '../base/errors.ts';
import { limits } from '../base/limits.ts';

const ajv = new Ajv2020({ strict: false, allErrors: false, verbose: false });
(formats as unknown as (instance: Ajv2020, names: string[]) => void)(ajv, ['date-time']);

const compiled = new WeakMap<TSchema, ValidateFunction>();
const checkOf = (schema: TSchema): ValidateFunction => {
  const known = compiled.get(schema);
  if (known) return known;
  const check = ajv.compile(schema);
  compiled.set(schema, check);
  return check;
};

/** Compiles a schema ahead of its first use. */
export const prepare = (schema: TSchema): void => void checkOf(schema);

function fieldErrors(errors: readonly ErrorObject[]): FieldError[] {
  const byPath = new Map<string, FieldError>();
  for (const error of errors) {
    const path = error.keyword === 'required' ? `${error.instancePath}/${String(error.params.missingProperty)}` : error.instancePath || '/';
    const message = error.keyword === 'required' ? 'is required' : (error.message ?? 'is not valid');
    const known = byPath.get(path);
    if (!known) byPath.set(path, { path, message });
    else if (error.keyword === 'anyOf') known.message = allowed(errors, error) ?? known.message;
  }
  return [...byPath.values()];
}

/** For a choice between literals: the list of them. */
function allowed(errors: readonly ErrorObject[], choice: ErrorObject): string | undefined {
  const values = errors
    .filter((error) => error.keyword === 'const' && error.instancePath === choice.instancePath)
    .map((error) => String(error.params.allowedValue));
  return values.length > 1 ? `must be one of ${values.join(', ')}` : undefined;
}

/** Refuses `invalid_request` for what a check found in `where`, with an entry for each field. */
function refuseInvalid(errors: readonly ErrorObject[], where: string): never {
  const found = fieldErrors(errors);
  const first = found[0];
  return refuse(
    'invalid_request',
    { reason: first ? `${where}${first.path === '/' ? '' : first.path} ${first.message}` : where },
    { errors: found },
  );
}

/** Refuses `invalid_request` unless `value` fits `schema`; `where` names it in the words. Unknown fields are ignored: nobody copies them. */
export function checkFit(schema: TSchema, value: unknown, where: 'body' | 'query'): void {
  const check = checkOf(schema);
  if (!check(value)) refuseInvalid(check.errors ?? [], where);
}

/** Whether `value` is nested deeper than the limit; looks no further than that. */
export function tooDeep(value: unknown, left: number = limits.bodyDepth): boolean {
  if (value === null || typeof value !== 'object') return false;
  if (left === 0) return true;
  return Object.values(value).some((inner) => tooDeep(inner, left - 1));
}
