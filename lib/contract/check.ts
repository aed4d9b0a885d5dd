import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import type { TSchema } from 'typebox';
import { describeErrors, type FieldError, refuse } from '../base/errors.ts';
import { groupBy } from '../base/group-by.ts';
import { limits } from '../base/limits.ts';
import { toValidationMessage } from './validation-message.ts';

/** A value with more parts than this is checked only up to its first error, because each of its parts could have one. */
const allErrorsPartsMax = 1000;
/** How many invalid fields an error response lists. */
const listedErrorsMax = 20;

const options = { strict: false, verbose: true } as const;
const firstErrorAjv = new Ajv2020({ ...options, allErrors: false });
const allErrorsAjv = new Ajv2020({ ...options, allErrors: true });
for (const ajv of [firstErrorAjv, allErrorsAjv]) formats.default(ajv, ['date-time']);

/** The validators of a schema. `firstError` stops at the first error, and `allErrors` finds every error. */
interface SchemaValidators {
  firstError: ValidateFunction;
  allErrors: () => ValidateFunction;
}

const validatorsBySchema = new WeakMap<TSchema, SchemaValidators>();
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

/** Compiles a schema ahead of its first use. */
export const compileSchema = (schema: TSchema): void => void getValidators(schema);

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

const toFieldPath = ({ keyword, instancePath, params }: ErrorObject): string =>
  keyword === 'required' ? `${instancePath}/${String(params.missingProperty)}` : instancePath || '/';

/** Describes the errors of each field in sentences. Only those of the field's first failed schema are used, because each schema of a choice reports errors. */
function toFieldErrors(errors: readonly ErrorObject[]): FieldError[] {
  return [...groupBy(errors, toFieldPath)].slice(0, listedErrorsMax).map(([path, fieldErrors]) => {
    const [first] = fieldErrors as [ErrorObject];
    const choice = fieldErrors.find(({ keyword, parentSchema }) => keyword === 'enum' && parentSchema === first.parentSchema);
    if (choice) return { path, message: toValidationMessage(choice) };
    const sentences = fieldErrors.filter(({ parentSchema }) => parentSchema === first.parentSchema).map(toValidationMessage);
    return { path, message: [...new Set(sentences)].join(' ') };
  });
}

/** Throws `invalid_request` with an entry for each invalid field. `where` is the part of the request that was checked. */
function refuseInvalid(errors: readonly ErrorObject[], where: string): never {
  const fieldErrors = toFieldErrors(errors);
  return refuse('invalid_request', { reason: describeErrors(fieldErrors, where) }, { errors: fieldErrors });
}

/** Throws `invalid_request` if `value` does not match `schema`. The error text names it by `where`. Unknown fields are allowed: no code copies them, and `listUnknownFields` names them. */
export function requireValid(schema: TSchema, value: unknown, where: 'body' | 'query'): void {
  const { firstError, allErrors } = getValidators(schema);
  if (firstError(value)) return;
  const isSmall = countPartsLeft(value, allErrorsPartsMax) >= 0;
  const validate = isSmall ? allErrors() : firstError;
  if (isSmall) validate(value);
  refuseInvalid(validate.errors ?? [], where);
}

/** Whether `value` is nested deeper than the limit. Does not descend further than that. */
export function isTooDeep(value: unknown, left: number = limits.bodyDepth): boolean {
  if (value === null || typeof value !== 'object') return false;
  if (left === 0) return true;
  return Object.values(value).some((inner) => isTooDeep(inner, left - 1));
}
