import { Secret, TOTP } from 'otpauth';
import type { RecoveryCodes, TwoFactorSetup } from '../../lib/contract/two-factor.ts';
import type { TestApi } from './api.ts';
import { password } from './factories.ts';
import { type Caller, send } from './requests.ts';

const path = '/api/users/@me/two-factor';
const stepMs = 30_000;

/** The code that an app with `secret` shows at `timestamp`, in milliseconds. */
export const codeAt = (secret: string, timestamp: number): string => TOTP.generate({ secret: Secret.fromBase32(secret), timestamp });

/** Starts the set-up of a person's two-factor authentication. */
export const startTwoFactor = (api: TestApi, person: Caller): Promise<TwoFactorSetup> => send(api, 200, person, 'POST', path, { password });

/** An authenticator app of a person whose two-factor authentication is on. */
export interface App {
  secret: string;
  recoveryCodes: string[];
  /** Moves the clock of the API to the next time step, and returns its code, which was not used before. */
  nextCode(): string;
}

/** Moves the clock of the API to the next time step. */
export function passTimeStep({ platform }: TestApi, steps = 1): void {
  const now = platform.now;
  platform.now = () => now() + steps * stepMs;
}

/** Turns two-factor authentication on for a person. */
export async function turnTwoFactorOn(api: TestApi, person: Caller): Promise<App> {
  const { secret } = await startTwoFactor(api, person);
  const body = { code: codeAt(secret, api.platform.now()) };
  const { recoveryCodes } = await send<RecoveryCodes>(api, 200, person, 'PUT', path, body);
  const nextCode = (): string => {
    passTimeStep(api);
    return codeAt(secret, api.platform.now());
  };
  return { secret, recoveryCodes, nextCode };
}
