import { LoginCode, LoginCodeInput, LoginCodePreview, LoginInput, Me, RegisterInput, Session } from '../../../lib/contract/user.ts';
import { login, meOf, register } from '../../../lib/domain/accounts/accounts.ts';
import { logInByCode, makeLoginCode, previewLoginCode } from '../../../lib/domain/accounts/login-codes.ts';
import { endSession } from '../../../lib/domain/accounts/sessions.ts';
import { type Route, route } from '../route.ts';

/**
 * The routes of registration, login by a password or a code, and logout (docs/behavior/accounts.md#registration), and of the caller's own account
 * (docs/behavior/accounts.md#own-account).
 */
export const authRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/api/auth/register',
    auth: 'none',
    about: 'Creates a person’s account and logs it in: the token goes in `Authorization: Bearer`, and is set as a cookie as well.',
    body: RegisterInput,
    reply: { status: 201, body: Session },
    creates: 'secret',
    rateLimit: 'login',
    errors: ['invalid_request', 'username_taken', 'idempotency_conflict', 'rate_limited', 'unavailable'],
    run: async (platform, _actor, { body, newId, client, setSession }) => {
      const session = await register(platform, body, newId, client);
      setSession(session.token);
      return session;
    },
  }),
  route({
    method: 'POST',
    path: '/api/auth/login',
    auth: 'none',
    about:
      'Logs in with username and password. Returns a new token, which is also set as a cookie. Limit: 10 attempts a minute per address. While many addresses try the same username, each attempt takes up to 4 seconds longer.',
    body: LoginInput,
    reply: { status: 200, body: Session },
    rateLimit: 'login',
    errors: ['invalid_request', 'unauthorized', 'rate_limited', 'unavailable'],
    run: async (platform, _actor, { body, client, takeLogin, setSession }) => {
      await takeLogin(body.username);
      const session = await login(platform, body, client);
      setSession(session.token);
      return session;
    },
  }),
  route({
    method: 'POST',
    path: '/api/auth/codes',
    auth: 'person',
    about: 'Creates a code that logs the caller in elsewhere: it works once, for 15 minutes. The latest five count.',
    reply: { status: 201, body: LoginCode },
    creates: 'secret',
    errors: ['unauthorized', 'bots_not_allowed', 'idempotency_conflict', 'rate_limited', 'unavailable'],
    run: (platform, actor) => makeLoginCode(platform, actor),
  }),
  route({
    method: 'POST',
    path: '/api/auth/codes/preview',
    auth: 'none',
    about:
      'Returns the account that a login code belongs to, without using up the code. Limited to ten attempts a minute for each address, shared with log-ins.',
    body: LoginCodeInput,
    reply: { status: 200, body: LoginCodePreview },
    rateLimit: 'login',
    errors: ['invalid_request', 'unauthorized', 'rate_limited'],
    run: (platform, _actor, { body }) => previewLoginCode(platform, body.code),
  }),
  route({
    method: 'POST',
    path: '/api/auth/code',
    auth: 'none',
    about:
      'Logs a person in with a login code and uses up the code. Returns a new token, which is also set as a cookie. Limited to ten attempts a minute for each address.',
    body: LoginCodeInput,
    reply: { status: 200, body: Session },
    rateLimit: 'login',
    errors: ['invalid_request', 'unauthorized', 'rate_limited', 'unavailable'],
    run: async (platform, _actor, { body, client, setSession }) => {
      const session = await logInByCode(platform, body.code, client);
      setSession(session.token);
      return session;
    },
  }),
  route({
    method: 'POST',
    path: '/api/auth/logout',
    auth: 'person',
    about: 'Ends the current session and clears the cookie.',
    reply: { status: 204 },
    errors: ['unauthorized', 'bots_not_allowed', 'rate_limited'],
    run: async (platform, actor, { tokenId, setSession }) => {
      if (tokenId !== null) await endSession(platform, actor, tokenId);
      setSession(null);
    },
  }),
  route({
    method: 'GET',
    path: '/api/auth/me',
    auth: 'account',
    about: 'Returns the caller’s own account.',
    reply: { status: 200, body: Me },
    errors: ['unauthorized', 'rate_limited'],
    run: async (_platform, actor) => meOf(actor.account),
  }),
];
