import { type Static, Type } from 'typebox';
import { Name, Nullable, OwnPassword, Timestamp } from './shared.ts';
import { LoginInput, Username } from './user.ts';

/** `GET /api/auth/oidc/pending` 200: the sign-in of this browser that belongs to no account yet, with names that the provider suggests. */
export const PendingSignIn = Type.Object({
  username: Nullable(Type.String()),
  displayName: Nullable(Type.String()),
  expiresAt: Timestamp,
});
export type PendingSignIn = Static<typeof PendingSignIn>;

/** `POST /api/auth/oidc/account`. */
export const SignInAccountInput = Type.Object({ username: Username, displayName: Type.Optional(Name(32)) });
export type SignInAccountInput = Static<typeof SignInAccountInput>;

/** `POST /api/auth/oidc/link`: the account that the sign-in shall belong to, with its password. */
export const SignInLinkInput = LoginInput;

/**
 * `GET /api/users/@me/sign-in`: how the caller logs in. `linked` is the account of the provider; `issuer` is the provider that it was linked at. `isFresh`:
 * the provider opened this session within the last ten minutes, so that an account without a password can be changed.
 */
export const OwnSignIn = Type.Object({
  hasPassword: Type.Boolean(),
  linked: Nullable(Type.Object({ issuer: Type.String(), linkedAt: Timestamp })),
  isFresh: Type.Boolean(),
});
export type OwnSignIn = Static<typeof OwnSignIn>;

/** `PUT` and `DELETE /api/users/@me/sign-in`. */
export const SignInPasswordInput = Type.Object({ password: OwnPassword });
export type SignInPasswordInput = Static<typeof SignInPasswordInput>;
