import { LoginInput, Session } from '../../../lib/contract/auth.ts';
import { OwnSignIn, PendingSignIn, SignInAccountInput, SignInFactorsInput } from '../../../lib/contract/sign-in.ts';
import {
  createAccountByTicket,
  getOwnSignIn,
  getPendingSignIn,
  linkByPassword,
  linkOwnIdentity,
  unlinkOwnIdentity,
} from '../../../lib/domain/accounts/identities.ts';
import { json } from '../bodies/json.ts';
import { admitLogin } from '../limits/logins.ts';
import { Reply, type Route, route } from '../route.ts';

/**
 * The routes of a sign-in by OpenID Connect that has come back from the provider (docs/behavior/accounts.md#sign-in-by-openid-connect). `apps/api/middleware/sign-in.ts`
 * serves the way to the provider and back.
 */
export const signInRoutes: readonly Route[] = [
  route({
    operationId: 'getPendingSignIn',
    tag: 'Authentication',
    method: 'GET',
    path: '/api/auth/oidc/pending',
    auth: 'none',
    summary: 'Returns the sign-in by OpenID Connect of this browser that belongs to no account yet, with names for a new account.',
    reply: { status: 200, body: PendingSignIn },
    errors: ['unauthorized', 'not_found', 'rate_limited'],
    run: (platform, _actor, { signInTicket }) => getPendingSignIn(platform, signInTicket),
  }),
  route({
    operationId: 'createAccountBySignIn',
    tag: 'Authentication',
    method: 'POST',
    path: '/api/auth/oidc/account',
    auth: 'none',
    summary: 'Creates an account without a password for the pending sign-in of this browser, and logs it in as a registration does.',
    body: json(SignInAccountInput),
    reply: { status: 201, body: Session },
    rateLimit: 'login',
    errors: [
      'invalid_request',
      'unauthorized',
      'registration_closed',
      'not_found',
      'already_linked',
      'username_taken',
      'rate_limited',
      'unavailable',
    ],
    run: async (platform, _actor, { body, newId, client, signInTicket }) => {
      const session = await createAccountByTicket(platform, signInTicket, body, newId, client);
      return new Reply(session, { sessionCookie: session.token, signInTicket: null });
    },
  }),
  route({
    operationId: 'linkPendingSignIn',
    tag: 'Authentication',
    method: 'POST',
    path: '/api/auth/oidc/link',
    auth: 'none',
    summary:
      'Links the pending sign-in of this browser to an account, and logs in. The account is named by its username and password, with a code if it needs one. Counts as a login.',
    body: json(LoginInput),
    reply: { status: 200, body: Session },
    rateLimit: 'login',
    errors: [
      'invalid_request',
      'unauthorized',
      'two_factor_required',
      'two_factor_invalid',
      'account_suspended',
      'not_found',
      'already_linked',
      'rate_limited',
      'two_factor_locked',
      'unavailable',
    ],
    admit: (platform, _actor, input) => admitLogin(platform, input.body.username, input),
    run: async (platform, _actor, { body, client, signInTicket }) => {
      const session = await linkByPassword(platform, signInTicket, body, client);
      return new Reply(session, { sessionCookie: session.token, signInTicket: null });
    },
  }),
  route({
    operationId: 'getOwnSignIn',
    tag: 'Account',
    method: 'GET',
    path: '/api/users/@me/sign-in',
    auth: 'person',
    summary: 'Returns how the caller logs in: with a password, by OpenID Connect, or both.',
    reply: { status: 200, body: OwnSignIn },
    errors: ['unauthorized', 'bots_not_allowed', 'rate_limited'],
    run: (platform, actor, { client }) => getOwnSignIn(platform, actor, client),
  }),
  route({
    operationId: 'linkOwnSignIn',
    tag: 'Account',
    method: 'PUT',
    path: '/api/users/@me/sign-in',
    auth: 'person',
    summary:
      'Links the pending sign-in of this browser to the caller. Needs the own password, and with two-factor authentication a code. A wrong password counts as a login does.',
    body: json(SignInFactorsInput),
    reply: { status: 204 },
    errors: [
      'invalid_request',
      'unauthorized',
      'bots_not_allowed',
      'account_suspended',
      'not_found',
      'already_linked',
      'rate_limited',
      'two_factor_locked',
      'unavailable',
    ],
    admit: (platform, actor, input) => admitLogin(platform, actor.account.username, input),
    run: async (platform, actor, { body, client, signInTicket }) => {
      await linkOwnIdentity(platform, actor, signInTicket, body, client);
      return new Reply(undefined, { signInTicket: null });
    },
  }),
  route({
    operationId: 'unlinkOwnSignIn',
    tag: 'Account',
    method: 'DELETE',
    path: '/api/users/@me/sign-in',
    auth: 'person',
    summary:
      'Unlinks the account of the OpenID Connect provider from the caller. Needs the own password, and with two-factor authentication a code. Sessions stay.',
    body: json(SignInFactorsInput),
    reply: { status: 204 },
    errors: ['invalid_request', 'unauthorized', 'bots_not_allowed', 'not_found', 'rate_limited', 'two_factor_locked', 'unavailable'],
    admit: (platform, actor, input) => admitLogin(platform, actor.account.username, input),
    run: (platform, actor, { body, client }) => unlinkOwnIdentity(platform, actor, body, client),
  }),
];
