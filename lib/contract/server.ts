import { type Static, Type } from 'typebox';
import { limits } from '../base/limits.ts';
import { Channel } from './channel.ts';
import { Choice, Id, Name, Nullable, Permissions, Timestamp } from './shared.ts';
import { Author, UserSummary, VisibleStatus } from './user.ts';

/** A type that operators give to a server (docs/behavior/servers.md#server-types). */
export const ServerType = Choice(['official', 'staff', 'developer', 'verified', 'partnered']);
export type ServerType = Static<typeof ServerType>;

/** Every server type, in the order of docs/behavior/servers.md#server-types. */
export const serverTypes: readonly ServerType[] = ServerType.enum;

/** The types of the platform's own servers. Discovery never lists these servers (docs/behavior/servers.md#server-types). */
export const teamTypes: readonly ServerType[] = ['staff', 'developer'];

/** Whether a server of these types belongs to the platform's team. */
export const isTeamServer = (types: readonly ServerType[]): boolean => types.some((type) => teamTypes.includes(type));

/** A role (docs/behavior/servers.md#roles). */
export const Role = Type.Object({
  id: Id,
  name: Type.String(),
  color: Nullable(Type.String({ pattern: '^#[0-9a-f]{6}$' })),
  hoist: Type.Boolean(),
  position: Type.Integer(),
  permissions: Permissions,
});
export type Role = Static<typeof Role>;

const color = Nullable(Type.String({ pattern: '^#[0-9A-Fa-f]{6}$', patternText: 'Use a color such as #1a2b3c.' }));

/** `POST /api/servers/{id}/roles`. */
export const RoleInput = Type.Object({
  name: Name(limits.nameChars),
  color: Type.Optional(color),
  hoist: Type.Optional(Type.Boolean()),
  position: Type.Optional(Type.Integer({ minimum: 1, maximum: limits.rolesPerServer })),
  permissions: Type.Optional(Permissions),
});
export type RoleInput = Static<typeof RoleInput>;

/** `PATCH /api/servers/{id}/roles/{roleId}`. Omitted fields do not change. */
export const RolePatch = Type.Partial(RoleInput);
export type RolePatch = Static<typeof RolePatch>;

/** A server in a list. */
export const ServerSummary = Type.Object({
  id: Id,
  name: Type.String(),
  iconUrl: Nullable(Type.String()),
  types: Type.Array(ServerType, { maxItems: serverTypes.length }),
  community: Type.Boolean(),
  listed: Type.Boolean(),
});
export type ServerSummary = Static<typeof ServerSummary>;

/** Query of a page of the caller's servers. `after` is a server id, exclusive. */
export const ServersQuery = Type.Object({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: limits.serversListed })),
  after: Type.Optional(Id),
});
export type ServersQuery = Static<typeof ServersQuery>;

/** A complete server as the caller sees it (docs/behavior/servers.md#server-fields). */
export const Server = Type.Object({
  id: Id,
  name: Type.String(),
  iconUrl: Nullable(Type.String()),
  ownerId: Id,
  channels: Type.Array(Channel, { maxItems: limits.channelsPerServer + limits.threadsListed }),
  roles: Type.Array(Role, { maxItems: limits.rolesWithEveryone }),
  myRoles: Type.Array(Id, { maxItems: limits.rolesPerServer }),
  invitesPaused: Type.Boolean(),
  types: Type.Array(ServerType, { maxItems: serverTypes.length }),
  community: Type.Boolean(),
  listed: Type.Boolean(),
  messageRetentionDays: Nullable(Type.Integer()),
});
export type Server = Static<typeof Server>;

/** `POST /api/servers`. */
export const ServerInput = Type.Object({ name: Name(limits.nameChars) });
export type ServerInput = Static<typeof ServerInput>;

