import { type Static, type TEnum, type TSchema, type TSchemaOptions, Type } from 'typebox';
import { limits } from '../base/limits.ts';

/** An id: 19 digits. */
export const Id = Type.String({
  pattern: '^[0-9]{19}$',
  patternText: 'Use an id of 19 digits.',
  description: 'A Snowflake id of 19 digits. Sorts by time as a string.',
});

/** A copy of `schema` with a hidden property, which validation and serialization do not see. Type.Optional keeps it. */
function copyWithHidden<S extends TSchema>(schema: S, name: '~kind' | '~base' | '~documented', value: unknown): S {
  const copy = Object.defineProperties({}, Object.getOwnPropertyDescriptors(schema)) as S;
  return Object.defineProperty(copy, name, { value, configurable: true, enumerable: false });
}

/**
 * `schema` with a description of its own for one place, such as a property. The hidden `~base` is the original schema: if that is a component of a document,
 * the documents write `{ allOf: [{ $ref }], description }`, because older tools ignore what is beside a `$ref`. Any other schema is written inline.
 */
export function Described<S extends TSchema>(schema: S, description: string): S {
  const base = (schema as { '~base'?: TSchema })['~base'] ?? schema;
  return Object.assign(copyWithHidden(schema, '~base', base), { description });
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
 * One of the named schemas `members`, told apart by the property `discriminator`, which is a constant in each of them. The documents add the `mapping`.
 * Use it in `DocumentedAs` or for responses: the errors of a failed `oneOf` are not clear enough for a body.
 */
export const OneOf = <M extends readonly TSchema[]>(discriminator: string, members: readonly [...M], options: TSchemaOptions = {}) =>
  copyWithHidden(
    Type.Unsafe<Static<M[number]>>({ oneOf: members, discriminator: { propertyName: discriminator }, ...options }),
    '~kind',
    'OneOf',
  );

/** A time in ISO 8601, in UTC, with milliseconds. */
export const Timestamp = Type.String({ format: 'date-time' });

/** `schema`, or null. */
export const Nullable = <S extends TSchema>(schema: S) => Type.Union([schema, Type.Null()]);

/** A name of up to `max` code points: trimmed, without line breaks, not blank (docs/behavior/requests.md#names). */
export const Name = (max: number) =>
  Type.String({
    minLength: 1,
    maxLength: max,
    pattern: '^(?=.*\\S)[^\\r\\n\\u2028\\u2029]*$',
    patternText: 'Use one line that is not blank.',
  });

/** A set of permission bits as a number (docs/behavior/servers.md#permissions). */
export const Permissions = Type.Integer({ minimum: 0, maximum: 8191 });

/** An absolute http(s) link. */
export const Link = Type.String({
  maxLength: 2048,
  pattern: '^[Hh][Tt][Tt][Pp][Ss]?://[^\\s]+$',
  patternText: 'Use a link that begins with http:// or https://.',
});

/** The query of a page of messages (docs/behavior/messages.md#listing). Numbers arrive as text and are checked as whole numbers. */
export const MessagesQuery = Type.Object({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: limits.pageMax })),
  before: Type.Optional(Id),
  after: Type.Optional(Id),
});
export type MessagesQuery = Static<typeof MessagesQuery>;

/** Query of a page whose items are older than `before`. */
export const BeforeQuery = Type.Object({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: limits.pageMax })),
  before: Type.Optional(Id),
});
export type BeforeQuery = Static<typeof BeforeQuery>;

/** The URL of a new avatar or icon (docs/behavior/accounts.md#pictures). */
export const Picture = Type.Object({ url: Type.String() });
export type Picture = Static<typeof Picture>;

/** The caller's own password. An account without a password leaves it out (docs/behavior/accounts.md#accounts-without-a-password). */
export const OwnPassword = Type.Optional(Type.String({ maxLength: 256 }));
