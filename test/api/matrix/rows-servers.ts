import type { Caller } from '../../harness/requests.ts';
import type { MatrixFixture } from './fixture.ts';
import { account, anyone, memberOr, members, needs, notTheOwner, ownerOnly, peopleOnly, refuseAll } from './roles.ts';
import { atTop, type Call, type Row, row, serverCall, withBody } from './row.ts';

const server = '/api/servers/{serverId}';
const managingServer = [...members, needs('Manage Server')];
/** Refuses all but the owner, who alone is above a role at the top. */
const aboveTop = ownerOnly('403 role_hierarchy');

/** Creating, reading, changing and deleting servers (docs/behavior/servers.md#server-routes). */
const basicRows: readonly Row[] = [
  row('POST /api/servers', peopleOnly, 201, () => ({ body: { name: 'new' } })),
  row('GET /api/servers', account, 200, () => ({})),
  row(`GET ${server}`, members, 200, serverCall),
  row(`PATCH ${server}`, managingServer, 200, withBody(serverCall, { name: 'renamed' })),
  row(
    `PATCH ${server}`,
    [...managingServer, ownerOnly('403 not_owner')],
    200,
    async (fixture, caller) => {
      const id = caller === fixture.owner ? await fixture.makeServer() : fixture.serverId;
      return { params: [id], body: { ownerId: caller === fixture.owner ? (await fixture.makeMember(id)).id : fixture.author.id } };
    },
    { case: 'with a new owner', perCaller: true },
  ),
  row(
    `DELETE ${server}`,
    [...members, ownerOnly('403 not_owner')],
    204,
    async (fixture, caller) => ({ params: [caller === fixture.owner ? await fixture.makeServer() : fixture.serverId] }),
    { perCaller: true },
  ),
  row(`GET ${server}/audit-log`, managingServer, 200, serverCall),
];

/** Members, kicks and leaving (docs/behavior/servers.md#members). */
const membersRows: readonly Row[] = [
  row(`GET ${server}/members`, members, 200, serverCall),
  row(`GET ${server}/members/{userId}`, members, 200, (fixture) => ({ params: [fixture.serverId, fixture.author.id] })),
  row(
    'DELETE /api/users/@me/servers/{serverId}',
    [...members, notTheOwner('400 invalid_request')],
    204,
    async (fixture, caller) => {
      const cannotLeave = caller === fixture.owner || caller === fixture.callerOf('outsider') || caller.username === '';
      const id = cannotLeave ? fixture.serverId : await fixture.makeServer();
      if (!cannotLeave) await fixture.addToServer(caller, id);
      return { params: [id] };
    },
    { perCaller: true },
  ),
  row(`DELETE ${server}/members/{userId}`, [...members, needs('Kick Members')], 204, async (fixture) => ({
    params: [fixture.serverId, (await fixture.makeMember()).id],
  })),
  ...protectedTargets('Kick Members', `DELETE ${server}/members/{userId}`),
];

/** Rows of kicks and bans of members on whom they are refused: the owner, the caller, and a member above the caller. */
export function protectedTargets(permission: 'Kick Members' | 'Ban Members', route: string): Row[] {
  const who = [...members, needs(permission)];
  const ownerCall = ({ serverId, owner }: MatrixFixture): Call => ({ params: [serverId, owner.id] });
  const callerCall = ({ serverId }: MatrixFixture, { id }: Caller): Call => ({ params: [serverId, id] });
  const aboveCall = async (all: MatrixFixture): Promise<Call> => ({ params: (await memberRoleCall(all, atTop)).params.slice(0, 2) });
  return [
    row(route, [...who, notTheOwner('400 invalid_request'), refuseAll('403 role_hierarchy')], 204, ownerCall, 'of the owner'),
    row(route, [...who, refuseAll('400 invalid_request')], 204, callerCall, { perCaller: true, case: 'of the caller' }),
    row(route, [...who, aboveTop], 204, aboveCall, 'of a member above all others'),
  ];
}

/** A call with a member and their new role. */
async function memberRoleCall(fixture: MatrixFixture, input: { position?: number } = {}): Promise<{ params: string[] }> {
  const [{ id }, roleId] = [await fixture.makeMember(), await fixture.makeRole(input)];
  await fixture.api.call('PUT', `/api/servers/${fixture.serverId}/members/${id}/roles/${roleId}`, { as: fixture.owner.as });
  return { params: [fixture.serverId, id, roleId] };
}

const roleOfMember = `${server}/members/{userId}/roles/{roleId}`;
const manageRoles = [...members, needs('Manage Roles')];
const managesTop = [...manageRoles, aboveTop];
const mayBan = [...manageRoles, needs('Ban Members')];
/** A call with the author and a role that nobody may give or take. */
const fixedRoleCall =
  (role: 'serverId' | 'botRoleId'): Row['call'] =>
  (fixture) => ({ params: [fixture.serverId, fixture.author.id, fixture[role]] });
