import { type Static, type TSchema, Type } from 'typebox';
import { limits } from '../base/limits.ts';
import { characterTexts } from './characters.ts';
import { Described, ObjectOf } from './schemas.ts';

/** An id: 19 digits. */
export const Id = Type.String({
  pattern: '^[0-9]{19}$',
  patternText: 'Use an id of 19 digits.',
  description: 'A Snowflake id of 19 digits. Ids sort by time as text.',
  examples: ['1431655765432109876'],
});

/** Realistic ids for examples. */
const exampleIds = {
  user: '1431655765432100101',
  bot: '1431655765432100202',
  application: '1431655765432100202',
  server: '1431655765432100303',
  channel: '1431655765432100404',
  category: '1431655765432100405',
  message: '1431655765432100506',
  role: '1431655765432100607',
  command: '1431655765432100708',
  interaction: '1431655765432100809',
  webhook: '1431655765432100910',
  other: '1431655765432101011',
} as const;

/** An id of a `kind` of object, described for one property. */
export const IdOf = (kind: keyof typeof exampleIds, description: string) => Described(Id, description, exampleIds[kind]);

/** A time in ISO 8601, in UTC, with milliseconds. */
export const Timestamp = Type.String({
  format: 'date-time',
  description: 'A date and time in ISO 8601, in UTC, with milliseconds.',
  examples: ['2026-11-25T09:30:00.000Z'],
});

/** `schema`, or null. */
export const Nullable = <S extends TSchema>(schema: S, description?: string) =>
  Type.Union([schema, Type.Null()], description === undefined ? {} : { description });

/** A name of up to `max` code points: trimmed, one line without control characters that shows something (docs/behavior/requests.md#names). */
export const Name = (max: number) =>
  Type.String({
    minLength: 1,
    maxLength: max,
    pattern: '^(?=.*\\S)[^\\r\\n\\u2028\\u2029]*$',
    patternText: characterTexts.name,
    characters: 'name',
    description: `One line of 1 to ${max} characters that is not blank. White space at its ends is removed.`,
  });

/** A set of permission bits as a number (docs/behavior/servers.md#permissions). */
export const Permissions = Type.Integer({
  minimum: 0,
  maximum: 8191,
  description: 'A set of permissions: the sum of their bits.',
  examples: [3],
});

/** An absolute http(s) link. */
export const Link = Type.String({
  maxLength: 2048,
  pattern: '^[Hh][Tt][Tt][Pp][Ss]?://[^\\s]+$',
  patternText: 'Use a link that begins with http:// or https://.',
  description: 'An absolute link that begins with http:// or https://, up to 2,048 characters.',
  examples: ['https://example.org/'],
});

/** The address of a picture, or null. */
export const PictureUrl = (description: string) =>
  Described(Nullable(Type.String()), description, 'http://localhost:8080/files/8f14e45fceea167a5a36dedd4bea2543/picture.webp');

/** The number of items of a page. */
export const PageLimit = (maximum: number, byDefault: number) =>
  Type.Integer({
    minimum: 1,
    maximum,
    description: `The largest number of items to return. Default: ${byDefault}.`,
    examples: [byDefault],
  });

/** Whether a page has a next one. */
export const HasMore = Type.Boolean({ description: 'Whether there are more items after this page.' });

/** The query of a page of messages (docs/behavior/messages.md#listing). Numbers arrive as text and are checked as whole numbers. */
export const MessagesQuery = ObjectOf(
  {
    limit: Type.Optional(PageLimit(limits.pageMax, limits.pageDefault)),
    before: Type.Optional(IdOf('message', 'Only messages older than this message id. Not together with `after`.')),
    after: Type.Optional(
      IdOf('message', 'Only messages newer than this message id, the oldest of them first. Not together with `before`.'),
    ),
  },
  'The query of a page of messages. Without `before` and `after`, the page has the newest messages.',
  { after: undefined },
);
export type MessagesQuery = Static<typeof MessagesQuery>;

/** Query of a page whose items are older than `before`. */
export const BeforeQuery = ObjectOf(
  {
    limit: Type.Optional(PageLimit(limits.pageMax, limits.pageDefault)),
    before: Type.Optional(IdOf('other', 'Only items older than the item with this id.')),
  },
  'The query of a page of items, newest first.',
);
export type BeforeQuery = Static<typeof BeforeQuery>;

/** The URL of a new avatar or icon (docs/behavior/accounts.md#pictures). */
export const Picture = ObjectOf(
  {
    url: Type.String({
      description: 'The address of the stored picture: a square WebP image of 256 pixels a side.',
      examples: ['http://localhost:8080/files/8f14e45fceea167a5a36dedd4bea2543/picture.webp'],
    }),
  },
  'A new avatar or icon.',
);
export type Picture = Static<typeof Picture>;

/**
 * Keywords of a text that must have no half of a surrogate pair. Such halves would all become U+FFFD, so that different passwords would be the same
 * (docs/behavior/accounts.md#passwords).
 */
export const wellFormed = {
  pattern: '^[^\\ud800-\\udfff]*$',
  patternText: 'This has half of a character. Type it again.',
} as const;

/** The caller's own password. An account without a password leaves it out (docs/behavior/accounts.md#accounts-without-a-password). */
export const OwnPassword = Type.Optional(
  Type.String({
    maxLength: 256,
    ...wellFormed,
    description:
      'The current password of the caller. Omit it for an account without a password, which needs a login of the last 10 minutes.',
    examples: ['correct horse battery staple'],
  }),
);
