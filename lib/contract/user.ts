import { type Static, Type } from 'typebox';
import { Id, Name, Nullable, Timestamp } from './shared.ts';

/** A mark beside an author's name (spec, Message). */
export const Tag = Type.Union([Type.Literal('bot'), Type.Literal('verified_bot'), Type.Literal('official'), Type.Literal('system')]);
export type Tag = Static<typeof Tag>;

/** What others see of an account where only its face is needed. */
export const UserFace = Type.Object({
  id: Type.String(),
  username: Type.String(),
  displayName: Type.String(),
  avatarUrl: Nullable(Type.String()),
});
export type UserFace = Static<typeof UserFace>;

/** The author of a message; `tag` only when there is one. */
export const Author = Type.Object({ ...UserFace.properties, tag: Type.Optional(Tag) });
export type Author = Static<typeof Author>;

/** A status that an account chooses (spec, Bot presence). */
export const ChosenStatus = Type.Union([Type.Literal('online'), Type.Literal('idle'), Type.Literal('dnd'), Type.Literal('invisible')]);
export type ChosenStatus = Static<typeof ChosenStatus>;

/** A status as others see it. */
export const SeenStatus = Type.Union([Type.Literal('online'), Type.Literal('idle'), Type.Literal('dnd'), Type.Literal('offline')]);
export type SeenStatus = Static<typeof SeenStatus>;

/** The caller's own account: `GET /api/auth/me` (decisions 3). */
export const Me = Type.Object({
  ...UserFace.properties,
  tag: Nullable(Tag),
  status: ChosenStatus,
  customStatus: Nullable(Type.String()),
  bot: Type.Boolean(),
  applicationId: Type.Optional(Id),
  createdAt: Timestamp,
});
export type Me = Static<typeof Me>;

const Username = Type.String({ minLength: 2, maxLength: 32, pattern: '^[a-z0-9_.]+$' });
const Password = Type.String({ minLength: 8, maxLength: 256 });

/** `POST /api/auth/register`. */
export const RegisterInput = Type.Object({ username: Username, password: Password, displayName: Type.Optional(Name(32)) });
export type RegisterInput = Static<typeof RegisterInput>;

/** `POST /api/auth/login`. */
export const LoginInput = Type.Object({ username: Type.String({ maxLength: 256 }), password: Type.String({ maxLength: 256 }) });
export type LoginInput = Static<typeof LoginInput>;

/** A fresh session: the account and the token that is shown this once. */
export const Session = Type.Object({ user: Me, token: Type.String() });
export type Session = Static<typeof Session>;
