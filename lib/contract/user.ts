import { type Static, Type } from 'typebox';
import { limits } from '../base/limits.ts';
import { AccountDeletion } from './account-deletion.ts';
import { Choice, Id, Name, Nullable, OwnPassword, Timestamp } from './shared.ts';
import { TwoFactorCode } from './two-factor.ts';

/** A tag beside an author's name (docs/behavior/accounts.md#tags). */
export const Tag = Choice(['bot', 'verified_bot', 'official', 'system']);
export type Tag = Static<typeof Tag>;

/** The public profile of an account: its id, names and avatar. */
export const UserSummary = Type.Object({
  id: Type.String(),
  username: Type.String(),
  displayName: Type.String(),
  avatarUrl: Nullable(Type.String()),
});
export type UserSummary = Static<typeof UserSummary>;

/** The public profile of an account with its tag: the payload of `USER_UPDATE`. */
export const PublicUser = Type.Object({ ...UserSummary.properties, tag: Nullable(Tag) });
export type PublicUser = Static<typeof PublicUser>;

/** The author of a message. `tag` is absent if the account has none. */
export const Author = Type.Object({ ...UserSummary.properties, tag: Type.Optional(Tag) });
export type Author = Static<typeof Author>;

/** A status that an account chooses (docs/behavior/accounts.md#presence). */
export const ChosenStatus = Choice(['online', 'idle', 'dnd', 'invisible']);
export type ChosenStatus = Static<typeof ChosenStatus>;

/** A status as others see it. */
export const VisibleStatus = Choice(['online', 'idle', 'dnd', 'offline']);
export type VisibleStatus = Static<typeof VisibleStatus>;

/** The caller's own account: `GET /api/auth/me` (docs/behavior/accounts.md#own-account). */
export const Me = Type.Object({
  ...UserSummary.properties,
  tag: Nullable(Tag),
  status: ChosenStatus,
  customStatus: Nullable(Type.String()),
  bot: Type.Boolean(),
  applicationId: Type.Optional(Id),
  /** People only, while the deletion of the account is scheduled. */
  deletion: Type.Optional(AccountDeletion),
  createdAt: Timestamp,
});
export type Me = Static<typeof Me>;

/** `PATCH /api/users/@me` 200: the caller's own account with its bio and pronouns. */
export const MeDetails = Type.Object({ ...Me.properties, bio: Nullable(Type.String()), pronouns: Nullable(Type.String()) });
export type MeDetails = Static<typeof MeDetails>;

/** `PATCH /api/users/@me`. Omitted fields do not change; null and `""` clear a field. Without a display name the username is shown. */
export const MePatch = Type.Object({
  displayName: Type.Optional(Nullable(Type.Union([Name(32), Type.Literal('')]))),
  bio: Type.Optional(Nullable(Type.String({ maxLength: limits.bioChars }))),
  pronouns: Type.Optional(Nullable(Type.String({ maxLength: limits.pronounsChars }))),
});
export type MePatch = Static<typeof MePatch>;

/** `PATCH /api/users/@me/presence`: one field or both; null and `""` clear the custom status (docs/behavior/accounts.md#presence). */
export const PresencePatch = Type.Object({
  status: Type.Optional(ChosenStatus),
  customStatus: Type.Optional(Nullable(Type.String({ maxLength: limits.customStatusChars }))),
});
export type PresencePatch = Static<typeof PresencePatch>;

/** The badges of a profile, in the order of docs/behavior/accounts.md#badges. */
export const badges = ['staff', 'developer', 'partner', 'verified_server_owner', 'early_access'] as const;
export type Badge = (typeof badges)[number];
const Badge = Choice(['staff', 'developer', 'partner', 'verified_server_owner', 'early_access']);

/**
 * The profile of an account, for callers who share a server or a DM with it (docs/behavior/accounts.md#profiles). `serverJoinedAt` is present if both are in
 * the server of the query.
 */
export const Profile = Type.Object({
  user: Type.Object({
    id: Id,
    username: Type.String(),
    displayName: Type.String(),
    status: VisibleStatus,
    customStatus: Nullable(Type.String()),
  }),
  bio: Nullable(Type.String()),
  pronouns: Nullable(Type.String()),
  createdAt: Timestamp,
  mutualServers: Type.Array(Type.Object({ id: Id, name: Type.String(), iconUrl: Nullable(Type.String()) }), {
    maxItems: limits.mutualServersListed,
  }),
  badges: Type.Array(Badge, { maxItems: badges.length }),
  tag: Nullable(Tag),
  serverJoinedAt: Type.Optional(Timestamp),
});
export type Profile = Static<typeof Profile>;

