import { CommunityInput, CommunitySettings, DiscoveryInput } from '../../../lib/contract/community.ts';
import { getCommunity, setCommunity } from '../../../lib/domain/community/community.ts';
import { setDiscovery } from '../../../lib/domain/community/discovery.ts';
import { json } from '../bodies/json.ts';
import { type Route, route } from '../route.ts';

/** The routes of a server's Community and Discovery settings (docs/behavior/community.md#settings). */
export const communityRoutes: readonly Route[] = [
  route({
    operationId: 'getCommunity',
    tag: 'Community',
    method: 'GET',
    path: '/api/servers/{serverId}/community',
    auth: 'account',
    summary: 'Returns the Community and Discovery settings of a server. Needs Manage Server.',
    reply: { status: 200, body: CommunitySettings },
    errors: ['unauthorized', 'missing_permission', 'not_found', 'rate_limited'],
    run: (platform, actor, { params }) => getCommunity(platform, actor, params.serverId),
  }),
  route({
    operationId: 'setCommunity',
    tag: 'Community',
    method: 'PUT',
    path: '/api/servers/{serverId}/community',
    auth: 'account',
    manages: true,
    summary:
      'Turns Community on or off, or changes its channels. Pass `new` in place of a channel ID to create the channel. Needs Manage Server.',
    body: json(CommunityInput),
    reply: { status: 200, body: CommunitySettings },
    errors: ['invalid_request', 'unauthorized', 'missing_permission', 'not_found', 'too_many_channels', 'rate_limited'],
    run: (platform, actor, { params, body }) => setCommunity(platform, actor, params.serverId, body),
  }),
  route({
    operationId: 'setDiscovery',
    tag: 'Community',
    method: 'PUT',
    path: '/api/servers/{serverId}/discovery',
    auth: 'account',
    manages: true,
    summary: 'Lists a Community server in Discovery or removes it, and sets its category, description and tags there. Needs Manage Server.',
    body: json(DiscoveryInput),
    reply: { status: 200, body: CommunitySettings },
    errors: ['invalid_request', 'team_server', 'unauthorized', 'missing_permission', 'not_found', 'rate_limited'],
    run: (platform, actor, { params, body }) => setDiscovery(platform, actor, params.serverId, body),
  }),
];
