import { refuse } from '../../../lib/base/errors.ts';
import { limits } from '../../../lib/base/limits.ts';
import { OwnSession, PasswordInput } from '../../../lib/contract/auth.ts';
import { changePassword, endOtherSessions, endSession, listSessions } from '../../../lib/domain/accounts/sessions.ts';
import { json } from '../bodies/json.ts';
import { admitLogin } from '../limits/logins.ts';
import { List, Reply, type Route, route } from '../route.ts';

/** The routes of a person's sessions and password. */
export const sessionsRoutes: readonly Route[] = [
  route({
    operationId: 'listSessions',
    tag: 'Account',
    method: 'GET',
    path: '/api/users/@me/sessions',
    auth: 'person',
    summary: `Lists the caller’s sessions, most recently used first. An account has at most ${limits.loginSessionsPerPerson} sessions: a new login ends the least recently used one.`,
    reply: { status: 200, body: List(OwnSession, 'loginSessionsPerPerson') },
    errors: ['unauthorized', 'bots_not_allowed', 'rate_limited'],
    run: (platform, actor, { tokenId }) => listSessions(platform, actor, tokenId),
  }),
  route({
    operationId: 'endSession',
    tag: 'Account',
    method: 'DELETE',
    path: '/api/users/@me/sessions/{sessionId}',
    auth: 'person',
    summary: 'Ends one of the caller’s sessions at once and closes its gateway connections with 4004. Ending the current session logs out.',
    reply: { status: 204 },
    errors: ['unauthorized', 'bots_not_allowed', 'not_found', 'rate_limited'],
    run: async (platform, actor, { params, tokenId }) => {
      if (!(await endSession(platform, actor, params.sessionId))) refuse('not_found', { what: 'session' });
      return params.sessionId === tokenId ? new Reply(undefined, { sessionCookie: null }) : undefined;
    },
  }),
  route({
    operationId: 'endOtherSessions',
    tag: 'Account',
    method: 'DELETE',
    path: '/api/users/@me/sessions',
    auth: 'person',
    summary:
      'Ends all of the caller’s sessions except the current one at once, and closes their gateway connections with 4004. Unused login codes stop working.',
    reply: { status: 204 },
    errors: ['unauthorized', 'bots_not_allowed', 'rate_limited'],
    run: (platform, actor, { tokenId }) => endOtherSessions(platform, actor, tokenId),
  }),
  route({
    operationId: 'changePassword',
    tag: 'Account',
    method: 'PUT',
    path: '/api/users/@me/password',
    auth: 'person',
    summary:
      'Changes the caller’s password and ends all other sessions at once, with their gateway connections (4004). Unused login codes stop working. With two-factor authentication it needs a code. A wrong current password is 400 and counts as a login does.',
    body: json(PasswordInput),
    reply: { status: 204 },
    errors: ['invalid_request', 'unauthorized', 'bots_not_allowed', 'rate_limited', 'two_factor_locked', 'unavailable'],
    admit: (platform, actor, input) => admitLogin(platform, actor.account.username, input),
    run: (platform, actor, { body, client }) => changePassword(platform, actor, body, client),
  }),
];
