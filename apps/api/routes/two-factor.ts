import { limits } from '../../../lib/base/limits.ts';
import {
  RecoveryCodes,
  TwoFactorChange,
  TwoFactorConfirmation,
  TwoFactorSetup,
  TwoFactorStart,
  TwoFactorState,
} from '../../../lib/contract/two-factor.ts';
import {
  disableTwoFactor,
  enableTwoFactor,
  getTwoFactor,
  replaceRecoveryCodes,
  startTwoFactor,
} from '../../../lib/domain/accounts/two-factor.ts';
import { json } from '../bodies/json.ts';
import { admitLogin } from '../limits/logins.ts';
import { type Route, route } from '../route.ts';

const path = '/api/users/@me/two-factor';
const counted = 'A wrong password is 400 and counts as a login does.';

/** The routes of a person's two-factor authentication (docs/behavior/accounts.md#two-factor-authentication). */
export const twoFactorRoutes: readonly Route[] = [
  route({
    operationId: 'getTwoFactor',
    tag: 'Account',
    method: 'GET',
    path,
    auth: 'person',
    summary: 'Returns whether the caller has two-factor authentication, since when, and how many recovery codes are left.',
    reply: { status: 200, body: TwoFactorState },
    errors: ['unauthorized', 'bots_not_allowed', 'rate_limited'],
    run: (platform, actor) => getTwoFactor(platform, actor),
  }),
  route({
    operationId: 'startTwoFactor',
    tag: 'Account',
    method: 'POST',
    path,
    auth: 'person',
    summary: `Makes a secret for the caller’s authenticator app, and its \`otpauth://\` address. It is shown only now, and in use only after a code confirmed it within ${limits.twoFactorSetupMs / 60_000} minutes. It replaces an earlier one that was not confirmed. ${counted}`,
    body: json(TwoFactorStart),
    reply: { status: 200, body: TwoFactorSetup },
    errors: ['invalid_request', 'unauthorized', 'bots_not_allowed', 'rate_limited', 'unavailable'],
    admit: (platform, actor, input) => admitLogin(platform, actor.account.username, input),
    run: (platform, actor, { body, client }) => startTwoFactor(platform, actor, body, client),
  }),
  route({
    operationId: 'enableTwoFactor',
    tag: 'Account',
    method: 'PUT',
    path,
    auth: 'person',
    summary: `Turns two-factor authentication on with a code for the new secret. Returns ${limits.recoveryCodes} recovery codes, which are shown only now. Ends all other sessions at once, with their gateway connections (4004). Unused login codes stop working.`,
    body: json(TwoFactorConfirmation),
    reply: { status: 200, body: RecoveryCodes },
    errors: ['invalid_request', 'unauthorized', 'bots_not_allowed', 'rate_limited'],
    run: (platform, actor, { body, tokenId }) => enableTwoFactor(platform, actor, body, tokenId),
  }),
  route({
    operationId: 'disableTwoFactor',
    tag: 'Account',
    method: 'POST',
    path: `${path}/disable`,
    auth: 'person',
    summary: `Turns two-factor authentication off. Needs the password and a code. ${counted}`,
    body: json(TwoFactorChange),
    reply: { status: 204 },
    errors: ['invalid_request', 'unauthorized', 'bots_not_allowed', 'rate_limited', 'two_factor_locked', 'unavailable'],
    admit: (platform, actor, input) => admitLogin(platform, actor.account.username, input),
    run: (platform, actor, { body, client }) => disableTwoFactor(platform, actor, body, client),
  }),
  route({
    operationId: 'replaceRecoveryCodes',
    tag: 'Account',
    method: 'POST',
    path: `${path}/recovery-codes`,
    auth: 'person',
    summary: `Replaces all recovery codes. Returns ${limits.recoveryCodes} new ones, which are shown only now. Needs the password and a code. ${counted}`,
    body: json(TwoFactorChange),
    reply: { status: 200, body: RecoveryCodes },
    errors: ['invalid_request', 'unauthorized', 'bots_not_allowed', 'rate_limited', 'two_factor_locked', 'unavailable'],
    admit: (platform, actor, input) => admitLogin(platform, actor.account.username, input),
    run: (platform, actor, { body, client }) => replaceRecoveryCodes(platform, actor, body, client),
  }),
];
