import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import type { TSchema } from 'typebox';
import { type FieldError, reasonOf, refuse } from '../base/errors.ts';
import { groupBy } from '../base/group-by.ts';
import { limits } from '../base/limits.ts';
import { faultText } from './fault-text.ts';

/** A value of more parts than this is only checked up to its first fault, as each of its parts could be one. */
const partsMax = 1000;
/** How many faulty fields an error names. */
const faultsMax = 20;

const options = { strict: false, verbose: true } as const;
const addFormats = formats as unknown as (instance: Ajv2020, names: string[]) => void;
const firstFault = new Ajv2020({ ...options, allErrors: false });
const allFaults = new Ajv2020({ ...options, allErrors: true });
for (const ajv of [firstFault, allFaults]) addFormats(ajv, ['date-time']);

/** The checks of a schema: up to the first fault, and for all faults. */
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

/** How many parts of `left` remain when those of `value` are taken off; below 0 when it has more. */
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

/** What is wrong with each field, in sentences. Of a field the faults of one schema count: a choice between schemas has some for each. */
function fieldErrors(errors: readonly ErrorObject[]): FieldError[] {
  return [...groupBy(errors, pathOf)].slice(0, faultsMax).map(([path, found]) => {
    const [first] = found as [ErrorObject];
    const choices = found.filter(({ keyword }) => keyword === 'const').map(({ params }) => String(params.allowedValue));
    if (choices.length > 1) return { path, message: `Use one of: ${choices.join(', ')}.` };
    const sentences = found.filter(({ parentSchema }) => parentSchema === first.parentSchema).map(faultText);
    return { path, message: [...new Set(sentences)].join(' ') };
  });
}

/** Refuses `invalid_request` for what a check found in `where`, with an entry for each field. */
function refuseInvalid(errors: readonly ErrorObject[], where: string): never {
  const found = fieldErrors(errors);
  return refuse('invalid_request', { reason: reasonOf(found, where) }, { errors: found });
}

/** Refuses `invalid_request` unless `value` fits `schema`; `where` names it in the words. Unknown fields are ignored: nobody copies them. */
export function checkFit(schema: TSchema, value: unknown, where: 'body' | 'query'): void {
  const { first, all } = checksOf(schema);
  if (first(value)) return;
  const isSmall = partsLeft(value, partsMax) >= 0;
  const check = isSmall ? all() : first;
  if (isSmall) check(value);
  refuseInvalid(check.errors ?? [], where);
}

/** Whether `value` is nested deeper than the limit; looks no further than that. */
export function tooDeep(value: unknown, left: number = limits.bodyDepth): boolean {
  if (value === null || typeof value !== 'object') return false;
  if (left === 0) return true;
  return Object.values(value).some((inner) => tooDeep(inner, left - 1));
}
