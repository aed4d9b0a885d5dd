import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import type { TSchema } from 'typebox';
import { type FieldError, reasonOf, refuse } from '../base/errors.ts';
import { groupBy } from '../base/group-by.ts';
import { limits } from '../base/limits.ts';
import { faultText } from './fault-text.ts';

/** A value with more parts than this is checked only up to its first error, because each of its parts could have one. */
const partsMax = 1000;
/** How many invalid fields an error response lists. */
const faultsMax = 20;

const options = { strict: false, verbose: true } as const;
const addFormats = formats as unknown as (instance: Ajv2020, names: string[]) => void;
const firstFault = new Ajv2020({ ...options, allErrors: false });
const allFaults = new Ajv2020({ ...options, allErrors: true });
for (const ajv of [firstFault, allFaults]) addFormats(ajv, ['date-time']);

/** The checks of a schema. `first` stops at the first error, and `all` finds every error. */
interface Checks {
  first: ValidateFunction;
  all: () => ValidateFunction;
}

const compiled = new WeakMap<TSchema, Checks>();
const checksOf = (schema: TSchema): Checks => {
  const known = compiled.get(schema);
  if (known) return known;
  let all: ValidateFunction | undefined;
  const checks = {
    first: firstFault.compile(schema),
    all: () => {
      all ??= allFaults.compile(schema);
      return all;
    },
  };
  compiled.set(schema, checks);
  return checks;
};

/** Compiles a schema ahead of its first use. */
export const prepare = (schema: TSchema): void => void checksOf(schema);

/** `left` minus the number of parts of `value`. Negative if `value` has more parts than that; counting then stops. */
function partsLeft(value: unknown, left: number): number {
  if (value === null || typeof value !== 'object') return left - 1;
  let rest = left - 1;
  for (const inner of Object.values(value)) {
    if (rest < 0) break;
    rest = partsLeft(inner, rest);
  }
  return rest;
}

const pathOf = ({ keyword, instancePath, params }: ErrorObject): string =>
  keyword === 'required' ? `${instancePath}/${String(params.missingProperty)}` : instancePath || '/';

/** Describes the errors of each field in sentences. Only those of the field's first failed schema are used, because each schema of a choice reports errors. */
function fieldErrors(errors: readonly ErrorObject[]): FieldError[] {
  return [...groupBy(errors, pathOf)].slice(0, faultsMax).map(([path, found]) => {
    const [first] = found as [ErrorObject];
    const choices = found.filter(({ keyword }) => keyword === 'const').map(({ params }) => String(params.allowedValue));
    if (choices.length > 1) return { path, message: `Use one of: ${choices.join(', ')}.` };
    const sentences = found.filter(({ parentSchema }) => parentSchema === first.parentSchema).map(faultText);
    return { path, message: [...new Set(sentences)].join(' ') };
  });
}

/** Throws `invalid_request` with an entry for each invalid field. `where` is the part of the request that was checked. */
function refuseInvalid(errors: readonly ErrorObject[], where: string): never {
  const found = fieldErrors(errors);
  return refuse('invalid_request', { reason: reasonOf(found, where) }, { errors: found });
}

/** Throws `invalid_request` if `value` does not match `schema`. The error text names it by `where`. Unknown fields are ignored, because no code copies them. */
export function checkFit(schema: TSchema, value: unknown, where: 'body' | 'query'): void {
  const { first, all } = checksOf(schema);
  if (first(value)) return;
  const isSmall = partsLeft(value, partsMax) >= 0;
  const check = isSmall ? all() : first;
  if (isSmall) check(value);
  refuseInvalid(check.errors ?? [], where);
}

/** Whether `value` is nested deeper than the limit. Does not descend further than that. */
export function tooDeep(value: unknown, left: number = limits.bodyDepth): boolean {
  if (value === null || typeof value !== 'object') return false;
  if (left === 0) return true;
  return Object.values(value).some((inner) => tooDeep(inner, left - 1));
}
