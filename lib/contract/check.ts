import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import type { TSchema } from 'typebox';
import { type FieldError, refuseFields } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { type CharacterRule, characterRules } from './characters.ts';
import { toFieldErrors } from './field-errors.ts';

/** A value with more parts than this is checked only up to its first error, because each of its parts could have one. */
const allErrorsPartsMax = 1000;

const options = { strict: false, verbose: true } as const;
const firstErrorAjv = new Ajv2020({ ...options, allErrors: false });
const allErrorsAjv = new Ajv2020({ ...options, allErrors: true });
for (const ajv of [firstErrorAjv, allErrorsAjv]) {
  formats.default(ajv, ['date-time']);
  ajv.addKeyword({
    keyword: 'characters',
    type: 'string',
    errors: false,
    validate: (rule: CharacterRule, text: string) => characterRules[rule](text),
  });
}

/** The validators of a schema. `firstError` stops at the first error, and `allErrors` finds every error. */
interface SchemaValidators {
  firstError: ValidateFunction;
  allErrors: () => ValidateFunction;
}

const validatorsBySchema = new WeakMap<TSchema, SchemaValidators>();
/** Compiles a schema at its first use: compiling those of all routes would add a quarter of a second to the start of an API process. */
const getValidators = (schema: TSchema): SchemaValidators => {
  const cached = validatorsBySchema.get(schema);
  if (cached) return cached;
  let allErrors: ValidateFunction | undefined;
  const validators = {
    firstError: firstErrorAjv.compile(schema),
    allErrors: () => {
      allErrors ??= allErrorsAjv.compile(schema);
      return allErrors;
    },
  };
  validatorsBySchema.set(schema, validators);
  return validators;
};

/** Whether `value` matches `schema`. */
export const isValid = (schema: TSchema, value: unknown): boolean => getValidators(schema).firstError(value);

/** `left` minus the number of parts of `value`. Negative if `value` has more parts than that; counting then stops. */
function countPartsLeft(value: unknown, left: number): number {
  if (value === null || typeof value !== 'object') return left - 1;
  let rest = left - 1;
  for (const inner of Object.values(value)) {
    if (rest < 0) break;
    rest = countPartsLeft(inner, rest);
  }
  return rest;
}

function findSchemaErrors(schema: TSchema, value: unknown): FieldError[] {
  const { firstError, allErrors } = getValidators(schema);
  if (firstError(value)) return [];
  const isSmall = countPartsLeft(value, allErrorsPartsMax) >= 0;
  const validate = isSmall ? allErrors() : firstError;
  if (isSmall) validate(value);
  return toFieldErrors(validate.errors ?? []);
}

/**
 * Throws `invalid_request` if `value` does not match `schema`, or if `findMore` finds errors in it. The error text names it by `where`. `findMore` is also called
 * with a value that does not match, so that all errors are named at once. Unknown fields are allowed: no code copies them, and `listUnknownFields` names them.
 */
export function requireValid(
  schema: TSchema,
  value: unknown,
  where: 'body' | 'query',
  findMore: (value: unknown) => readonly FieldError[] = () => [],
): void {
  const errors = findSchemaErrors(schema, value);
  const paths = new Set(errors.map(({ path }) => path));
  const all = [...errors, ...findMore(value).filter(({ path }) => !paths.has(path))];
  if (all.length > 0) refuseFields(all, where);
}

/** Whether `value` is nested deeper than the limit. Does not descend further than that. */
export function isTooDeep(value: unknown, left: number = limits.bodyDepth): boolean {
  if (value === null || typeof value !== 'object') return false;
  if (left === 0) return true;
  return Object.values(value).some((inner) => isTooDeep(inner, left - 1));
}
