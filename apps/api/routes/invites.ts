import { Invite, InviteInput, InvitePreview } from '../../../lib/contract/member.ts';
import { Server } from '../../../lib/contract/server.ts';
import { findServerIdOfInvite } from '../../../lib/domain/access/management-writes.ts';
import { createInvite, deleteInvite, joinByInvite, listInvites, previewInvite } from '../../../lib/domain/members/invites.ts';
import { json } from '../bodies/json.ts';
import { List, type Route, route } from '../route.ts';

/** The routes of invites (docs/behavior/servers.md#invites). */
export const invitesRoutes: readonly Route[] = [
  route({
    operationId: 'createInvite',
    tag: 'Invites',
    method: 'POST',
    path: '/api/servers/{serverId}/invites',
    auth: 'account',
    manages: true,
    summary:
      'Creates an invite. Any member can; staff servers require Manage Server. In developer servers an invite works once, for at most an hour.',
    body: json(InviteInput, { isOptional: true }),
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
    operationId: 'listInvites',
    tag: 'Invites',
    method: 'GET',
    path: '/api/servers/{serverId}/invites',
    auth: 'account',
    summary: 'Lists the server’s active invites, oldest first. Needs Manage Server.',
    reply: { status: 200, body: List(Invite, 'invitesPerServer') },
    errors: ['unauthorized', 'missing_permission', 'not_found', 'rate_limited'],
    run: (platform, actor, { params }) => listInvites(platform, actor, params.serverId),
  }),
  route({
    operationId: 'getInvite',
    tag: 'Invites',
    method: 'GET',
    path: '/api/invites/{code}',
    auth: 'none',
    summary: 'Returns a preview of the invite’s server for anyone who has the code.',
    reply: { status: 200, body: InvitePreview },
    errors: ['not_found', 'rate_limited'],
    run: (platform, _actor, { params }) => previewInvite(platform, params.code),
  }),
  route({
    operationId: 'joinServer',
    tag: 'Invites',
    method: 'POST',
    path: '/api/invites/{code}',
    auth: 'person',
    summary: 'Joins the invite’s server. Returns the server again for someone who is already a member.',
    reply: { status: 200, body: Server },
    errors: ['unauthorized', 'bots_not_allowed', 'banned', 'invites_paused', 'too_many_servers', 'not_found', 'rate_limited'],
    run: (platform, actor, { params }) => joinByInvite(platform, actor, params.code),
  }),
  route({
    operationId: 'deleteInvite',
    tag: 'Invites',
    method: 'DELETE',
    path: '/api/invites/{code}',
    auth: 'account',
    manages: (platform, { code }) => findServerIdOfInvite(platform, code),
    summary: 'Deletes an invite. Needs Manage Server.',
    reply: { status: 204 },
    errors: ['unauthorized', 'missing_permission', 'not_found', 'rate_limited'],
    run: (platform, actor, { params }) => deleteInvite(platform, actor, params.code),
  }),
];