const invalid = [...manageRoles, refuseAll('400 invalid_request')];
const memberRoleRows: readonly Row[] = [
  row(`PUT ${roleOfMember}`, manageRoles, 204, async (fixture) => ({
    params: [fixture.serverId, fixture.author.id, await fixture.makeRole()],
  })),
  row(`DELETE ${roleOfMember}`, manageRoles, 204, (fixture) => memberRoleCall(fixture)),
  ...['PUT', 'DELETE'].flatMap((method) => [
    row(`${method} ${roleOfMember}`, managesTop, 204, (fixture) => memberRoleCall(fixture, atTop), 'a role above all others'),
    row(`${method} ${roleOfMember}`, invalid, 204, fixedRoleCall('serverId'), '@everyone'),
    row(`${method} ${roleOfMember}`, invalid, 204, fixedRoleCall('botRoleId'), 'a bot’s own role'),
  ]),
];

const roles = `${server}/roles`;
const permissions = 1 << 11; // Ban Members
/** A call with a new role and a body. */
const roleCall =
  (body?: object, input?: { position: number }): Row['call'] =>
  async (fixture) => ({ params: [fixture.serverId, await fixture.makeRole(input)], body });
/** The roles of a server (docs/behavior/servers.md#roles). */
const rolesRows: readonly Row[] = [
  row(`GET ${roles}`, members, 200, serverCall),
  row(`POST ${roles}`, manageRoles, 201, withBody(serverCall, { name: 'new' })),
  row(`POST ${roles}`, managesTop, 201, withBody(serverCall, { name: 'new', ...atTop }), 'above all others'),
  row(`POST ${roles}`, mayBan, 201, withBody(serverCall, { name: 'new', permissions }), 'with a permission that the caller may lack'),
  row(`PATCH ${roles}/{roleId}`, manageRoles, 200, roleCall({ name: 'renamed' })),
  row(`PATCH ${roles}/{roleId}`, managesTop, 200, roleCall({ name: 'renamed' }, atTop), 'above all others'),
  row(`PATCH ${roles}/{roleId}`, mayBan, 200, roleCall({ permissions }), 'with a permission that the caller may lack'),
  row(`DELETE ${roles}/{roleId}`, manageRoles, 204, roleCall()),
  row(`DELETE ${roles}/{roleId}`, managesTop, 204, roleCall(undefined, atTop), 'above all others'),
  row(`DELETE ${roles}/{roleId}`, invalid, 204, (fixture) => ({ params: [fixture.serverId, fixture.botRoleId] }), 'of a bot'),
];

/** Invites, also of staff and developer servers (docs/behavior/servers.md#invite-rules). */
const inviteRows: readonly Row[] = [
  row(`POST ${server}/invites`, members, 201, withBody(serverCall, {})),
  row(`POST ${server}/invites`, managingServer, 201, withBody(serverCall, {}), { case: 'of a staff server', types: ['staff'] }),
  row(`POST ${server}/invites`, [...members, needs('Administrator')], 201, withBody(serverCall, {}), {
    case: 'of a developer server',
    types: ['developer'],
  }),
  row(`GET ${server}/invites`, managingServer, 200, serverCall),
  row('GET /api/invites/{code}', anyone, 200, async (fixture) => ({ params: [await fixture.makeInvite()] })),
  row('POST /api/invites/{code}', peopleOnly, 200, async (fixture) => ({ params: [await fixture.makeInvite(await fixture.makeServer())] })),
  row('DELETE /api/invites/{code}', managingServer, 204, async (fixture) => ({ params: [await fixture.makeInvite()] })),
];

/** Adding a bot to a server that the person manages (docs/behavior/servers.md#bots). */
const authorize = 'POST /api/applications/{applicationId}/authorize';
const managing = [...peopleOnly, memberOr('400 invalid_request'), needs('Manage Server')];
const add = async (fixture: MatrixFixture, isPublic: boolean): Promise<Call> => ({
  params: [(await fixture.makeApplication(fixture.author, isPublic)).applicationId],
  body: { serverId: fixture.serverId, permissions: 0 },
});
const authorizeRows: readonly Row[] = [
  row(authorize, managing, 201, (fixture) => add(fixture, true)),
  row(authorize, [...managing, refuseAll('403 not_owner')], 201, (fixture) => add(fixture, false), 'for a private bot of another person'),
  row(authorize, [...managing, ownerOnly('403 not_owner')], 201, (fixture) => add(fixture, true), {
    case: 'in a developer server',
    types: ['developer'],
  }),
];

/** The rows of servers, their members, roles and invites. */
export const serverRows: readonly Row[] = [...basicRows, ...membersRows, ...memberRoleRows, ...rolesRows, ...inviteRows, ...authorizeRows];
