import { AuditPage, Member } from '../../../lib/contract/server.ts';
import { BackPage } from '../../../lib/contract/shared.ts';
import { listAudit } from '../../../lib/domain/audit.ts';
import { getMember, kickMember, leaveServer, listMembers, setMemberRole } from '../../../lib/domain/members.ts';
import { List, type Route, route } from '../route.ts';

const changing = ['invalid_request', 'unauthorized', 'missing_permission', 'role_hierarchy', 'not_found', 'rate_limited'] as const;

/** Spec, members and moderation; decisions 3 for single reads and the audit log. */
export const membersRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/api/servers/{serverId}/members',
    auth: 'account',
    about: 'Everyone in the server.',
    reply: { status: 200, body: List(Member) },
    errors: ['unauthorized', 'not_found', 'rate_limited'],
    run: (platform, actor, { params }) => listMembers(platform, actor, params.serverId),
  }),
  route({
    method: 'GET',
    path: '/api/servers/{serverId}/members/{userId}',
    auth: 'account',
    about: 'One member.',
    reply: { status: 200, body: Member },
    errors: ['unauthorized', 'not_found', 'rate_limited'],
    run: (platform, actor, { params }) => getMember(platform, actor, params.serverId, params.userId),
  }),
  route({
    method: 'DELETE',
    path: '/api/users/@me/servers/{serverId}',
    auth: 'account',
    about: 'Leaves the server; a bot’s own role goes with it. The owner cannot.',
    reply: { status: 204 },
    errors: ['invalid_request', 'unauthorized', 'not_found', 'rate_limited'],
    run: (platform, actor, { params }) => leaveServer(platform, actor, params.serverId),
  }),
  route({
    method: 'PUT',
    path: '/api/servers/{serverId}/members/{userId}/roles/{roleId}',
    auth: 'account',
    about: 'Gives a role below the caller’s highest. Needs Manage Roles.',
    reply: { status: 204 },
    errors: changing,
    run: (platform, actor, { params: { serverId, userId, roleId } }) =>
      setMemberRole(platform, actor, serverId, { userId, roleId, has: true }),
  }),
  route({
    method: 'DELETE',
    path: '/api/servers/{serverId}/members/{userId}/roles/{roleId}',
    auth: 'account',
    about: 'Takes a role below the caller’s highest. Needs Manage Roles.',
    reply: { status: 204 },
    errors: changing,
    run: (platform, actor, { params: { serverId, userId, roleId } }) =>
      setMemberRole(platform, actor, serverId, { userId, roleId, has: false }),
  }),
  route({
    method: 'DELETE',
    path: '/api/servers/{serverId}/members/{userId}',
    auth: 'account',
    about: 'Kicks a member whose highest role is below the caller’s; they can rejoin with an invite. Needs Kick Members.',
    reply: { status: 204 },
    errors: changing,
    run: (platform, actor, { params }) => kickMember(platform, actor, params.serverId, params.userId),
  }),
  route({
    method: 'GET',
    path: '/api/servers/{serverId}/audit-log',
    auth: 'account',
    about: 'Every moderation and Manage-something write, newest first. Needs Manage Server.',
    query: BackPage,
    reply: { status: 200, body: AuditPage },
    errors: ['invalid_request', 'unauthorized', 'missing_permission', 'not_found', 'rate_limited'],
    run: (platform, actor, { params, query }) => listAudit(platform, actor, params.serverId, query),
  }),
];
