import { expect } from 'chai';
import { routes } from '../../apps/api/routes/index.ts';

/** The endpoints of the specification. */
const specified = `
  GET /api/channels/{channelId}/messages
  POST /api/channels/{channelId}/messages
  PATCH /api/channels/{channelId}/messages/{messageId}
  DELETE /api/channels/{channelId}/messages/{messageId}
  POST /api/channels/{channelId}/typing
  GET /api/channels/{channelId}/pins
  PUT /api/channels/{channelId}/messages/{messageId}/reactions/{emoji}
  DELETE /api/channels/{channelId}/messages/{messageId}/reactions/{emoji}
  GET /api/channels/{channelId}/messages/{messageId}/reactions/{emoji}
  PUT /api/channels/{channelId}/pins/{messageId}
  DELETE /api/channels/{channelId}/pins/{messageId}
  POST /api/channels/{channelId}/messages/{messageId}/crosspost
  POST /api/channels/{channelId}/threads
  GET /api/channels/{channelId}/threads
  POST /api/interactions/{interactionId}/{interactionToken}/callback
  POST /api/interactions/{interactionId}/{interactionToken}/followup
  GET /api/applications/{applicationId}/commands
  PUT /api/applications/{applicationId}/commands
  GET /api/applications/{applicationId}/servers/{serverId}/commands
  PUT /api/applications/{applicationId}/servers/{serverId}/commands
  DELETE /api/applications/{applicationId}/commands/{commandId}
  GET /api/auth/me
  POST /api/users/@me/channels
  GET /api/users/@me/channels
  PATCH /api/users/@me/presence
  GET /api/users/{userId}/profile
  GET /api/servers
  GET /api/servers/{serverId}
  GET /api/servers/{serverId}/members
  POST /api/servers/{serverId}/channels
  PATCH /api/channels/{channelId}
  DELETE /api/channels/{channelId}
  PUT /api/servers/{serverId}/members/{userId}/roles/{roleId}
  DELETE /api/servers/{serverId}/members/{userId}/roles/{roleId}
  DELETE /api/users/@me/servers/{serverId}
  DELETE /api/servers/{serverId}/members/{userId}
  PUT /api/servers/{serverId}/bans/{userId}
  DELETE /api/servers/{serverId}/bans/{userId}
  GET /api/servers/{serverId}/bans
  GET /api/servers/{serverId}/community
  PUT /api/servers/{serverId}/community
  PUT /api/servers/{serverId}/discovery
  GET /api/discovery/servers
  POST /api/discovery/servers/{serverId}/join
  GET /api/discovery/apps
  POST /api/applications/{applicationId}/authorize
  PATCH /api/applications/{applicationId}
  POST /api/channels/{channelId}/webhooks
  GET /api/channels/{channelId}/webhooks
  PATCH /api/webhooks/{webhookId}
  DELETE /api/webhooks/{webhookId}
  POST /api/webhooks/{webhookId}/{webhookToken}
  POST /api/webhooks/{webhookId}/{webhookToken}/codehost
`;

/** The key of an endpoint, without the names of path parameters, which are not compared. */
const keyOf = (endpoint: string): string => endpoint.replace(/\{\w+\}/g, '{}');
const built = routes.map(({ method, path }) => keyOf(`${method} ${path}`));

describe('API surface', () => {
  it('has every endpoint of the specification, and each endpoint once', () => {
    const listed = specified
      .trim()
      .split('\n')
      .map((line) => keyOf(line.trim()));
    expect(built).to.include.members(listed);
    expect(built.filter((key, at) => built.indexOf(key) !== at)).to.deep.equal([]);
  });

  it('every path is under /api, has no trailing slash and no duplicate parameter', () => {
    for (const { path } of routes) {
      expect(path).to.match(/^\/api(\/([a-z0-9@.-]+|\{\w+\}))+$/);
      const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
      expect(new Set(names).size, path).to.equal(names.length);
    }
  });
});
