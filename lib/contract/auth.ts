import { type Static, Type } from 'typebox';
import { Choice, Described, ObjectOf } from './schemas.ts';
import { IdOf, Nullable, OwnPassword, Timestamp, wellFormed } from './shared.ts';
import { OwnCode, TwoFactorCode } from './two-factor.ts';
import { DisplayName, Me, UserSummary } from './user.ts';

/** A username that a person chooses. */
export const Username = Type.String({
  minLength: 2,
  maxLength: 32,
  pattern: '^[a-z0-9_.]+$',
  patternText: 'Use only lowercase letters, numbers, _ and dots.',
  description: 'The name to log in with: 2 to 32 lowercase letters, digits, _ and dots. It is unique among people and cannot be changed.',
  examples: ['ada'],
});
const Password = Type.String({
  minLength: 8,
  maxLength: 256,
  ...wellFormed,
  description: 'The new password: 8 to 256 characters, not the username and none of the most common passwords.',
  examples: ['correct horse battery staple'],
});
const token = Type.String({
  description: 'The session token. It is secret, works for 90 days and is shown only in this response.',
  examples: ['1431655765432101011.q83vEjRWeJq8dFZ4mrzeAAECAwQFBgcICQoLDA0ODw8'],
});
const secretCode = (description: string) => Type.String({ description, examples: ['uS6xKq0w3pYb8Zr1nD4fVg'] });
const codeInput = (description: string) => Type.String({ maxLength: 256, description, examples: ['uS6xKq0w3pYb8Zr1nD4fVg'] });

/** `POST /api/auth/register`. `invite` is the code of an invite to a server; it is read only with `REGISTRATION=invite`. */
export const RegisterInput = ObjectOf(
  {
    username: Username,
    password: Password,
    displayName: Type.Optional(DisplayName),
    invite: Type.Optional(
      Type.String({
        maxLength: 64,
        description: 'The code of an invite to a server. Needed only where `registration` of the instance is `invite`, ignored otherwise.',
        examples: ['k3Xb9QmT2a'],
      }),
    ),
  },
  'Creates the account of a person.',
  { invite: undefined },
);
export type RegisterInput = Static<typeof RegisterInput>;

/** `POST /api/auth/login`. `code` is a code of an authenticator app or a recovery code, for an account with two-factor authentication. */
export const LoginInput = ObjectOf(
  {
    username: Type.String({ maxLength: 256, ...wellFormed, description: 'The username of the person.', examples: ['ada'] }),
    password: Type.String({
      maxLength: 256,
      ...wellFormed,
      description: 'The password of the person.',
      examples: ['correct horse battery staple'],
    }),
    code: Type.Optional(
      Described(
        TwoFactorCode,
        'A code of the authenticator app or a recovery code. Ignored for accounts without two-factor authentication.',
      ),
    ),
  },
  'Logs a person in.',
  { code: undefined },
);
export type LoginInput = Static<typeof LoginInput>;

/** `POST /api/auth/codes` 201: a code that logs the caller in once, until `expiresAt`. The code is shown only in this response. */
export const LoginCode = ObjectOf(
  {
    code: secretCode('The code. It logs the caller in once on another device and is shown only in this response.'),
    expiresAt: Described(Timestamp, 'Until when the code works: 15 minutes.'),
  },
  'A code that logs the caller in on another device.',
);
export type LoginCode = Static<typeof LoginCode>;

/** `POST /api/auth/code`. */
export const LoginCodeInput = ObjectOf({ code: codeInput('The login code.') }, 'Logs in with a login code, or shows whom it logs in.');
export type LoginCodeInput = Static<typeof LoginCodeInput>;

/** `POST /api/auth/codes/preview` 200: the account that a code logs in, and when the code expires. */
export const LoginCodePreview = ObjectOf(
  { user: Described(UserSummary, 'The account that the code logs in.'), expiresAt: Described(Timestamp, 'Until when the code works.') },
  'The account that a login code logs in.',
);
export type LoginCodePreview = Static<typeof LoginCodePreview>;

/** `POST /api/auth/password-reset/preview`. */
export const PasswordResetCode = ObjectOf({ code: codeInput('The code of the password link.') }, 'Shows whose password a link changes.');

