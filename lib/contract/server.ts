import { type Static, Type } from 'typebox';
import { limits } from '../base/limits.ts';
import { Channel } from './channel.ts';
import { Choice, Described, ObjectOf } from './schemas.ts';
import { IdOf, Name, Nullable, PageLimit, Permissions, PictureUrl } from './shared.ts';

/** A type that operators give to a server (docs/behavior/servers.md#server-types). */
export const ServerType = Choice(['official', 'staff', 'developer', 'verified', 'partnered'], {
  description:
    'A type that operators give to a server. `official`: run by the platform. `staff` and `developer`: of its staff or developers. `verified`: verified by it. `partnered`: in its partner program.',
});
export type ServerType = Static<typeof ServerType>;

/** Every server type, in the order of docs/behavior/servers.md#server-types. */
export const serverTypes: readonly ServerType[] = ServerType.enum;

/** The types of the platform's own servers. Discovery never lists these servers (docs/behavior/servers.md#server-types). */
export const teamTypes: readonly ServerType[] = ['staff', 'developer'];

/** Whether a server of these types belongs to the platform's team. */
export const isTeamServer = (types: readonly ServerType[]): boolean => types.some((type) => teamTypes.includes(type));

/** A role (docs/behavior/servers.md#roles). */
export const Role = ObjectOf(
  {
    id: IdOf('role', 'The id of the role. That of `@everyone` is the id of the server.'),
    name: Type.String({ description: 'The name of the role.', examples: ['Moderator'] }),
    color: Described(
      Nullable(Type.String({ pattern: '^#[0-9a-f]{6}$' })),
      'The color as `#rrggbb` in lowercase; null if there is none.',
      '#1a2b3c',
    ),
    hoist: Type.Boolean({ description: 'Whether clients show the members of the role as a group.' }),
    position: Type.Integer({ description: 'The place in the hierarchy: `@everyone` is 0, the lowest role is 1.', examples: [1] }),
    permissions: Described(Permissions, 'The permissions that the role gives, as the sum of their bits.', 35),
  },
  'A role of a server.',
);
export type Role = Static<typeof Role>;

const color = Described(
  Nullable(Type.String({ pattern: '^#[0-9A-Fa-f]{6}$', patternText: 'Use a color such as #1a2b3c.' })),
  'The color as `#rrggbb`, or null for none. Default: null.',
  '#1a2b3c',
);

/** `POST /api/servers/{id}/roles`. */
export const RoleInput = ObjectOf(
  {
    name: Described(Name(limits.nameChars), `The name: one line of 1 to ${limits.nameChars} characters.`, 'Moderator'),
    color: Type.Optional(color),
    hoist: Type.Optional(Type.Boolean({ description: 'Whether clients show the members of the role as a group. Default: false.' })),
    position: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: limits.rolesPerServer,
        description: 'The place in the hierarchy, 1 is the lowest. Default: 1. It must not be above the highest role of the caller.',
      }),
    ),
    permissions: Type.Optional(
      Described(
        Permissions,
        'The permissions that the role gives, as the sum of their bits. Default: 0. The caller must have them all.',
        35,
      ),
    ),
  },
  'Creates a role.',
);
export type RoleInput = Static<typeof RoleInput>;

const { name, hoist, position, permissions } = RoleInput.properties;

/** `PATCH /api/servers/{id}/roles/{roleId}`. Omitted fields do not change. */
export const RolePatch = ObjectOf(
  {
    name: Type.Optional(name),
    color: Type.Optional(Described(color, 'The color as `#rrggbb`; null removes it.')),
    hoist: Type.Optional(Described(hoist, 'Whether clients show the members of the role as a group.')),
    position: Type.Optional(
      Described(position, 'The place in the hierarchy, 1 is the lowest. It must stay below the highest role of the caller.'),
    ),
    permissions: Type.Optional(
      Described(permissions, 'The permissions that the role gives, as the sum of their bits. The caller must have those that change.'),
    ),
  },
  'A change of a role. Omitted fields do not change.',
);
export type RolePatch = Static<typeof RolePatch>;

const serverName = Type.String({ description: 'The name of the server.', examples: ['Analytical Engine'] });
const summary = {
  id: IdOf('server', 'The id of the server. It is also the id of the role `@everyone`.'),
  name: serverName,
  iconUrl: PictureUrl('The address of the icon; null if there is none.'),
};
const types = Type.Array(ServerType, {
  maxItems: serverTypes.length,
  description: 'The types that operators gave to the server, each once. Usually none.',
});
const community = Type.Boolean({ description: 'Whether it is a Community server.' });
const listed = Type.Boolean({ description: 'Whether Discovery lists it.' });

/** A server in a list. */
export const ServerSummary = ObjectOf({ ...summary, types, community, listed }, 'A server in a list.', { types: [] });
export type ServerSummary = Static<typeof ServerSummary>;

/** Query of a page of the caller's servers. `after` is a server id, exclusive. */
export const ServersQuery = ObjectOf(
  {
    limit: Type.Optional(PageLimit(limits.serversListed, limits.serversListed)),
    after: Type.Optional(IdOf('server', 'Only servers with a higher id than this server.')),
  },
  'The query of a page of the servers of the caller.',
);
export type ServersQuery = Static<typeof ServersQuery>;

/** A complete server as the caller sees it (docs/behavior/servers.md#server-fields). */
export const Server = ObjectOf(
  {
    ...summary,
    ownerId: IdOf('user', 'The owner of the server, who has all permissions.'),
    channels: Type.Array(Channel, {
      maxItems: limits.channelsPerServer + limits.threadsListed,
      description:
        'The channels that the caller can view, by position. Then the threads in them that are not archived, newest activity first.',
    }),
    roles: Type.Array(Role, {
      maxItems: limits.rolesWithEveryone,
      description: 'The roles, highest first. The last one is `@everyone`.',
    }),
    myRoles: Type.Array(IdOf('role', 'A role.'), {
      maxItems: limits.rolesPerServer,
      description: 'The roles of the caller, highest first, without `@everyone`.',
    }),
    invitesPaused: Type.Boolean({ description: 'Whether nobody can join now.' }),
    types,
    community,
    listed,
    messageRetentionDays: Described(
      Nullable(Type.Integer()),
      'After how many days messages are deleted; null if they are kept. Only operators can change it.',
      null,
    ),
  },
  'A server as the caller sees it.',
  { types: [] },
);
export type Server = Static<typeof Server>;

/** `POST /api/servers`. */
export const ServerInput = ObjectOf(
  { name: Described(Name(limits.nameChars), `The name: one line of 1 to ${limits.nameChars} characters.`, 'Analytical Engine') },
  'Creates a server that the caller owns.',
);
export type ServerInput = Static<typeof ServerInput>;

/** `PATCH /api/servers/{id}`. Omitted fields do not change. */
export const ServerPatch = ObjectOf(
  {
    name: Type.Optional(ServerInput.properties.name),
    invitesPaused: Type.Optional(Type.Boolean({ description: 'Whether nobody can join. Invites can still be created.', examples: [true] })),
    ownerId: Type.Optional(IdOf('user', 'The new owner: a person in the server. Only the owner can set it.')),
  },
  'A change of a server. Omitted fields do not change.',
  { ownerId: undefined },
);
export type ServerPatch = Static<typeof ServerPatch>;
