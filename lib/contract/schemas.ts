import { type Static, type TEnum, type TObject, type TProperties, type TSchema, type TSchemaOptions, Type } from 'typebox';

/** The parts of a schema that its example is made of. */
interface ExampleParts {
  examples?: readonly unknown[];
  const?: unknown;
  enum?: readonly unknown[];
  anyOf?: readonly TSchema[];
  oneOf?: readonly TSchema[];
  items?: TSchema;
  properties?: TProperties;
  type?: string;
  minimum?: number;
  maxItems?: number;
}

/** An example of `schema`: its own, else one that is made of the examples of its parts. */
export function exampleOf(schema: TSchema): unknown {
  const parts = schema as ExampleParts;
  if (parts.examples) return parts.examples[0];
  if (parts.const !== undefined) return parts.const;
  if (parts.enum) return parts.enum[0];
  const [first] = parts.anyOf ?? parts.oneOf ?? [];
  if (first) return exampleOf(first);
  if (parts.type === 'array') return parts.items && parts.maxItems !== 0 ? [exampleOf(parts.items)] : [];
  if (parts.properties) return Object.fromEntries(Object.entries(parts.properties).map(([name, inner]) => [name, exampleOf(inner)]));
  if (parts.type === 'integer' || parts.type === 'number') return parts.minimum ?? 0;
  return parts.type === 'boolean' ? false : parts.type === 'null' ? null : 'text';
}

/**
 * An object with an example that is made of those of its properties. `changes` replaces properties of the example; undefined removes one.
 */
export const ObjectOf = <P extends TProperties>(properties: P, description: string, changes: Record<string, unknown> = {}): TObject<P> => {
  const composed = exampleOf(Type.Object(properties)) as Record<string, unknown>;
  const example = Object.fromEntries(Object.entries({ ...composed, ...changes }).filter(([, value]) => value !== undefined));
  return Type.Object(properties, { description, examples: [example] });
};

/** A copy of `schema` with a hidden property, which validation and serialization do not see. Type.Optional keeps it. */
function copyWithHidden<S extends TSchema>(schema: S, name: '~kind' | '~base' | '~documented', value: unknown): S {
  const copy = Object.defineProperties({}, Object.getOwnPropertyDescriptors(schema)) as S;
  return Object.defineProperty(copy, name, { value, configurable: true, enumerable: false });
}

/**
 * `schema` with a description of its own for one place, such as a property, and maybe an example. The hidden `~base` is the original schema: if that is a
 * component of a document, the documents write `{ allOf: [{ $ref }], description }`, because older tools ignore what is beside a `$ref`. Any other schema is
 * written inline.
 */
export function Described<S extends TSchema>(schema: S, description: string, example?: unknown): S {
  const base = (schema as { '~base'?: TSchema })['~base'] ?? schema;
  return Object.assign(copyWithHidden(schema, '~base', base), { description, ...(example === undefined ? {} : { examples: [example] }) });
}

/**
 * `schema` for validation, and `documented` for the documents, which is clearer for readers and generators. Each value that `documented` describes is valid.
 * The hidden `~documented` is what the documents write under the name of the schema.
 */
export const DocumentedAs = <S extends TSchema>(schema: S, documented: TSchema): S => copyWithHidden(schema, '~documented', documented);

/** One of `values`. */
export const Choice = <V extends (string | number)[]>(values: readonly [...V], options: TSchemaOptions = {}): TEnum<V> =>
  Type.Enum(values, { type: typeof values[0] === 'number' ? 'integer' : 'string', ...options });

/**
 * One of the named schemas `members`, told apart by the property `discriminator`, which is a constant in each of them. The example is that of
 * the first one. The documents add the `mapping`.
 * Use it in `DocumentedAs` or for responses: the errors of a failed `oneOf` are not clear enough for a body.
 */
export const OneOf = <M extends readonly TSchema[]>(discriminator: string, members: readonly [...M], description: string) =>
  copyWithHidden(
    Type.Unsafe<Static<M[number]>>({
      oneOf: members,
      discriminator: { propertyName: discriminator },
      description,
      examples: [exampleOf(members[0])],
    }),
    '~kind',
    'OneOf',
  );
