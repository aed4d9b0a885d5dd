import { account, anyone, memberOr, members, needs, notTheOwner, ownerOnly, peopleOnly, refuseAll } from './roles.ts';
import { type Call, type Row, row } from './row.ts';
import type { Stage } from './stage.ts';

const server = '/api/servers/{serverId}';
const here = ({ serverId }: Stage): { at: string[] } => ({ at: [serverId] });
/** Position above every role of the matrix. */
const atTop = { position: 250 };
/** The owner is above all; whoever else may act at all is not above what stands at the top. */
const belowTop = ownerOnly('403 role_hierarchy');

/** Creating, reading, changing and deleting servers (docs/behavior/servers.md#server-routes). */
const wholeRows: readonly Row[] = [
  row('POST /api/servers', peopleOnly, 201, () => ({ body: { name: 'new' } })),
  row('GET /api/servers', account, 200, () => ({})),
  row(`GET ${server}`, members, 200, here),
  row(`PATCH ${server}`, [...members, needs('Manage Server')], 200, (stage) => ({ ...here(stage), body: { name: 'renamed' } })),
  row(
    `PATCH ${server}`,
    [...members, needs('Manage Server'), ownerOnly('403 not_owner')],
    200,
    async (stage, caller) => {
      const id = caller === stage.owner ? await stage.server() : stage.serverId;
      return { at: [id], body: { ownerId: caller === stage.owner ? (await stage.member(id)).id : stage.author.id } };
    },
    { case: 'handing it over', own: true },
  ),
  row(
    `DELETE ${server}`,
    [...members, ownerOnly('403 not_owner')],
    204,
    async (stage, caller) => ({ at: [caller === stage.owner ? await stage.server() : stage.serverId] }),
    { own: true },
  ),
  row(`GET ${server}/audit-log`, [...members, needs('Manage Server')], 200, here),
];

/** Members, kicks and leaving (docs/behavior/servers.md#members). */
const membersRows: readonly Row[] = [
  row(`GET ${server}/members`, members, 200, here),
  row(`GET ${server}/members/{userId}`, members, 200, (stage) => ({ at: [stage.serverId, stage.author.id] })),
  row(
    'DELETE /api/users/@me/servers/{serverId}',
    [...members, notTheOwner('400 invalid_request')],
    204,
    async (stage, caller) => {
      const stays = caller === stage.owner || caller === stage.callerOf('outsider') || caller.username === '';
      const id = stays ? stage.serverId : await stage.server();
      if (!stays) await stage.bring(caller, id);
      return { at: [id] };
    },
    { own: true },
  ),
  row(`DELETE ${server}/members/{userId}`, [...members, needs('Kick Members')], 204, async (stage) => ({
    at: [stage.serverId, (await stage.member()).id],
  })),
  ...hardTargets('Kick Members', `DELETE ${server}/members/{userId}`),
];

/** What nobody may do to some: to the owner, to oneself, and to whoever stands above. For kicks and bans. */
export function hardTargets(permission: 'Kick Members' | 'Ban Members', route: string): Row[] {
  const who = [...members, needs(permission)];
  const own = { own: true } as const;
  return [
    row(
      route,
      [...who, notTheOwner('400 invalid_request'), refuseAll('403 role_hierarchy')],
      204,
      (stage) => ({ at: [stage.serverId, stage.owner.id] }),
      {
        case: 'of the owner',
      },
    ),
    row(route, [...who, refuseAll('400 invalid_request')], 204, (stage, caller) => ({ at: [stage.serverId, caller.id] }), {
      ...own,
      case: 'of oneself',
    }),
    row(
      route,
      [...who, belowTop],
      204,
      async (stage) => {
        const target = await stage.member();
        await give(stage, target.id, await stage.role(atTop));
        return { at: [stage.serverId, target.id] };
      },
      { case: 'of someone above all others' },
    ),
  ];
}

const give = (stage: Stage, userId: string, roleId: string): Promise<unknown> =>
  stage.api.call('PUT', `/api/servers/${stage.serverId}/members/${userId}/roles/${roleId}`, { as: stage.owner.as });

/** A member who has a new role. */
async function holder(stage: Stage, input: { position?: number } = {}): Promise<Call> {
  const [{ id }, roleId] = [await stage.member(), await stage.role(input)];
  await give(stage, id, roleId);
  return { at: [stage.serverId, id, roleId] };
}

const roleOfMember = `${server}/members/{userId}/roles/{roleId}`;
const manageRoles = [...members, needs('Manage Roles')];
const givingRows: readonly Row[] = [
  row(`PUT ${roleOfMember}`, manageRoles, 204, async (stage) => ({ at: [stage.serverId, stage.author.id, await stage.role()] })),
  row(`DELETE ${roleOfMember}`, manageRoles, 204, (stage) => holder(stage)),
  ...['PUT', 'DELETE'].flatMap((method) => [
    row(`${method} ${roleOfMember}`, [...manageRoles, belowTop], 204, (stage) => holder(stage, atTop), { case: 'a role above all others' }),
    row(
      `${method} ${roleOfMember}`,
      [...manageRoles, refuseAll('400 invalid_request')],
      204,
      (stage) => ({ at: [stage.serverId, stage.author.id, stage.serverId] }),
      { case: '@everyone' },
    ),
    row(
      `${method} ${roleOfMember}`,
      [...manageRoles, refuseAll('400 invalid_request')],
      204,
      (stage) => ({ at: [stage.serverId, stage.author.id, stage.botRoleId] }),
      { case: 'a bot’s own role' },
    ),
  ]),
];

