import { type Static, Type } from 'typebox';
import { limits } from '../base/limits.ts';
import { Nullable, OwnPassword, Timestamp } from './shared.ts';

/** A code of an authenticator app or a recovery code, as a person types it (docs/behavior/accounts.md#two-factor-authentication). */
export const TwoFactorCode = Type.String({ minLength: 1, maxLength: limits.twoFactorCodeChars });

/** `GET /api/users/@me/two-factor`. Without two-factor authentication `enabledAt` is null. */
export const TwoFactorState = Type.Object({
  enabled: Type.Boolean(),
  enabledAt: Nullable(Timestamp),
  recoveryCodesLeft: Type.Integer(),
});
export type TwoFactorState = Static<typeof TwoFactorState>;

/** `POST /api/users/@me/two-factor`. */
export const TwoFactorStart = Type.Object({ password: OwnPassword });
export type TwoFactorStart = Static<typeof TwoFactorStart>;

/** `POST /api/users/@me/two-factor` 200: a secret for an authenticator app, its `otpauth://` address, and until when it can be confirmed by a code. */
export const TwoFactorSetup = Type.Object({ secret: Type.String(), uri: Type.String(), expiresAt: Timestamp });
export type TwoFactorSetup = Static<typeof TwoFactorSetup>;

/** `PUT /api/users/@me/two-factor`: a code of the app for the secret of the setup. */
export const TwoFactorConfirmation = Type.Object({ code: TwoFactorCode });
export type TwoFactorConfirmation = Static<typeof TwoFactorConfirmation>;

/** A change of two-factor authentication that needs the password, and a code of the app or a recovery code. */
export const TwoFactorChange = Type.Object({ password: OwnPassword, code: TwoFactorCode });
export type TwoFactorChange = Static<typeof TwoFactorChange>;

/** New recovery codes. They are shown only in this response. */
export const RecoveryCodes = Type.Object({ recoveryCodes: Type.Array(Type.String(), { maxItems: limits.recoveryCodes }) });
export type RecoveryCodes = Static<typeof RecoveryCodes>;
