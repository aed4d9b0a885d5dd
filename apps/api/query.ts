import type { TObject } from 'typebox';
import { checkFit } from '../../lib/contract/check.ts';

/** The query's values by the types of `schema`. Refuses repeated values, and text that is not a plain whole number where one is asked. */
export function readQuery(schema: TObject, given: Record<string, string | string[] | undefined>): Record<string, unknown> {
  const query: Record<string, unknown> = {};
  for (const [name, property] of Object.entries(schema.properties)) {
    const value = given[name];
    if (value === undefined) continue;
    const type = (property as { type?: string }).type;
    query[name] = type === 'integer' && typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : value;
  }
  checkFit(schema, query, 'query');
  return query;
}
