import type { Document, Shape } from './shape.ts';

/** How many values a list such as that of `$in` gets. */
export const listedValues = 5;

const isPlaceholder = (value: unknown): value is string => typeof value === 'string' && /^<\w+>$/.test(value);
const isOperators = (value: unknown): value is Document =>
  value !== null && typeof value === 'object' && Object.keys(value).some((key) => key.startsWith('$'));

/** The value at a path; of a list, that of its first element. */
function valueAt(doc: unknown, path: string): unknown {
  if (!path.includes('.')) return (doc as Document)[path];
  return path.split('.').reduce<unknown>((value, key) => {
    const one = Array.isArray(value) && !/^\d+$/.test(key) ? value[0] : value;
    return one === null || one === undefined ? undefined : (one as Document)[key];
  }, doc);
}

/** Any value of the type that a placeholder names. */
function anyOf(placeholder: string): unknown {
  const values: Record<string, unknown> = { '<number>': 0, '<date>': new Date(0), '<list>': [], '<pattern>': /^name 1/, '<value>': null };
  return placeholder in values ? values[placeholder] : '0';
}

/** Whether a document matches a condition with suitable values. */
function fits(doc: Document, field: string, condition: unknown): boolean {
  if (field === '$or') return (condition as Document[]).some((one) => fitsAll(doc, one));
  if (field === '$and') return (condition as Document[]).every((one) => fitsAll(doc, one));
  if (field.startsWith('$')) return true;
  const found = valueAt(doc, field);
  const value = Array.isArray(found) && !isOperators(condition) ? found[0] : found;
  if (isPlaceholder(condition)) return value !== undefined && value !== null;
  if (!isOperators(condition)) return condition === null ? value === null || value === undefined : value === condition;
  return Object.entries(condition).every(([operator, operand]) => {
    if (operator === '$exists') return operand === (value !== undefined);
    if (operator === '$ne') return value !== operand;
    if (operator === '$in') return (operand as unknown[]).some((one) => fits(doc, field, one));
    return operator === '$nin' || operator === '$not' || (value !== undefined && value !== null);
  });
}

const fitsAll = (doc: Document, filter: Document): boolean =>
  Object.entries(filter).every(([field, condition]) => fits(doc, field, condition));

/** How many conditions of the filter the document can match. */
function countFits(doc: Document, filter: Document): number {
  let count = 0;
  for (const field in filter) if (fits(doc, field, filter[field])) count++;
  return count;
}

function toExpression(shape: unknown): unknown {
  if (isPlaceholder(shape)) return anyOf(shape);
  if (Array.isArray(shape)) return shape.map(toExpression);
  return shape !== null && typeof shape === 'object'
    ? Object.fromEntries(Object.entries(shape).map(([key, inner]) => [key, toExpression(inner)]))
    : shape;
}

function toCondition(field: string, condition: unknown, docs: readonly Document[]): unknown {
  const [found] = docs.map((doc) => valueAt(doc, field));
  const value = Array.isArray(found) && !(isOperators(condition) && '$elemMatch' in condition) ? found[0] : found;
  if (isPlaceholder(condition)) return value ?? anyOf(condition);
  if (!isOperators(condition)) return condition;
  const isRange = Object.keys(condition).some((key) => key.startsWith('$gt'));
  const toOperand = ([operator, operand]: [string, unknown]): unknown => {
    if (operator === '$in')
      return (operand as unknown[]).flatMap((one) => (isPlaceholder(one) ? docs.map((doc) => valueAt(doc, field) ?? anyOf(one)) : [one]));
    if (operator === '$nin' || operator === '$all') return (operand as string[]).map(anyOf);
    if (operator === '$ne') return isPlaceholder(operand) ? anyOf(operand) : operand;
    if (operator === '$elemMatch') return toFilter(operand as Document, [(value as Document[] | undefined)?.[0] ?? {}]);
    if (operator === '$not') return toCondition(field, operand, docs);
    if (operator.startsWith('$lt') && isRange) return valueAt(docs.at(-1), field) ?? anyOf(operand as string);
    return isPlaceholder(operand) ? (operand === '<pattern>' ? anyOf(operand) : (value ?? anyOf(operand))) : operand;
  };
  return Object.fromEntries(Object.entries(condition).map((one) => [one[0], toOperand(one)]));
}

/** A filter with the values of the first of `docs`; lists have those of all. */
function toFilter(filter: Document, docs: readonly Document[]): Document {
  return Object.fromEntries(
    Object.entries(filter).map(([field, condition]) => {
      if (field === '$expr') return [field, toExpression(condition)];
      if (field.startsWith('$')) return [field, (condition as Document[]).map((one) => toFilter(one, docs))];
      return [field, toCondition(field, condition, docs)];
    }),
  );
}

/** The documents of the largest group that have the same values in `fields`. */
function findLargestGroup(docs: readonly Document[], fields: readonly string[]): readonly Document[] {
  const groups = new Map<string, Document[]>();
  for (const doc of docs) {
    const key = JSON.stringify(fields.map((field) => valueAt(doc, field)));
    const group = groups.get(key);
    if (group) group.push(doc);
    else groups.set(key, [doc]);
  }
  return [...groups.values()].reduce<readonly Document[]>((largest, group) => (group.length > largest.length ? group : largest), []);
}

/** A filter of this shape that documents of the collection match: as many as possible by its equalities, with values from their middle. */
export function instantiate({ filter }: Shape, population: readonly Document[]): Document {
  const fitting = population.map((doc) => countFits(doc, filter));
  const best = fitting.reduce((most, count) => Math.max(most, count), 0);
  const matching = population.filter((_, at) => fitting[at] === best);
  const equalities = Object.entries(filter).flatMap(([field, condition]) => (isPlaceholder(condition) ? [field] : []));
  const group = findLargestGroup(matching, equalities);
  const middle = Math.floor(group.length / 2);
  return toFilter(filter, group.slice(middle, middle + listedValues));
}
