import { Me, MeDetails, MePatch, PresencePatch, Profile, ProfileQuery } from '../../../lib/contract/user.ts';
import { setPresence, updateMe } from '../../../lib/domain/accounts/accounts.ts';
import { getProfile } from '../../../lib/domain/accounts/profiles.ts';
import { json } from '../bodies/json.ts';
import { type Route, route } from '../route.ts';

/** The routes of profiles (docs/behavior/accounts.md#profiles), and of the caller's own profile and presence (docs/behavior/accounts.md#own-profile). */
export const usersRoutes: readonly Route[] = [
  route({
    operationId: 'updatePresence',
    tag: 'Account',
    method: 'PATCH',
    path: '/api/users/@me/presence',
    auth: 'account',
    summary: 'Sets the caller’s status and custom status. Others see the status only while the caller is connected to the gateway.',
    body: json(PresencePatch),
    reply: { status: 200, body: Me },
    errors: ['invalid_request', 'unauthorized', 'rate_limited'],
    run: (platform, actor, { body }) => setPresence(platform, actor, body),
  }),
  route({
    operationId: 'getProfile',
    tag: 'Users',
    method: 'GET',
    path: '/api/users/{userId}/profile',
    auth: 'account',
    summary: 'Returns the profile of the caller, or of someone who shares a server or a direct message channel with the caller.',
    query: ProfileQuery,
    reply: { status: 200, body: Profile },
    errors: ['invalid_request', 'unauthorized', 'not_found', 'rate_limited'],
    run: (platform, actor, { params, query }) => getProfile(platform, actor, params.userId, query),
  }),
  route({
    operationId: 'updateMe',
    tag: 'Account',
    method: 'PATCH',
    path: '/api/users/@me',
    auth: 'account',
    summary:
      'Updates the caller’s display name, bio and pronouns. null and an empty string clear a field. A new display name is sent as `USER_UPDATE`.',
    body: json(MePatch),
    reply: { status: 200, body: MeDetails },
    errors: ['invalid_request', 'unauthorized', 'rate_limited'],
    run: (platform, actor, { body }) => updateMe(platform, actor, body),
  }),
];
