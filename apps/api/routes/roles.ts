import { Role, RoleInput, RolePatch } from '../../../lib/contract/server.ts';
import { createRole, deleteRole, listRoles, updateRole } from '../../../lib/domain/servers/roles.ts';
import { json } from '../bodies/json.ts';
import { List, type Route, route } from '../route.ts';

const changeErrors = ['invalid_request', 'unauthorized', 'missing_permission', 'role_hierarchy', 'not_found', 'rate_limited'] as const;

/** The routes of a server's roles (docs/behavior/servers.md#roles). */
export const rolesRoutes: readonly Route[] = [
  route({
    operationId: 'listRoles',
    tag: 'Roles',
    method: 'GET',
    path: '/api/servers/{serverId}/roles',
    auth: 'account',
    summary: 'Lists the server’s roles, highest first, `@everyone` last.',
    reply: { status: 200, body: List(Role, 'rolesWithEveryone') },
    errors: ['unauthorized', 'not_found', 'rate_limited'],
    run: (platform, actor, { params }) => listRoles(platform, actor, params.serverId),
  }),
  route({
    operationId: 'createRole',
    tag: 'Roles',
    method: 'POST',
    path: '/api/servers/{serverId}/roles',
    auth: 'account',
    manages: true,
    summary:
      'Creates a role at position 1, or at `position`, below the caller’s highest. Needs Manage Roles and every permission that the role grants.',
    body: json(RoleInput),
    reply: { status: 201, body: Role },
    creates: 'resource',
    errors: ['too_many_roles', 'idempotency_conflict', ...changeErrors],
    run: (platform, actor, { params, body, newId }) => createRole(platform, actor, params.serverId, body, newId),
  }),
  route({
    operationId: 'updateRole',
    tag: 'Roles',
    method: 'PATCH',
    path: '/api/servers/{serverId}/roles/{roleId}',
    auth: 'account',
    manages: true,
    summary: 'Changes or moves a role below the caller’s highest role. Needs Manage Roles and every permission that is added or removed.',
    body: json(RolePatch),
    reply: { status: 200, body: Role },
    errors: changeErrors,
    run: (platform, actor, { params, body }) => updateRole(platform, actor, params.serverId, params.roleId, body),
  }),
  route({
    operationId: 'deleteRole',
    tag: 'Roles',
    method: 'DELETE',
    path: '/api/servers/{serverId}/roles/{roleId}',
    auth: 'account',
    manages: true,
    summary: 'Deletes a role below the caller’s highest role. Needs Manage Roles.',
    reply: { status: 204 },
    errors: changeErrors,
    run: (platform, actor, { params }) => deleteRole(platform, actor, params.serverId, params.roleId),
  }),
];