/** `PATCH /api/servers/{id}`. Omitted fields do not change. */
export const ServerPatch = Type.Object({
  name: Type.Optional(Name(limits.nameChars)),
  invitesPaused: Type.Optional(Type.Boolean()),
  ownerId: Type.Optional(Id),
});
export type ServerPatch = Static<typeof ServerPatch>;

/** A member (docs/behavior/servers.md#members). `user.tag` is absent if the account has no tag, as in `Author`. Clients mark bots by the tag. */
export const Member = Type.Object({
  user: Author,
  status: VisibleStatus,
  customStatus: Nullable(Type.String()),
  isOwner: Type.Boolean(),
  roles: Type.Array(Id, { maxItems: limits.rolesPerServer }),
});
export type Member = Static<typeof Member>;

/** Query of a page of members. `after` is a user id, exclusive; `query` is the beginning of a username or display name, case-insensitive. */
export const MembersQuery = Type.Object({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: limits.membersListed })),
  after: Type.Optional(Id),
  query: Type.Optional(Type.String({ minLength: 1, maxLength: limits.nameChars })),
});
export type MembersQuery = Static<typeof MembersQuery>;

/** `PUT /api/servers/{id}/bans/{userId}`. */
export const BanInput = Type.Object({ reason: Type.Optional(Nullable(Type.String({ maxLength: limits.banReasonChars }))) });
export type BanInput = Static<typeof BanInput>;

/** A banned account with its public profile (docs/behavior/servers.md#ban-list). */
export const Ban = Type.Object({ user: UserSummary, reason: Nullable(Type.String()), createdAt: Timestamp });
export type Ban = Static<typeof Ban>;

/** Query of a page of bans; `before` is the id of a banned account. */
export const BansQuery = Type.Object({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: limits.bansListed })),
  before: Type.Optional(Id),
});
export type BansQuery = Static<typeof BansQuery>;

/**
 * `POST /api/servers/{id}/invites`. 0 means that the invite never expires, or has no limit of uses. The domain checks the ranges: other servers refuse a value
 * that a developer server clamps.
 */
export const InviteInput = Type.Object({
  maxAgeSecs: Type.Optional(
    Type.Integer({
      description: `0 to ${limits.inviteMaxAgeSecs} seconds; 0 means it never expires. In a developer server at most ${limits.developerInviteMaxAgeSecs}.`,
    }),
  ),
  maxUses: Type.Optional(Type.Integer({ description: `0 to ${limits.inviteMaxUses}; 0 means no limit. In a developer server always 1.` })),
});
export type InviteInput = Static<typeof InviteInput>;

/** An invite (docs/behavior/servers.md#invites). */
export const Invite = Type.Object({
  code: Type.String(),
  serverId: Id,
  maxAgeSecs: Type.Integer(),
  maxUses: Type.Integer(),
  uses: Type.Integer(),
  expiresAt: Nullable(Timestamp),
  createdAt: Timestamp,
});
export type Invite = Static<typeof Invite>;

/** What everyone who has the code of an invite may see before joining. */
export const InvitePreview = Type.Object({
  code: Type.String(),
  server: Type.Object({ id: Id, name: Type.String(), iconUrl: Nullable(Type.String()), memberCount: Type.Integer() }),
  expiresAt: Nullable(Timestamp),
});
export type InvitePreview = Static<typeof InvitePreview>;

/** One entry of a server's audit log (docs/behavior/servers.md#audit-log). */
export const AuditEntry = Type.Object({
  id: Id,
  actorId: Id,
  action: Type.String(),
  targetId: Nullable(Type.String()),
  reason: Nullable(Type.String()),
  changes: Type.Record(Type.String(), Type.Object({ from: Type.Unknown(), to: Type.Unknown() })),
  createdAt: Timestamp,
});
export type AuditEntry = Static<typeof AuditEntry>;

/** `GET /api/servers/{id}/audit-log`. */
export const AuditPage = Type.Object({ items: Type.Array(AuditEntry), hasMore: Type.Boolean() });
export type AuditPage = Static<typeof AuditPage>;
