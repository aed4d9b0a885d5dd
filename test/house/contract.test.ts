import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { expect } from 'chai';
import type { TSchema } from 'typebox';
import { ObjectOf } from '../../lib/contract/schemas.ts';
import { Id } from '../../lib/contract/shared.ts';
import { contractFiles } from './files.ts';

/** The parts of a schema that are read here. */
interface Parts {
  properties?: Record<string, TSchema>;
  items?: TSchema;
  anyOf?: TSchema[];
  oneOf?: TSchema[];
  description?: string;
  examples?: unknown[];
  '~documented'?: TSchema;
}

const isSchema = (value: unknown): value is TSchema => typeof value === 'object' && value !== null && '~kind' in value;

/** The exported schemas of a file of the contract by their names. */
const schemasOf = async (file: string): Promise<[name: string, schema: TSchema][]> => {
  const exported = Object.entries(await import(`../../${file}`));
  return exported.filter((entry): entry is [string, TSchema] => isSchema(entry[1]));
};

/** All properties within a schema, by their paths. */
function* propertiesOf(schema: TSchema, path: string): Generator<[path: string, name: string, property: TSchema]> {
  const { properties = {}, items, anyOf = [], oneOf = [], '~documented': documented } = schema as Parts;
  for (const [name, property] of Object.entries(properties)) {
    yield [`${path}.${name}`, name, property];
    yield* propertiesOf(property, `${path}.${name}`);
  }
  for (const inner of [...anyOf, ...oneOf, ...(items ? [items] : []), ...(documented ? [documented] : [])])
    yield* propertiesOf(inner, path);
}

const toWords = (text: string): string =>
  text
    .toLowerCase()
    .replace(/^(the|a|an) /, '')
    .replace(/[^a-z0-9]/g, '');

/** What is wrong with the description of a property called `name`; null if nothing is. */
function findFault(name: string, { description }: Parts): string | null {
  if (description === undefined) return 'has no description';
  if (!description.endsWith('.')) return 'has a description without a period at its end';
  return toWords(description) === toWords(name) ? 'has a description that repeats its name' : null;
}

const listFaults = (schema: TSchema, name: string): string[] =>
  [...propertiesOf(schema, name)].flatMap(([path, property, inner]) => {
    const fault = findFault(property, inner);
    return fault === null ? [] : [`${path} ${fault}`];
  });

const ajv = new Ajv2020({ strict: false });
formats.default(ajv, ['date-time']);

/** The faults of the examples of a schema that describes objects. */
function listExampleFaults(schema: TSchema, name: string): string[] {
  const { properties, oneOf, examples = [], '~documented': documented } = schema as Parts;
  if (!properties && !oneOf) return [];
  if (examples.length === 0) return [`${name} has no example`];
  return [schema, ...(documented ? [documented] : [])].flatMap((one) =>
    examples.filter((example) => !ajv.validate(one, example)).map((example) => `${name}: ${ajv.errorsText()}: ${JSON.stringify(example)}`),
  );
}

describe('schemas of the contract', () => {
  for (const file of contractFiles)
    it(`${file}: every property has a description, and every object a valid example`, async () => {
      const schemas = await schemasOf(file);
      const faults = schemas.flatMap(([name, schema]) => [...listFaults(schema, name), ...listExampleFaults(schema, name)]);
      expect([...new Set(faults)]).to.deep.equal([]);
    });

  const cases: [what: string, schema: TSchema, fault: RegExp][] = [
    ['a property without a description', ObjectOf({ a: { ...Id, description: undefined } }, 'A.'), /a has no description/],
    ['a description without a period', ObjectOf({ a: { ...Id, description: 'No end' } }, 'A.'), /without a period/],
    ['a description that repeats the name', ObjectOf({ userId: { ...Id, description: 'The user id.' } }, 'A.'), /repeats its name/],
  ];
  for (const [what, schema, fault] of cases)
    it(`the check detects ${what}`, () => expect(listFaults(schema, 'schema').join('\n')).to.match(fault));

  it('the check detects an example that is not valid', () => {
    const schema = ObjectOf({ id: Id }, 'An object.', { id: 'x' });
    expect(listExampleFaults(schema, 'schema').join('\n')).to.match(/must match pattern/);
  });
});
