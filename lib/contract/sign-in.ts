import { type Static, Type } from 'typebox';
import { Username } from './auth.ts';
import { Described, ObjectOf } from './schemas.ts';
import { Nullable, OwnPassword, Timestamp } from './shared.ts';
import { OwnCode } from './two-factor.ts';
import { DisplayName } from './user.ts';

/** `GET /api/auth/oidc/pending` 200: the sign-in of this browser that belongs to no account yet, with names that the provider suggests. */
export const PendingSignIn = ObjectOf(
  {
    username: Described(Nullable(Type.String()), 'A username that the provider suggests; null if it suggests none.', 'ada'),
    displayName: Described(Nullable(Type.String()), 'A display name that the provider suggests; null if it suggests none.', 'Ada Lovelace'),
    expiresAt: Described(Timestamp, 'Until when the sign-in can be completed.'),
  },
  'A sign-in of this browser that belongs to no account yet.',
);
export type PendingSignIn = Static<typeof PendingSignIn>;

/** `POST /api/auth/oidc/account`. */
export const SignInAccountInput = ObjectOf(
  { username: Username, displayName: Type.Optional(DisplayName) },
  'Creates an account without a password for the sign-in of this browser.',
);
export type SignInAccountInput = Static<typeof SignInAccountInput>;

/** The account of the provider of OpenID Connect that an account is linked to. */
export const LinkedSignIn = ObjectOf(
  {
    issuer: Type.String({
      description: 'The address of the provider that the account was linked at.',
      examples: ['https://id.example.org'],
    }),
    linkedAt: Described(Timestamp, 'When it was linked.'),
  },
  'The linked account of the provider of OpenID Connect.',
);

/**
 * `GET /api/users/@me/sign-in`: how the caller logs in. `linked` is the account of the provider; `issuer` is the provider that it was linked at. `isFresh`:
 * the provider opened this session within the last ten minutes, so that an account without a password can be changed.
 */
export const OwnSignIn = ObjectOf(
  {
    hasPassword: Type.Boolean({ description: 'Whether the caller can log in with a password.', examples: [true] }),
    linked: Described(Nullable(LinkedSignIn), 'The linked account of the provider; null if there is none.'),
    isFresh: Type.Boolean({
      description:
        'Whether the provider opened this session within the last 10 minutes. Only then an account without a password can be changed.',
    }),
  },
  'How the caller logs in.',
);
export type OwnSignIn = Static<typeof OwnSignIn>;

/** `PUT` and `DELETE /api/users/@me/sign-in`. */
export const SignInFactorsInput = ObjectOf({ password: OwnPassword, code: OwnCode }, 'Confirms that the sign-in is linked or unlinked.', {
  code: undefined,
});
export type SignInFactorsInput = Static<typeof SignInFactorsInput>;
