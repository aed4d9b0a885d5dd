import { type Static, Type } from 'typebox';
import { limits } from '../base/limits.ts';
import { Described, ObjectOf } from './schemas.ts';
import { Nullable, OwnPassword, Timestamp } from './shared.ts';

/** A code of an authenticator app or a recovery code, as a person types it (docs/behavior/accounts.md#two-factor-authentication). */
export const TwoFactorCode = Type.String({
  minLength: 1,
  maxLength: limits.twoFactorCodeChars,
  pattern: '^[\\x20-\\x7e\\s]*$',
  patternText: 'Use the six digits that the app shows, or a recovery code.',
  description: 'A code of six digits of the authenticator app, or a recovery code. Spaces, dashes and case do not matter.',
  examples: ['123456'],
});

/** The code of a change that only accounts with two-factor authentication must confirm by one. */
export const OwnCode = Type.Optional(
  Described(
    TwoFactorCode,
    'A code of the authenticator app or a recovery code, which is used up. Required, and read, only for an account with two-factor authentication.',
  ),
);

/** `GET /api/users/@me/two-factor`. Without two-factor authentication `enabledAt` is null. */
export const TwoFactorState = ObjectOf(
  {
    enabled: Type.Boolean({ description: 'Whether a login with the password needs a code.', examples: [true] }),
    enabledAt: Described(Nullable(Timestamp), 'Since when it is on; null while it is off.'),
    recoveryCodesLeft: Type.Integer({ description: 'The number of recovery codes that were not used yet.', examples: [10] }),
  },
  'The two-factor authentication of the caller.',
);
export type TwoFactorState = Static<typeof TwoFactorState>;

/** `POST /api/users/@me/two-factor`. */
export const TwoFactorStart = ObjectOf({ password: OwnPassword }, 'Asks for a new secret for an authenticator app.');
export type TwoFactorStart = Static<typeof TwoFactorStart>;

/** `POST /api/users/@me/two-factor` 200: a secret for an authenticator app, its `otpauth://` address, and until when it can be confirmed by a code. */
export const TwoFactorSetup = ObjectOf(
  {
    secret: Type.String({
      description: 'The secret for the app in base32. It is shown only in this response.',
      examples: ['JBSWY3DPEHPK3PXP'],
    }),
    uri: Type.String({
      description: 'The same secret as an `otpauth://` address, to show as a QR code.',
      examples: ['otpauth://totp/Parlance:ada?secret=JBSWY3DPEHPK3PXP&issuer=Parlance'],
    }),
    expiresAt: Described(Timestamp, 'Until when the secret can be confirmed with a code: 15 minutes after the request.'),
  },
  'A secret for an authenticator app. Two-factor authentication is on only after it is confirmed with a code.',
);
export type TwoFactorSetup = Static<typeof TwoFactorSetup>;

/** `PUT /api/users/@me/two-factor`: a code of the app for the secret of the setup. */
export const TwoFactorConfirmation = ObjectOf(
  { code: Described(TwoFactorCode, 'A code of the app for the secret of the setup.') },
  'Turns two-factor authentication on.',
);
export type TwoFactorConfirmation = Static<typeof TwoFactorConfirmation>;

/** A change of two-factor authentication that needs the password, and a code of the app or a recovery code. */
export const TwoFactorChange = ObjectOf(
  { password: OwnPassword, code: TwoFactorCode },
  'Confirms a change of two-factor authentication with the password and a code.',
);
export type TwoFactorChange = Static<typeof TwoFactorChange>;

/** New recovery codes. They are shown only in this response. */
export const RecoveryCodes = ObjectOf(
  {
    recoveryCodes: Type.Array(
      Type.String({ description: 'A code that replaces a code of the app once.', examples: ['abcd-efgh-jkmn-pqrs'] }),
      {
        maxItems: limits.recoveryCodes,
        description: 'Ten codes for logins without the app. Each works once. They are shown only in this response.',
      },
    ),
  },
  'New recovery codes. All earlier ones stop working.',
);
export type RecoveryCodes = Static<typeof RecoveryCodes>;