/** Query of a profile. */
export const ProfileQuery = Type.Object({ serverId: Type.Optional(Id) });
export type ProfileQuery = Static<typeof ProfileQuery>;

/** A username that a person chooses. */
export const Username = Type.String({
  minLength: 2,
  maxLength: 32,
  pattern: '^[a-z0-9_.]+$',
  patternText: 'Use only lowercase letters, numbers, _ and dots.',
});
const Password = Type.String({ minLength: 8, maxLength: 256 });

/** `POST /api/auth/register`. `invite` is the code of an invite to a server; it is read only with `REGISTRATION=invite`. */
export const RegisterInput = Type.Object({
  username: Username,
  password: Password,
  displayName: Type.Optional(Name(32)),
  invite: Type.Optional(Type.String({ maxLength: 64 })),
});
export type RegisterInput = Static<typeof RegisterInput>;

/** `POST /api/auth/login`. `code` is a code of an authenticator app or a recovery code, for an account with two-factor authentication. */
export const LoginInput = Type.Object({
  username: Type.String({ maxLength: 256 }),
  password: Type.String({ maxLength: 256 }),
  code: Type.Optional(TwoFactorCode),
});
export type LoginInput = Static<typeof LoginInput>;

/** `POST /api/auth/codes` 201: a code that logs the caller in once, until `expiresAt`. The code is shown only in this response. */
export const LoginCode = Type.Object({ code: Type.String(), expiresAt: Timestamp });
export type LoginCode = Static<typeof LoginCode>;

/** `POST /api/auth/code`. */
export const LoginCodeInput = Type.Object({ code: Type.String({ maxLength: 256 }) });
export type LoginCodeInput = Static<typeof LoginCodeInput>;

/** `POST /api/auth/codes/preview` 200: the account that a code logs in, and when the code expires. */
export const LoginCodePreview = Type.Object({ user: UserSummary, expiresAt: Timestamp });
export type LoginCodePreview = Static<typeof LoginCodePreview>;

/** `POST /api/auth/password-reset/preview`. */
export const PasswordResetCode = Type.Object({ code: Type.String({ maxLength: 256 }) });

/** `POST /api/auth/password-reset`. */
export const PasswordResetInput = Type.Object({ ...PasswordResetCode.properties, newPassword: Password });
export type PasswordResetInput = Static<typeof PasswordResetInput>;

/** `POST /api/auth/password-reset/preview` 200: the account whose password a code changes, and when the code expires. */
export const PasswordResetPreview = Type.Object({ user: UserSummary, expiresAt: Timestamp });
export type PasswordResetPreview = Static<typeof PasswordResetPreview>;

/**
 * `GET /api/instance`: who can create accounts and servers on this installation, and the provider of OpenID Connect, if there is one: its name, and whether it
 * can create accounts.
 */
export const Instance = Type.Object({
  registration: Choice(['open', 'invite', 'closed']),
  serverCreation: Choice(['everyone', 'operators']),
  signIn: Nullable(Type.Object({ name: Type.String(), canCreate: Type.Boolean() })),
});
export type Instance = Static<typeof Instance>;

/** A new session: the account and the token. The token is shown only in this response. */
export const Session = Type.Object({ user: Me, token: Type.String() });
export type Session = Static<typeof Session>;

/** One of the caller's sessions: `GET /api/users/@me/sessions`. `lastUsedAt` is accurate to five minutes. `address` was used then. */
export const OwnSession = Type.Object({
  id: Id,
  createdAt: Timestamp,
  lastUsedAt: Timestamp,
  device: Type.String(),
  address: Nullable(Type.String()),
  current: Type.Boolean(),
});
export type OwnSession = Static<typeof OwnSession>;

/** `POST /api/users/@me/export`. */
export const ExportInput = Type.Object({ password: OwnPassword });

/** The export of the caller's data. `bytes` and `expiresAt` are null until it is ready. */
export const Export = Type.Object({
  id: Id,
  state: Choice(['waiting', 'running', 'ready', 'failed']),
  createdAt: Timestamp,
  expiresAt: Nullable(Timestamp),
  bytes: Nullable(Type.Integer({ minimum: 0 })),
});
export type Export = Static<typeof Export>;

/** `PUT /api/users/@me/password`. */
export const PasswordInput = Type.Object({ currentPassword: OwnPassword, newPassword: Password });
export type PasswordInput = Static<typeof PasswordInput>;
