import { limits } from '../../../lib/base/limits.ts';
import { Server, ServerInput, ServerPatch, ServerSummary, ServersQuery } from '../../../lib/contract/server.ts';
import { createServer, deleteServer, getServer, listServers, updateServer } from '../../../lib/domain/servers/servers.ts';
import { json } from '../bodies/json.ts';
import { List, Reply, type Route, route } from '../route.ts';

/** The routes of servers (docs/behavior/servers.md#server-routes). */
export const serversRoutes: readonly Route[] = [
  route({
    operationId: 'createServer',
    tag: 'Servers',
    method: 'POST',
    path: '/api/servers',
    auth: 'person',
    summary: 'Creates a server with `@everyone` and a text channel `general`; the caller owns it.',
    body: json(ServerInput),
    reply: { status: 201, body: Server },
    creates: 'resource',
    errors: [
      'invalid_request',
      'unauthorized',
      'bots_not_allowed',
      'server_creation_restricted',
      'too_many_servers',
      'idempotency_conflict',
      'rate_limited',
    ],
    run: (platform, actor, { body, newId }) => createServer(platform, actor, body, newId),
  }),
  route({
    operationId: 'listServers',
    tag: 'Servers',
    method: 'GET',
    path: '/api/servers',
    auth: 'account',
    summary: `Lists the servers that the caller is in, oldest first, at most ${limits.serversListed}.`,
    query: ServersQuery,
    reply: { status: 200, body: List(ServerSummary, 'serversListed'), isPaged: true },
    errors: ['invalid_request', 'unauthorized', 'rate_limited'],
    run: async (platform, actor, { query }) => {
      const { items, next } = await listServers(platform, actor, query);
      return new Reply(items, { next: next === null ? null : { after: next } });
    },
  }),
  route({
    operationId: 'getServer',
    tag: 'Servers',
    method: 'GET',
    path: '/api/servers/{serverId}',
    auth: 'account',
    summary: 'Returns a full server with the channels that the caller can see.',
    reply: { status: 200, body: Server },
    errors: ['unauthorized', 'not_found', 'rate_limited'],
    run: (platform, actor, { params }) => getServer(platform, actor, params.serverId),
  }),
  route({
    operationId: 'updateServer',
    tag: 'Servers',
    method: 'PATCH',
    path: '/api/servers/{serverId}',
    auth: 'account',
    manages: true,
    summary: 'Updates a server. Needs Manage Server. Only the owner can transfer it with `ownerId`.',
    body: json(ServerPatch),
    reply: { status: 200, body: Server },
    errors: ['invalid_request', 'unauthorized', 'missing_permission', 'not_owner', 'not_found', 'rate_limited'],
    run: (platform, actor, { params, body }) => updateServer(platform, actor, params.serverId, body),
  }),
  route({
    operationId: 'deleteServer',
    tag: 'Servers',
    method: 'DELETE',
    path: '/api/servers/{serverId}',
    auth: 'account',
    manages: true,
    summary: 'Deletes a server and everything in it. Only the owner can.',
    reply: { status: 204 },
    errors: ['unauthorized', 'not_owner', 'not_found', 'rate_limited'],
    run: (platform, actor, { params }) => deleteServer(platform, actor, params.serverId),
  }),
];
