/** `built` if the API has the endpoint, else the feature that adds it. */
export type Part = 'built' | 'messages in full' | 'servers, people, moderation, Community, Discovery' | 'webhooks';

/** One public endpoint: its method and path, where it is specified, and the feature that adds it. */
export interface Endpoint {
  method: string;
  path: string;
  from: 'spec' | 'project';
  part: Part;
}

const rows = (from: Endpoint['from'], part: Part, lines: string): Endpoint[] =>
  lines
    .trim()
    .split('\n')
    .map((line) => {
      const [method = '', path = ''] = line.trim().split(' ');
      return { method, path, from, part };
    });

/** All endpoints: those of the specification, and those added by this project. A change that implements an endpoint moves its line to `built`. */
export const surface: readonly Endpoint[] = [
  ...rows(
    'spec',
    'built',
    `GET /api/channels/{channelId}/messages
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
     POST /api/webhooks/{webhookId}/{webhookToken}/codehost`,
  ),
  ...rows(
    'project',
    'built',
    `GET /api/gateway
     GET /api/openapi.json
     GET /api/asyncapi.json
     POST /api/auth/register
     POST /api/auth/login
     POST /api/auth/logout
     POST /api/auth/codes
     POST /api/auth/codes/preview
     POST /api/auth/code
     POST /api/auth/password-reset/preview
     POST /api/auth/password-reset
     GET /api/instance
     POST /api/servers
     PATCH /api/servers/{serverId}
     DELETE /api/servers/{serverId}
     POST /api/servers/{serverId}/invites
     GET /api/servers/{serverId}/invites
     DELETE /api/invites/{code}
     GET /api/invites/{code}
     POST /api/invites/{code}
     GET /api/servers/{serverId}/roles
     POST /api/servers/{serverId}/roles
     PATCH /api/servers/{serverId}/roles/{roleId}
     DELETE /api/servers/{serverId}/roles/{roleId}
     GET /api/servers/{serverId}/members/{userId}
     GET /api/servers/{serverId}/audit-log
     GET /api/channels/{channelId}
     GET /api/channels/{channelId}/messages/{messageId}
     PUT /api/channels/{channelId}/read
     GET /api/users/@me/reads
     GET /api/users/@me/sync
     PATCH /api/users/@me
     GET /api/users/@me/sessions
     DELETE /api/users/@me/sessions
     DELETE /api/users/@me/sessions/{sessionId}
     GET /api/users/@me/sign-in
     PUT /api/users/@me/sign-in
     DELETE /api/users/@me/sign-in
     GET /api/auth/oidc/pending
     POST /api/auth/oidc/account
     POST /api/auth/oidc/link
     PUT /api/users/@me/password
      POST /api/users/@me/export
     GET /api/users/@me/export
     DELETE /api/users/@me/export
     GET /api/users/@me/export/file
     GET /api/users/@me/two-factor
     POST /api/users/@me/two-factor
     PUT /api/users/@me/two-factor
     POST /api/users/@me/two-factor/disable
     POST /api/users/@me/two-factor/recovery-codes
     GET /api/users/@me/deletion
     POST /api/users/@me/deletion
     DELETE /api/users/@me/deletion
     POST /api/channels/{channelId}/followers
     GET /api/channels/{channelId}/followers
     DELETE /api/channels/{channelId}/followers/{targetId}
     PUT /api/channels/{channelId}/overwrites/{roleOrUserId}
     DELETE /api/channels/{channelId}/overwrites/{roleOrUserId}
     POST /api/channels/{channelId}/sync-overwrites
     GET /api/channels/{channelId}/commands
     POST /api/channels/{channelId}/commands/{commandId}/invoke
     GET /api/interactions/{interactionId}
     GET /api/interactions/{interactionId}/{interactionToken}/original
     PATCH /api/interactions/{interactionId}/{interactionToken}/original
     DELETE /api/interactions/{interactionId}/{interactionToken}/original
     POST /api/applications
     GET /api/applications
     GET /api/applications/{applicationId}
     DELETE /api/applications/{applicationId}
     POST /api/applications/{applicationId}/token
     POST /api/applications/{applicationId}/signing-secret
     GET /api/applications/{applicationId}/deliveries
     PUT /api/users/@me/avatar
     DELETE /api/users/@me/avatar
     PUT /api/servers/{serverId}/icon
     DELETE /api/servers/{serverId}/icon
     PUT /api/applications/{applicationId}/icon
     DELETE /api/applications/{applicationId}/icon
     POST /api/applications/{applicationId}/interactions-endpoint/test
     GET /api/webhooks/{webhookId}
     POST /api/webhooks/{webhookId}/token
     GET /api/webhooks/{webhookId}/deliveries`,
  ),
];
