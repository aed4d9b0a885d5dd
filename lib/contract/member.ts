import { type Static, Type } from 'typebox';
import { limits } from '../base/limits.ts';
import { Choice, Described, ObjectOf } from './schemas.ts';
import { HasMore, IdOf, Nullable, PageLimit, PictureUrl, Timestamp } from './shared.ts';
import { Author, customStatusProperty, UserSummary, VisibleStatus } from './user.ts';

/** A member (docs/behavior/servers.md#members). `user.tag` is absent if the account has no tag, as in `Author`. Clients mark bots by the tag. */
export const Member = ObjectOf(
  {
    user: Described(Author, 'The account of the member. Clients mark bots by its tag.'),
    status: VisibleStatus,
    ...customStatusProperty,
    isOwner: Type.Boolean({ description: 'Whether the member owns the server.' }),
    roles: Type.Array(IdOf('role', 'A role.'), {
      maxItems: limits.rolesPerServer,
      description: 'The roles of the member, highest first, without `@everyone`.',
    }),
  },
  'A member of a server.',
);
export type Member = Static<typeof Member>;

/** Query of a page of members. `after` is a user id, exclusive; `query` is the beginning of a username or display name, case-insensitive. */
export const MembersQuery = ObjectOf(
  {
    limit: Type.Optional(
      Described(
        PageLimit(limits.membersListed, limits.membersPageDefault),
        `The largest number of members to return. Default: ${limits.membersPageDefault}; without any query, ${limits.membersListed}.`,
      ),
    ),
    after: Type.Optional(IdOf('user', 'Only members behind this account in the order of the list.')),
    query: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: limits.nameChars,
        description: 'Only members whose username or display name begins with this text, in any case. Default: all members.',
        examples: ['ada'],
      }),
    ),
  },
  'The query of a page of members.',
);
export type MembersQuery = Static<typeof MembersQuery>;

/** `PUT /api/servers/{id}/bans/{userId}`. */
export const BanInput = ObjectOf(
  {
    reason: Type.Optional(
      Described(
        Nullable(Type.String({ maxLength: limits.banReasonChars, characters: 'text' })),
        `Why the account is banned, up to ${limits.banReasonChars} characters. The person is told it. Default: null, no reason.`,
        'Spam',
      ),
    ),
  },
  'Bans an account from a server.',
);
export type BanInput = Static<typeof BanInput>;

/** A banned account with its public profile (docs/behavior/servers.md#ban-list). */
export const Ban = ObjectOf(
  {
    user: Described(UserSummary, 'The banned account.'),
    reason: Described(Nullable(Type.String()), 'Why it was banned; null without a reason.', 'Spam'),
    createdAt: Described(Timestamp, 'When it was banned.'),
  },
  'A banned account.',
);
export type Ban = Static<typeof Ban>;

/** Query of a page of bans; `before` is the id of a banned account. */
export const BansQuery = ObjectOf(
  {
    limit: Type.Optional(PageLimit(limits.bansListed, limits.bansListed)),
    before: Type.Optional(IdOf('user', 'Only bans older than that of this account. The last account of the previous page.')),
  },
  'The query of a page of bans.',
);
export type BansQuery = Static<typeof BansQuery>;

/**
 * `POST /api/servers/{id}/invites`. 0 means that the invite never expires, or has no limit of uses. The domain checks the ranges: other servers refuse a value
 * that a developer server clamps.
 */
export const InviteInput = ObjectOf(
  {
    maxAgeSecs: Type.Optional(
      Type.Integer({
        description: `How long the invite works, in seconds: 0 to ${limits.inviteMaxAgeSecs}; 0 means it never expires. Default: 86400, a day. In a developer server at most ${limits.developerInviteMaxAgeSecs}.`,
        examples: [86_400],
      }),
    ),
    maxUses: Type.Optional(
      Type.Integer({
        description: `How many people can join with it: 0 to ${limits.inviteMaxUses}; 0 means no limit. Default: 0. In a developer server always 1.`,
        examples: [10],
      }),
    ),
  },
  'Creates an invite.',
);
export type InviteInput = Static<typeof InviteInput>;

