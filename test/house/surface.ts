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
     POST /api/interactions/{id}/{token}/callback
     POST /api/interactions/{id}/{token}/followup
     GET /api/applications/{appId}/commands
     PUT /api/applications/{appId}/commands
     GET /api/applications/{appId}/servers/{serverId}/commands
     PUT /api/applications/{appId}/servers/{serverId}/commands
     DELETE /api/applications/{appId}/commands/{commandId}
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
     POST /api/applications/{id}/authorize
     PATCH /api/applications/{id}
     POST /api/channels/{channelId}/webhooks
     GET /api/channels/{channelId}/webhooks
     PATCH /api/webhooks/{id}
     DELETE /api/webhooks/{id}
     POST /api/webhooks/{webhook_id}/{webhook_token}
     POST /api/webhooks/{webhook_id}/{webhook_token}/codehost`,
  ),
  ...rows(
    'project',
    'built',
    `GET /api/gateway
     GET /api/openapi.json
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
     PATCH /api/servers/{id}
     DELETE /api/servers/{id}
     POST /api/servers/{id}/invites
     GET /api/servers/{id}/invites
     DELETE /api/invites/{code}
     GET /api/invites/{code}
     POST /api/invites/{code}
     GET /api/servers/{id}/roles
     POST /api/servers/{id}/roles
     PATCH /api/servers/{id}/roles/{roleId}
     DELETE /api/servers/{id}/roles/{roleId}
     GET /api/servers/{id}/members/{userId}
     GET /api/servers/{id}/audit-log
     GET /api/channels/{id}
     GET /api/channels/{id}/messages/{messageId}
     PUT /api/channels/{id}/read
     GET /api/users/@me/reads
     GET /api/users/@me/sync
     PATCH /api/users/@me
     GET /api/users/@me/sessions
     DELETE /api/users/@me/sessions
     DELETE /api/users/@me/sessions/{id}
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
     POST /api/channels/{id}/followers
     GET /api/channels/{id}/followers
     DELETE /api/channels/{id}/followers/{targetId}
     PUT /api/channels/{id}/overwrites/{roleOrUserId}
     DELETE /api/channels/{id}/overwrites/{roleOrUserId}
     GET /api/channels/{id}/commands
     POST /api/channels/{id}/commands/{commandId}/invoke
     GET /api/interactions/{id}
     PATCH /api/interactions/{id}/{token}/original
     DELETE /api/interactions/{id}/{token}/original
     POST /api/applications
     GET /api/applications
     GET /api/applications/{id}
     DELETE /api/applications/{id}
     POST /api/applications/{id}/token
     POST /api/applications/{id}/signing-secret
     GET /api/applications/{id}/deliveries
     PUT /api/users/@me/avatar
     DELETE /api/users/@me/avatar
     PUT /api/servers/{id}/icon
     DELETE /api/servers/{id}/icon
     PUT /api/applications/{id}/icon
     DELETE /api/applications/{id}/icon
     POST /api/applications/{id}/interactions-endpoint/test
     GET /api/webhooks/{id}
     POST /api/webhooks/{id}/token
     GET /api/webhooks/{id}/deliveries`,
  ),
];
