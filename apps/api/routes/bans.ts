import { Ban, BanInput, BanPage } from '../../../lib/contract/server.ts';
import { banMember, liftBan, listBans } from '../../../lib/domain/members/bans.ts';
import { List, type Route, route } from '../route.ts';

/** The routes of bans (docs/behavior/servers.md#bans). */
export const bansRoutes: readonly Route[] = [
  route({
    method: 'PUT',
    path: '/api/servers/{serverId}/bans/{userId}',
    auth: 'account',
    manages: true,
    about:
      'Bans an account, whether or not it is in the server. Repeating the call replaces the reason. Needs Ban Members and a highest role above the target’s.',
    body: BanInput,
    bodyOptional: true,
    reply: { status: 204 },
    errors: ['invalid_request', 'unauthorized', 'missing_permission', 'role_hierarchy', 'not_found', 'rate_limited'],
    run: (platform, actor, { params, body }) => banMember(platform, actor, params.serverId, params.userId, body),
  }),
  route({
    method: 'DELETE',
    path: '/api/servers/{serverId}/bans/{userId}',
    auth: 'account',
    manages: true,
    about: 'Removes a ban. Needs Ban Members.',
    reply: { status: 204 },
    errors: ['unauthorized', 'missing_permission', 'not_found', 'rate_limited'],
    run: (platform, actor, { params }) => liftBan(platform, actor, params.serverId, params.userId),
  }),
  route({
    method: 'GET',
    path: '/api/servers/{serverId}/bans',
    auth: 'account',
    about:
      'Lists the server’s bans, newest first, at most 1,000. Pass the ID of the last banned account as `before` to get the next page. Needs Ban Members.',
    query: BanPage,
    paged: true,
    reply: { status: 200, body: List(Ban, 'bansListed') },
    errors: ['invalid_request', 'unauthorized', 'missing_permission', 'not_found', 'rate_limited'],
    run: async (platform, actor, { params, query, setNext }) => {
      const { items, next } = await listBans(platform, actor, params.serverId, query);
      setNext(next === null ? null : { before: next });
      return items;
    },
  }),
];
