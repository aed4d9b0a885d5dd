import { Invite, InviteInput, InvitePreview, Server } from '../../../lib/contract/server.ts';
import { createInvite, deleteInvite, joinByInvite, listInvites, previewInvite } from '../../../lib/domain/members/invites.ts';
import { serverOfInvite } from '../../../lib/domain/members/managing.ts';
import { List, type Route, route } from '../route.ts';

/** The routes of invites (docs/behavior/servers.md#invites). */
export const invitesRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/api/servers/{serverId}/invites',
    auth: 'account',
    manages: true,
    about:
      'Creates an invite. Any member can; staff servers require Manage Server. In developer servers an invite works once, for at most an hour.',
    body: InviteInput,
    bodyOptional: true,
    reply: { status: 201, body: Invite },
    creates: 'resource',
    errors: [
      'invalid_request',
      'unauthorized',
      'missing_permission',
      'not_found',
      'too_many_invites',
      'idempotency_conflict',
      'rate_limited',
    ],
    run: (platform, actor, { params, body, newId }) => createInvite(platform, actor, params.serverId, body ?? {}, newId),
  }),
  route({
    method: 'GET',
    path: '/api/servers/{serverId}/invites',
    auth: 'account',
    about: 'Lists the server’s active invites, oldest first. Needs Manage Server.',
    reply: { status: 200, body: List(Invite, 'invitesPerServer') },
    errors: ['unauthorized', 'missing_permission', 'not_found', 'rate_limited'],
    run: (platform, actor, { params }) => listInvites(platform, actor, params.serverId),
  }),
  route({
    method: 'GET',
    path: '/api/invites/{code}',
    auth: 'none',
    about: 'Returns a preview of the invite’s server for anyone who has the code.',
    reply: { status: 200, body: InvitePreview },
    errors: ['not_found', 'rate_limited'],
    run: (platform, _actor, { params }) => previewInvite(platform, params.code),
  }),
  route({
    method: 'POST',
    path: '/api/invites/{code}',
    auth: 'person',
    about: 'Joins the invite’s server. Returns the server again for someone who is already a member.',
    reply: { status: 200, body: Server },
    errors: ['unauthorized', 'bots_not_allowed', 'banned', 'invites_paused', 'too_many_servers', 'not_found', 'rate_limited'],
    run: (platform, actor, { params }) => joinByInvite(platform, actor, params.code),
  }),
  route({
    method: 'DELETE',
    path: '/api/invites/{code}',
    auth: 'account',
    manages: (platform, { code }) => serverOfInvite(platform, code),
    about: 'Deletes an invite. Needs Manage Server.',
    reply: { status: 204 },
    errors: ['unauthorized', 'missing_permission', 'not_found', 'rate_limited'],
    run: (platform, actor, { params }) => deleteInvite(platform, actor, params.code),
  }),
];
