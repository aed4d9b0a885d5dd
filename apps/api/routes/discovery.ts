import { DirectoryPage, DirectoryQuery, DiscoveryPage, DiscoveryQuery } from '../../../lib/contract/discovery.ts';
import { Server } from '../../../lib/contract/server.ts';
import { listDirectory } from '../../../lib/domain/applications/app-directory.ts';
import { joinByDiscovery, listDiscovery } from '../../../lib/domain/community/discovery.ts';
import { type Route, route } from '../route.ts';

/** The routes of Discovery (docs/behavior/community.md#server-list) and the App Directory (docs/behavior/community.md#app-directory). */
export const discoveryRoutes: readonly Route[] = [
  route({
    operationId: 'listDiscoveryServers',
    tag: 'Discovery',
    method: 'GET',
    path: '/api/discovery/servers',
    auth: 'account',
    summary: 'Lists the servers in Discovery, most members first. `q` searches name, description and tags, ignoring case.',
    query: DiscoveryQuery,
    reply: { status: 200, body: DiscoveryPage },
    errors: ['invalid_request', 'unauthorized', 'rate_limited'],
    run: (platform, actor, { query }) => listDiscovery(platform, actor, query),
  }),
  route({
    operationId: 'joinDiscoveryServer',
    tag: 'Discovery',
    method: 'POST',
    path: '/api/discovery/servers/{serverId}/join',
    auth: 'person',
    summary: 'Joins a server in Discovery without an invite. If the server is not listed, the error body has no `code`.',
    reply: { status: 200, body: Server },
    errors: ['unauthorized', 'bots_not_allowed', 'not_found', 'banned', 'invites_paused', 'too_many_servers', 'rate_limited'],
    run: (platform, actor, { params }) => joinByDiscovery(platform, actor, params.serverId),
  }),
  route({
    operationId: 'listDiscoveryApps',
    tag: 'Discovery',
    method: 'GET',
    path: '/api/discovery/apps',
    auth: 'account',
    summary:
      'Lists the App Directory: verified bots first, then by number of servers. `q` searches name, description and bot username, ignoring case.',
    query: DirectoryQuery,
    reply: { status: 200, body: DirectoryPage },
    errors: ['invalid_request', 'unauthorized', 'rate_limited'],
    run: (platform, _actor, { query }) => listDirectory(platform, query),
  }),
];
