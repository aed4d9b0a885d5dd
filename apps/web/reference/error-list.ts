import { catalogue, type ErrorCode } from '../../../lib/base/errors.ts';
import { errorCauses } from './error-causes.ts';
import { type Operation, reference } from './reference-data.ts';
import { listValues, toShape } from './shape.ts';

/** An error code with its HTTP status and why it is returned. */
export interface KnownError {
  status: number;
  code: string;
  cause: string;
}

const isKnownCode = (code: string): code is ErrorCode => Object.hasOwn(catalogue, code);

/** Every error code by status. `internal_error` is no refusal, so it is not in the catalogue. */
export const allErrors: readonly KnownError[] = [
  ...Object.keys(catalogue).flatMap((code) =>
    isKnownCode(code) ? [{ status: catalogue[code].status, code, cause: errorCauses[code] }] : [],
  ),
  { status: 500, code: 'internal_error', cause: 'A fault of the service. Its log has the fault under the `requestId` of the answer.' },
].sort((one, other) => one.status - other.status);

/** The message of a code, whose placeholders are shown as code; undefined for `internal_error`. */
export const messageOf = (code: string): string | undefined =>
  isKnownCode(code) ? catalogue[code].text.replace(/\{(\w+)\}/g, '`$1`') : undefined;

/** The error codes that the document lists for an operation, by status. */
export function listErrors({ object }: Operation): KnownError[] {
  const codes = Object.entries(object.responses).flatMap(([status, answer]) => {
    const schema = /^[45]/.test(status) ? answer.content?.['application/json']?.schema : undefined;
    if (!schema) return [];
    // Some tools write a code's values beside a reference, others in a part of `allOf`.
    const own = { ...toShape(schema).schema.properties, ...schema.properties }.code;
    return own ? listValues(toShape(own)) : [];
  });
  return allErrors.filter(({ code }) => codes.includes(code));
}

/** The operations that may return an error code. */
export const listOperationsWith = (code: string): Operation[] =>
  (reference.value?.groups ?? [])
    .flatMap(({ operations }) => operations)
    .filter((one) => listErrors(one).some((error) => error.code === code));