const roles = `${server}/roles`;
const banBit = 1 << 11;
/** The roles of a server (docs/behavior/servers.md#roles). */
const rolesRows: readonly Row[] = [
  row(`GET ${roles}`, members, 200, here),
  row(`POST ${roles}`, manageRoles, 201, (stage) => ({ ...here(stage), body: { name: 'new' } })),
  row(`POST ${roles}`, [...manageRoles, belowTop], 201, (stage) => ({ ...here(stage), body: { name: 'new', ...atTop } }), {
    case: 'above all others',
  }),
  row(
    `POST ${roles}`,
    [...manageRoles, needs('Ban Members')],
    201,
    (stage) => ({ ...here(stage), body: { name: 'new', permissions: banBit } }),
    { case: 'with a bit that the caller may lack' },
  ),
  row(`PATCH ${roles}/{roleId}`, manageRoles, 200, async (stage) => ({
    at: [stage.serverId, await stage.role()],
    body: { name: 'renamed' },
  })),
  row(
    `PATCH ${roles}/{roleId}`,
    [...manageRoles, belowTop],
    200,
    async (stage) => ({ at: [stage.serverId, await stage.role(atTop)], body: { name: 'renamed' } }),
    { case: 'above all others' },
  ),
  row(
    `PATCH ${roles}/{roleId}`,
    [...manageRoles, needs('Ban Members')],
    200,
    async (stage) => ({ at: [stage.serverId, await stage.role()], body: { permissions: banBit } }),
    { case: 'with a bit that the caller may lack' },
  ),
  row(`DELETE ${roles}/{roleId}`, manageRoles, 204, async (stage) => ({ at: [stage.serverId, await stage.role()] })),
  row(`DELETE ${roles}/{roleId}`, [...manageRoles, belowTop], 204, async (stage) => ({ at: [stage.serverId, await stage.role(atTop)] }), {
    case: 'above all others',
  }),
  row(
    `DELETE ${roles}/{roleId}`,
    [...manageRoles, refuseAll('400 invalid_request')],
    204,
    (stage) => ({ at: [stage.serverId, stage.botRoleId] }),
    {
      case: 'a bot’s own',
    },
  ),
];

/** Invites, also of staff and developer servers (docs/behavior/servers.md#invite-rules). */
const inviteRows: readonly Row[] = [
  row(`POST ${server}/invites`, members, 201, (stage) => ({ ...here(stage), body: {} })),
  row(`POST ${server}/invites`, [...members, needs('Manage Server')], 201, (stage) => ({ ...here(stage), body: {} }), {
    case: 'of a staff server',
    types: ['staff'],
  }),
  row(`POST ${server}/invites`, [...members, needs('Administrator')], 201, (stage) => ({ ...here(stage), body: {} }), {
    case: 'of a developer server',
    types: ['developer'],
  }),
  row(`GET ${server}/invites`, [...members, needs('Manage Server')], 200, here),
  row('GET /api/invites/{code}', anyone, 200, async (stage) => ({ at: [await stage.invite()] })),
  row('POST /api/invites/{code}', peopleOnly, 200, async (stage) => ({ at: [await stage.invite(await stage.server())] })),
  row('DELETE /api/invites/{code}', [...members, needs('Manage Server')], 204, async (stage) => ({ at: [await stage.invite()] })),
];

/** Adding a bot to a server that the person manages (docs/behavior/servers.md#bots). */
const authorize = 'POST /api/applications/{id}/authorize';
const managing = [...peopleOnly, memberOr('400 invalid_request'), needs('Manage Server')];
const add = async (stage: Stage, isPublic: boolean): Promise<Call> => ({
  at: [(await stage.ownApplication(stage.author, isPublic)).applicationId],
  body: { serverId: stage.serverId, permissions: 0 },
});
const authorizeRows: readonly Row[] = [
  row(authorize, managing, 201, (stage) => add(stage, true)),
  row(authorize, [...managing, refuseAll('403 not_owner')], 201, (stage) => add(stage, false), { case: 'someone’s private bot' }),
  row(authorize, [...managing, ownerOnly('403 not_owner')], 201, (stage) => add(stage, true), {
    case: 'in a developer server',
    types: ['developer'],
  }),
];

/** The rows of servers, their members, roles and invites. */
export const serverRows: readonly Row[] = [...wholeRows, ...membersRows, ...givingRows, ...rolesRows, ...inviteRows, ...authorizeRows];