/** `POST /api/auth/password-reset`. */
export const PasswordResetInput = ObjectOf(
  { ...PasswordResetCode.properties, newPassword: Password },
  'Sets a new password with the code of a password link.',
);
export type PasswordResetInput = Static<typeof PasswordResetInput>;

/** `POST /api/auth/password-reset/preview` 200: the account whose password a code changes, and when the code expires. */
export const PasswordResetPreview = ObjectOf(
  {
    user: Described(UserSummary, 'The account whose password the code changes.'),
    expiresAt: Described(Timestamp, 'Until when the code works.'),
  },
  'The account whose password a link changes.',
);
export type PasswordResetPreview = Static<typeof PasswordResetPreview>;

/** The provider of OpenID Connect of an installation. */
export const SignInProvider = ObjectOf(
  {
    name: Type.String({ description: 'The name of the provider, for the button that logs in with it.', examples: ['Example ID'] }),
    canCreate: Type.Boolean({ description: 'Whether a sign-in by the provider can create an account.' }),
  },
  'The provider of OpenID Connect that people can log in with.',
);

/**
 * `GET /api/instance`: who can create accounts and servers on this installation, and the provider of OpenID Connect, if there is one: its name, and whether it
 * can create accounts.
 */
export const Instance = ObjectOf(
  {
    registration: Choice(['open', 'invite', 'closed'], {
      description: 'Who can create an account. `open`: everyone. `invite`: who has an invite to a server. `closed`: nobody.',
    }),
    serverCreation: Choice(['everyone', 'operators'], { description: 'Who can create servers: `everyone`, or `operators` only.' }),
    signIn: Described(Nullable(SignInProvider), 'The provider of OpenID Connect; null if there is none.'),
  },
  'What this installation allows.',
  { signIn: null },
);
export type Instance = Static<typeof Instance>;

/** A new session: the account and the token. The token is shown only in this response. */
export const Session = ObjectOf({ user: Described(Me, 'The account that is logged in.'), token }, 'A new session of a person.');
export type Session = Static<typeof Session>;

/** One of the caller's sessions: `GET /api/users/@me/sessions`. `lastUsedAt` is accurate to five minutes. `address` was used then. */
export const OwnSession = ObjectOf(
  {
    id: IdOf('other', 'The id of the session.'),
    createdAt: Described(Timestamp, 'When the session began.'),
    lastUsedAt: Described(Timestamp, 'When the session was used last, accurate to five minutes.'),
    device: Type.String({
      description: 'The browser and system of the session, derived from `User-Agent`.',
      examples: ['Firefox on Windows'],
    }),
    address: Described(Nullable(Type.String()), 'The IP address of the last use; null if it is not known.', '203.0.113.7'),
    current: Type.Boolean({ description: 'Whether it is the session of this request.', examples: [true] }),
  },
  'A session of the caller.',
);
export type OwnSession = Static<typeof OwnSession>;

/** `POST /api/users/@me/export`. */
export const ExportInput = ObjectOf({ password: OwnPassword, code: OwnCode }, 'Requests an archive of the data of the caller.', {
  code: undefined,
});
export type ExportInput = Static<typeof ExportInput>;

/** The export of the caller's data. `bytes` and `expiresAt` are null until it is ready. */
export const Export = ObjectOf(
  {
    id: IdOf('other', 'The id of the export.'),
    state: Choice(['waiting', 'running', 'ready', 'failed'], {
      description:
        '`waiting`: not begun. `running`: being made. `ready`: can be downloaded. `failed`: given up; a new one can be requested.',
    }),
    createdAt: Described(Timestamp, 'When it was requested.'),
    expiresAt: Nullable(Timestamp, 'When the archive is deleted, 7 days after it is ready; null until it is ready.'),
    bytes: Described(Nullable(Type.Integer({ minimum: 0 })), 'The size of the archive in bytes; null until it is ready.', 48_213),
  },
  'An archive of the data of the caller.',
  { state: 'ready' },
);
export type Export = Static<typeof Export>;

/** `PUT /api/users/@me/password`. */
export const PasswordInput = ObjectOf(
  { currentPassword: OwnPassword, newPassword: Password, code: OwnCode },
  'Changes the password of the caller.',
  { code: undefined },
);
export type PasswordInput = Static<typeof PasswordInput>;
