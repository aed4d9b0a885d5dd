import { limits } from '../../../lib/base/limits.ts';
import { Ban, BanInput, BansQuery } from '../../../lib/contract/member.ts';
import { banMember, listBans, removeBan } from '../../../lib/domain/members/bans.ts';
import { json } from '../bodies/json.ts';
import { List, Reply, type Route, route } from '../route.ts';

/** The routes of bans (docs/behavior/servers.md#bans). */
export const bansRoutes: readonly Route[] = [
  route({
    operationId: 'banMember',
    tag: 'Bans',
    method: 'PUT',
    path: '/api/servers/{serverId}/bans/{userId}',
    auth: 'account',
    manages: true,
    summary:
      'Bans an account, whether or not it is in the server. Repeating the call replaces the reason. Needs Ban Members and a highest role above the target’s.',
    body: json(BanInput, { isOptional: true }),
    reply: { status: 204 },
    errors: ['invalid_request', 'unauthorized', 'missing_permission', 'role_hierarchy', 'not_found', 'rate_limited'],
    run: (platform, actor, { params, body }) => banMember(platform, actor, params.serverId, params.userId, body),
  }),
  route({
    operationId: 'removeBan',
    tag: 'Bans',
    method: 'DELETE',
    path: '/api/servers/{serverId}/bans/{userId}',
    auth: 'account',
    manages: true,
    summary: 'Removes a ban. Needs Ban Members.',
    reply: { status: 204 },
    errors: ['unauthorized', 'missing_permission', 'not_found', 'rate_limited'],
    run: (platform, actor, { params }) => removeBan(platform, actor, params.serverId, params.userId),
  }),
  route({
    operationId: 'listBans',
    tag: 'Bans',
    method: 'GET',
    path: '/api/servers/{serverId}/bans',
    auth: 'account',
    summary: `Lists the server’s bans, newest first, at most ${limits.bansListed}. Pass the ID of the last banned account as \`before\` to get the next page. Needs Ban Members.`,
    query: BansQuery,
    reply: { status: 200, body: List(Ban, 'bansListed'), isPaged: true },
    errors: ['invalid_request', 'unauthorized', 'missing_permission', 'not_found', 'rate_limited'],
    run: async (platform, actor, { params, query }) => {
      const { items, next } = await listBans(platform, actor, params.serverId, query);
      return new Reply(items, { next: next === null ? null : { before: next } });
    },
  }),
];