const code = Type.String({ description: 'The code of the invite: ten letters and digits.', examples: ['k3Xb9QmT2a'] });
const expiresAt = Nullable(Timestamp, 'Until when it works; null if it never expires.');

/** An invite (docs/behavior/servers.md#invites). */
export const Invite = ObjectOf(
  {
    code,
    serverId: IdOf('server', 'The server that it leads to.'),
    maxAgeSecs: Type.Integer({
      description: 'How long it works from its creation, in seconds; 0 means it never expires.',
      examples: [86_400],
    }),
    maxUses: Type.Integer({ description: 'How many people can join with it; 0 means no limit.', examples: [10] }),
    uses: Type.Integer({ description: 'How many people have joined with it.', examples: [2] }),
    expiresAt,
    createdAt: Described(Timestamp, 'When it was created.'),
  },
  'An invite to a server.',
);
export type Invite = Static<typeof Invite>;

/** The server of an invite, for everyone who has its code. */
export const InvitedServer = ObjectOf(
  {
    id: IdOf('server', 'The id of the server.'),
    name: Type.String({ description: 'The name of the server.', examples: ['Analytical Engine'] }),
    iconUrl: PictureUrl('The address of the icon; null if there is none.'),
    memberCount: Type.Integer({ description: 'The number of members.', examples: [1840] }),
  },
  'The server that an invite leads to.',
);

/** What everyone who has the code of an invite may see before joining. */
export const InvitePreview = ObjectOf(
  { code, server: Described(InvitedServer, 'The server that it leads to.'), expiresAt },
  'What everyone who has the code of an invite sees before joining.',
);
export type InvitePreview = Static<typeof InvitePreview>;

/** The old and the new value of one field of an audit log entry. */
export const AuditChange = ObjectOf(
  {
    from: Type.Unknown({ description: 'The value before.', examples: ['general'] }),
    to: Type.Unknown({ description: 'The value after.', examples: ['lounge'] }),
  },
  'The old and the new value of a field.',
);

/** What was done: the resource, then the action. */
export const AuditAction = Choice(
  [
    'server_update',
    'channel_create',
    'channel_update',
    'channel_delete',
    'overwrite_set',
    'overwrite_delete',
    'role_create',
    'role_update',
    'role_delete',
    'member_role_add',
    'member_role_remove',
    'member_kick',
    'member_ban',
    'member_unban',
    'invite_create',
    'invite_delete',
    'follow_create',
    'follow_delete',
    'webhook_create',
    'webhook_update',
    'webhook_delete',
    'message_crosspost',
    'bot_add',
    'message_delete',
    'message_pin',
    'message_unpin',
  ],
  { description: 'What was done: the resource, then the action.', examples: ['channel_update'] },
);
export type AuditAction = Static<typeof AuditAction>;

/** One entry of a server's audit log (docs/behavior/servers.md#audit-log). */
export const AuditEntry = ObjectOf(
  {
    id: IdOf('other', 'The id of the entry.'),
    actorId: IdOf('user', 'Who did it.'),
    action: AuditAction,
    targetId: Described(
      Nullable(Type.String()),
      'What it was done to, by its id or code; null if there is no such thing.',
      '1431655765432100404',
    ),
    reason: Described(Nullable(Type.String()), 'The reason that was given; null without one.', null),
    changes: Type.Record(Type.String(), AuditChange, {
      description: 'The fields that changed, by name. Empty if the caller cannot view the channel of the entry.',
      examples: [{ name: { from: 'general', to: 'lounge' } }],
    }),
    createdAt: Described(Timestamp, 'When it was done.'),
  },
  'An entry of the audit log of a server.',
);
export type AuditEntry = Static<typeof AuditEntry>;

/** `GET /api/servers/{id}/audit-log`. */
export const AuditPage = ObjectOf(
  { items: Type.Array(AuditEntry, { description: 'The entries, newest first.' }), hasMore: HasMore },
  'A page of an audit log.',
);
export type AuditPage = Static<typeof AuditPage>;
