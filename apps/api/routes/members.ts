import { limits } from '../../../lib/base/limits.ts';
import { AuditPage, Member, MembersQuery } from '../../../lib/contract/member.ts';
import { BeforeQuery } from '../../../lib/contract/shared.ts';
import { listAudit } from '../../../lib/domain/access/audit.ts';
import { getMember, kickMember, leaveServer, setMemberRole } from '../../../lib/domain/members/members.ts';
import { listMembers } from '../../../lib/domain/members/pages.ts';
import { List, Reply, type Route, route, SerializedBody } from '../route.ts';

const changeErrors = ['invalid_request', 'unauthorized', 'missing_permission', 'role_hierarchy', 'not_found', 'rate_limited'] as const;

/** The routes of members (docs/behavior/servers.md#members) and the audit log (docs/behavior/servers.md#audit-log). */
export const membersRoutes: readonly Route[] = [
  route({
    operationId: 'listMembers',
    tag: 'Members',
    method: 'GET',
    path: '/api/servers/{serverId}/members',
    auth: 'account',
    summary: `Lists the members of a server by user id. Without parameters it returns the first ${limits.membersListed}, otherwise pages of \`limit\` (default ${limits.membersPageDefault}). \`query\` finds members whose username or display name starts with it, ignoring case, sorted by that name; it searches the first ${limits.membersSearched} matches of each kind of name.`,
    query: MembersQuery,
    reply: { status: 200, body: List(Member, 'membersListed'), isPaged: true },
    isCostly: true,
    errors: ['invalid_request', 'unauthorized', 'not_found', 'rate_limited'],
    run: async (platform, actor, { params, query }) => {
      const { json, next } = await listMembers(platform, actor, params.serverId, query);
      return new Reply(new SerializedBody(json), { next: next === null ? null : { after: next } });
    },
  }),
  route({
    operationId: 'getMember',
    tag: 'Members',
    method: 'GET',
    path: '/api/servers/{serverId}/members/{userId}',
    auth: 'account',
    summary: 'Returns one member of a server.',
    reply: { status: 200, body: Member },
    errors: ['unauthorized', 'not_found', 'rate_limited'],
    run: (platform, actor, { params }) => getMember(platform, actor, params.serverId, params.userId),
  }),
  route({
    operationId: 'leaveServer',
    tag: 'Members',
    method: 'DELETE',
    path: '/api/users/@me/servers/{serverId}',
    auth: 'account',
    manages: true,
    summary: 'Leaves the server. A bot’s own role is deleted. The owner cannot leave.',
    reply: { status: 204 },
    errors: ['invalid_request', 'unauthorized', 'not_found', 'rate_limited'],
    run: (platform, actor, { params }) => leaveServer(platform, actor, params.serverId),
  }),
  route({
    operationId: 'addMemberRole',
    tag: 'Members',
    method: 'PUT',
    path: '/api/servers/{serverId}/members/{userId}/roles/{roleId}',
    auth: 'account',
    manages: true,
    summary: 'Gives a member a role below the caller’s highest role. Needs Manage Roles.',
    reply: { status: 204 },
    errors: changeErrors,
    run: (platform, actor, { params: { serverId, userId, roleId } }) =>
      setMemberRole(platform, actor, serverId, { userId, roleId, hasRole: true }),
  }),
  route({
    operationId: 'removeMemberRole',
    tag: 'Members',
    method: 'DELETE',
    path: '/api/servers/{serverId}/members/{userId}/roles/{roleId}',
    auth: 'account',
    manages: true,
    summary: 'Removes a role below the caller’s highest role from a member. Needs Manage Roles.',
    reply: { status: 204 },
    errors: changeErrors,
    run: (platform, actor, { params: { serverId, userId, roleId } }) =>
      setMemberRole(platform, actor, serverId, { userId, roleId, hasRole: false }),
  }),
  route({
    operationId: 'kickMember',
    tag: 'Members',
    method: 'DELETE',
    path: '/api/servers/{serverId}/members/{userId}',
    auth: 'account',
    manages: true,
    summary: 'Removes a member whose highest role is below the caller’s. They can rejoin with an invite. Needs Kick Members.',
    reply: { status: 204 },
    errors: changeErrors,
    run: (platform, actor, { params }) => kickMember(platform, actor, params.serverId, params.userId),
  }),
  route({
    operationId: 'listAuditLog',
    tag: 'Servers',
    method: 'GET',
    path: '/api/servers/{serverId}/audit-log',
    auth: 'account',
    summary: 'Lists moderation and management actions, newest first. Needs Manage Server.',
    query: BeforeQuery,
    reply: { status: 200, body: AuditPage },
    errors: ['invalid_request', 'unauthorized', 'missing_permission', 'not_found', 'rate_limited'],
    run: (platform, actor, { params, query }) => listAudit(platform, actor, params.serverId, query),
  }),
];
