import { refuse } from '../../../lib/base/errors.ts';
import { limits } from '../../../lib/base/limits.ts';
import {
  LoginCode,
  LoginCodeInput,
  LoginCodePreview,
  LoginInput,
  PasswordResetCode,
  PasswordResetInput,
  PasswordResetPreview,
  RegisterInput,
  Session,
} from '../../../lib/contract/auth.ts';
import { Me } from '../../../lib/contract/user.ts';
import { login, register, toMe } from '../../../lib/domain/accounts/accounts.ts';
import { createLoginCode, logInByCode, previewLoginCode } from '../../../lib/domain/accounts/login-codes.ts';
import { previewPasswordReset, resetPassword } from '../../../lib/domain/accounts/password-resets.ts';
import { endSession } from '../../../lib/domain/accounts/sessions.ts';
import { json } from '../bodies/json.ts';
import { admitLogin } from '../limits/logins.ts';
import { Reply, type Route, route } from '../route.ts';

const withSessionCookie = <S extends { token: string }>(session: S): Reply<S> => new Reply(session, { sessionCookie: session.token });

/**
 * The routes of registration, login by a password or a code, and logout (docs/behavior/accounts.md#registration), and of the caller's own account
 * (docs/behavior/accounts.md#own-account).
 */
export const authRoutes: readonly Route[] = [
  route({
    operationId: 'register',
    tag: 'Authentication',
    method: 'POST',
    path: '/api/auth/register',
    auth: 'none',
    summary:
      'Creates a person’s account and logs it in: the token goes in `Authorization: Bearer`, and is set as a cookie as well. Where registration needs an invite, `invite` is the code of one.',
    body: json(RegisterInput),
    reply: { status: 201, body: Session },
    creates: 'secret',
    rateLimit: 'login',
    errors: [
      'invalid_request',
      'registration_closed',
      'invite_required',
      'invites_paused',
      'not_found',
      'username_taken',
      'idempotency_conflict',
      'rate_limited',
      'unavailable',
    ],
    run: async (platform, _actor, { body, newId, client }) => withSessionCookie(await register(platform, body, newId, client)),
  }),
  route({
    operationId: 'logIn',
    tag: 'Authentication',
    method: 'POST',
    path: '/api/auth/login',
    auth: 'none',
    summary: `Logs in with username and password, and with two-factor authentication a code. Returns a new token, which is also set as a cookie. Limit: 10 attempts a minute per address. While many addresses try the same username, each attempt takes up to ${limits.loginDelayMs / 1000} seconds longer.`,
    body: json(LoginInput),
    reply: { status: 200, body: Session },
    rateLimit: 'login',
    errors: [
      'invalid_request',
      'unauthorized',
      'two_factor_required',
      'two_factor_invalid',
      'account_suspended',
      'rate_limited',
      'two_factor_locked',
      'unavailable',
    ],
    admit: (platform, _actor, input) => admitLogin(platform, input.body.username, input),
    run: async (platform, _actor, { body, client }) => withSessionCookie(await login(platform, body, client)),
  }),
  route({
    operationId: 'createLoginCode',
    tag: 'Authentication',
    method: 'POST',
    path: '/api/auth/codes',
    auth: 'person',
    summary: `Creates a code that logs the caller in on another device. It works once, within ${limits.loginCodeLifeMs / 60_000} minutes, while the session that made it lasts. Only the ${limits.loginCodesPerPerson} newest codes are valid.`,
    reply: { status: 201, body: LoginCode },
    creates: 'secret',
    errors: ['unauthorized', 'bots_not_allowed', 'idempotency_conflict', 'rate_limited', 'unavailable'],
    run: (platform, actor, { tokenId }) =>
      createLoginCode(platform, actor, tokenId ?? refuse('unauthorized', { hint: 'This session has ended' })),
  }),
  route({
    operationId: 'previewLoginCode',
    tag: 'Authentication',
    method: 'POST',
    path: '/api/auth/codes/preview',
    auth: 'none',
    summary:
      'Returns the account that a login code belongs to, without using up the code. Limited to ten attempts a minute for each address, shared with logins.',
    body: json(LoginCodeInput),
    reply: { status: 200, body: LoginCodePreview },
    rateLimit: 'login',
    errors: ['invalid_request', 'unauthorized', 'rate_limited'],
    run: (platform, _actor, { body }) => previewLoginCode(platform, body.code),
  }),
  route({
    operationId: 'logInByCode',
    tag: 'Authentication',
    method: 'POST',
    path: '/api/auth/code',
    auth: 'none',
    summary:
      'Logs a person in with a login code and uses up the code. Returns a new token, which is also set as a cookie. Limited to ten attempts a minute for each address.',
    body: json(LoginCodeInput),
    reply: { status: 200, body: Session },
    rateLimit: 'login',
    errors: ['invalid_request', 'unauthorized', 'two_factor_required', 'account_suspended', 'rate_limited', 'unavailable'],
    run: async (platform, _actor, { body, client }) => withSessionCookie(await logInByCode(platform, body.code, client)),
  }),
  route({
    operationId: 'previewPasswordReset',
    tag: 'Authentication',
    method: 'POST',
    path: '/api/auth/password-reset/preview',
    auth: 'none',
    summary:
      'Returns the account whose password a link of an operator changes, without using up its code. Limited to ten attempts a minute for each address, shared with logins.',
    body: json(PasswordResetCode),
    reply: { status: 200, body: PasswordResetPreview },
    rateLimit: 'login',
    errors: ['invalid_request', 'unauthorized', 'rate_limited'],
    run: (platform, _actor, { body }) => previewPasswordReset(platform, body.code),
  }),
  route({
    operationId: 'resetPassword',
    tag: 'Authentication',
    method: 'POST',
    path: '/api/auth/password-reset',
    auth: 'none',
    summary:
      'Sets a new password with the code of an operator’s link, which works once, and ends all sessions of the account. Limited to ten attempts a minute for each address, shared with logins.',
    body: json(PasswordResetInput),
    reply: { status: 204 },
    rateLimit: 'login',
    errors: ['invalid_request', 'unauthorized', 'rate_limited', 'unavailable'],
    run: (platform, _actor, { body, client }) => resetPassword(platform, body, client),
  }),
  route({
    operationId: 'logOut',
    tag: 'Authentication',
    method: 'POST',
    path: '/api/auth/logout',
    auth: 'person',
    summary: 'Ends the current session and clears the cookie.',
    reply: { status: 204 },
    errors: ['unauthorized', 'bots_not_allowed', 'rate_limited'],
    run: async (platform, actor, { tokenId }) => {
      if (tokenId !== null) await endSession(platform, actor, tokenId);
      return new Reply(undefined, { sessionCookie: null });
    },
  }),
  route({
    operationId: 'getMe',
    tag: 'Account',
    method: 'GET',
    path: '/api/auth/me',
    auth: 'account',
    summary: 'Returns the caller’s own account.',
    reply: { status: 200, body: Me },
    errors: ['unauthorized', 'rate_limited'],
    run: async (_platform, actor) => toMe(actor.account),
  }),
];
