import type { ErrorObject } from 'ajv/dist/2020.js';
import type { FieldError } from '../base/errors.ts';
import { groupBy } from '../base/group-by.ts';
import { joinAlternatives, toTypeName, toValidationMessage } from './validation-message.ts';

/** How many errors of the schema are read. Several of them describe one field, and a response lists 20 fields. */
const readErrorsMax = 500;

const isUnionError = ({ keyword }: ErrorObject): boolean => keyword === 'anyOf' || keyword === 'oneOf';

type Scalar = string | number | boolean | null;

/** The values that a schema allows, if it lists them. */
function listAllowedValues({ parentSchema }: ErrorObject): string[] {
  const { const: only, enum: choice } = (parentSchema ?? {}) as { const?: Scalar; enum?: Scalar[] };
  return only === undefined ? (choice ?? []).map(String) : [String(only)];
}

/** Whether an error says that a value is not meant to be one alternative of the union at `path`. */
type IsOtherAlternative = (error: ErrorObject, path: string) => boolean;

const hasOtherType: IsOtherAlternative = ({ keyword, instancePath }, path) => keyword === 'type' && instancePath === path;

/** The value has another constant in one of its fields, such as `type`. */
const hasOtherConstant: IsOtherAlternative = ({ keyword, instancePath }, path) =>
  keyword === 'const' && instancePath.startsWith(`${path}/`) && !instancePath.slice(path.length + 1).includes('/');

/** Removes the errors of alternatives that a value is not meant to be, if there is one that it is meant to be: every alternative reports its errors. */
function dropOtherAlternatives(errors: readonly ErrorObject[]): readonly ErrorObject[] {
  let kept = errors;
  for (const union of errors.filter(isUnionError)) {
    const { instancePath: path } = union;
    const start = `${union.schemaPath}/`;
    const isInside = ({ schemaPath, instancePath }: ErrorObject): boolean =>
      schemaPath.startsWith(start) && (instancePath === path || instancePath.startsWith(`${path}/`));
    const alternativeOf = ({ schemaPath }: ErrorObject): string => schemaPath.slice(start.length).split('/', 1)[0] as string;
    for (const isOther of [hasOtherType, hasOtherConstant]) {
      const inside = kept.filter(isInside);
      const others = new Set(inside.filter((error) => isOther(error, path)).map(alternativeOf));
      // A schema that lists its values is named in any case: the value has the wrong type because it is another value.
      const isDropped = (error: ErrorObject): boolean =>
        isInside(error) && others.has(alternativeOf(error)) && !(isOther === hasOtherType && listAllowedValues(error).length > 0);
      if (inside.some((error) => !others.has(alternativeOf(error)))) kept = kept.filter((error) => !isDropped(error));
    }
  }
  return kept;
}

/** The sentences for the errors of one schema. A value outside of an `enum` has the wrong type too, which is not worth a sentence. */
function toSentences(errors: readonly ErrorObject[]): string {
  const choice = errors.find(({ keyword }) => keyword === 'enum');
  return [...new Set((choice ? [choice] : errors).map(toValidationMessage))].join(' ');
}

/** Describes the errors of one field. If several alternatives are possible, all of them are named. */
function toFieldMessage(fieldErrors: readonly ErrorObject[]): string {
  const errors = fieldErrors.filter((error) => !isUnionError(error));
  const [first] = errors;
  if (!first) return 'This value is not valid.';
  if (errors.every(({ parentSchema }) => parentSchema === first.parentSchema)) return toSentences(errors);
  const values = [...new Set(errors.flatMap(listAllowedValues))];
  const others = errors.filter((error) => listAllowedValues(error).length === 0);
  const types = others.filter(({ keyword }) => keyword === 'type');
  const rules = others.filter(({ keyword }) => keyword !== 'type');
  if (rules[0]) {
    const sentences = toSentences(rules.filter(({ parentSchema }) => parentSchema === rules[0]?.parentSchema));
    return values.length === 0 ? sentences : `${sentences.replace(/\.$/, '')}, or ${joinAlternatives(values)}.`;
  }
  if (types.length === 0) return values.length === 1 ? `This must be ${values[0]}.` : `Use one of: ${values.join(', ')}.`;
  return `Use ${joinAlternatives([...values, ...types.map(({ params }) => toTypeName(params.type))])}.`;
}

const toFieldPath = ({ keyword, instancePath, params }: ErrorObject): string =>
  keyword === 'required' ? `${instancePath}/${String(params.missingProperty)}` : instancePath || '/';

/** The errors of a schema as one sentence or more for each field (docs/behavior/requests.md#validation). */
export function toFieldErrors(errors: readonly ErrorObject[]): FieldError[] {
  const byPath = [...groupBy(dropOtherAlternatives(errors.slice(0, readErrorsMax)), toFieldPath)];
  // The errors inside of an object say more than that it matches no alternative.
  const isSaidInside = (path: string): boolean =>
    byPath.some(([other]) => other.startsWith(path === '/' ? '/' : `${path}/`) && other !== path);
  return byPath
    .filter(([path, fieldErrors]) => !(fieldErrors.every(isUnionError) && isSaidInside(path)))
    .map(([path, fieldErrors]) => ({ path, message: toFieldMessage(fieldErrors) }));
}
