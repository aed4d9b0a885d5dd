import { type Static, Type } from 'typebox';
import { limits } from '../base/limits.ts';
import { AccountDeletion } from './account-deletion.ts';
import { Choice, Described, ObjectOf } from './schemas.ts';
import { IdOf, Name, Nullable, PictureUrl, Timestamp } from './shared.ts';

/** A tag beside an author's name (docs/behavior/accounts.md#tags). */
export const Tag = Choice(['bot', 'verified_bot', 'official', 'system'], {
  description:
    'A tag beside the name of an account. `bot`: a bot or webhook. `verified_bot`: a bot that an operator verified. `official`: marked by an operator. `system`: the account of the platform.',
});
export type Tag = Static<typeof Tag>;

/** The property with the custom status of an account. */
export const customStatusProperty = {
  customStatus: Described(
    Nullable(Type.String()),
    'A text that the account shows beside its status; null if there is none.',
    'Writing bots',
  ),
};

/** The public profile of an account: its id, names and avatar. */
export const UserSummary = ObjectOf(
  {
    id: Type.String({ description: 'The id of the account, or of the webhook that posted.', examples: ['1431655765432100101'] }),
    username: Type.String({
      description: 'The name that a person logs in with. It is unique among people. Of a bot: the name of its application.',
      examples: ['ada'],
    }),
    displayName: Type.String({ description: 'The name to show. Without one of its own, the username.', examples: ['Ada Lovelace'] }),
    avatarUrl: PictureUrl('The address of the avatar; null if there is none.'),
  },
  'The public profile of an account.',
);
export type UserSummary = Static<typeof UserSummary>;

const NullableTag = Nullable(Tag, 'The tag beside the name; null if the account has none.');

/** The public profile of an account with its tag: the payload of `USER_UPDATE`. */
export const PublicUser = ObjectOf({ ...UserSummary.properties, tag: NullableTag }, 'The public profile of an account with its tag.', {
  tag: null,
});
export type PublicUser = Static<typeof PublicUser>;

/** The author of a message. `tag` is absent if the account has none. */
export const Author = ObjectOf(
  { ...UserSummary.properties, tag: Type.Optional(Described(Tag, 'The tag beside the name; absent if the account has none.')) },
  'The public profile of an account as an author or a member.',
  { tag: undefined },
);
export type Author = Static<typeof Author>;

/** A status that an account chooses (docs/behavior/accounts.md#presence). */
export const ChosenStatus = Choice(['online', 'idle', 'dnd', 'invisible'], {
  description: 'The status that the account chose. `dnd`: do not disturb. `invisible`: others see `offline`.',
});
export type ChosenStatus = Static<typeof ChosenStatus>;

/** A status as others see it. */
export const VisibleStatus = Choice(['online', 'idle', 'dnd', 'offline'], {
  description: 'The status as others see it. `offline`: no session is connected, or the account is invisible.',
});
export type VisibleStatus = Static<typeof VisibleStatus>;

/** The caller's own account: `GET /api/auth/me` (docs/behavior/accounts.md#own-account). */
export const Me = ObjectOf(
  {
    ...UserSummary.properties,
    tag: NullableTag,
    status: ChosenStatus,
    ...customStatusProperty,
    bot: Type.Boolean({ description: 'Whether the account is a bot.' }),
    applicationId: Type.Optional(IdOf('application', 'The application of the bot; absent for people.')),
    deletion: Type.Optional(
      Described(AccountDeletion, 'The scheduled deletion of the account; absent if none is scheduled, and for bots.'),
    ),
    createdAt: Described(Timestamp, 'When the account was created.'),
  },
  'The account of the caller.',
  { tag: null, applicationId: undefined, deletion: undefined },
);
export type Me = Static<typeof Me>;

const Bio = Described(Nullable(Type.String()), 'A text about the account; null if there is none.', 'I wrote the first program.');
const Pronouns = Described(Nullable(Type.String()), 'The pronouns of the account; null if none are given.', 'she/her');

/** `PATCH /api/users/@me` 200: the caller's own account with its bio and pronouns. */
export const MeDetails = ObjectOf({ ...Me.properties, bio: Bio, pronouns: Pronouns }, 'The account of the caller with its profile.', {
  tag: null,
  applicationId: undefined,
  deletion: undefined,
});
export type MeDetails = Static<typeof MeDetails>;

/** The name that an account shows. */
export const DisplayName = Described(Name(32), 'The name to show: one line of 1 to 32 characters. Default: the username.', 'Ada Lovelace');

/** `PATCH /api/users/@me`. Omitted fields do not change; null and `""` clear a field. Without a display name the username is shown. */
export const MePatch = ObjectOf(
  {
    displayName: Type.Optional(
      Described(
        Nullable(Type.Union([Name(32), Type.Literal('')])),
        'The name to show: one line of up to 32 characters. null and an empty text clear it; then the username is shown.',
        'Ada Lovelace',
      ),
    ),
    bio: Type.Optional(
      Described(
        Nullable(Type.String({ maxLength: limits.bioChars, characters: 'text' })),
        `A text about the account, up to ${limits.bioChars} characters. null and an empty text clear it.`,
        'I wrote the first program.',
      ),
    ),
    pronouns: Type.Optional(
      Described(
        Nullable(Type.String({ maxLength: limits.pronounsChars, characters: 'text' })),
        `The pronouns of the account, up to ${limits.pronounsChars} characters. null and an empty text clear them.`,
        'she/her',
      ),
    ),
  },
  'A change of the profile of the caller. Omitted fields do not change.',
);
export type MePatch = Static<typeof MePatch>;

/** `PATCH /api/users/@me/presence`: one field or both; null and `""` clear the custom status (docs/behavior/accounts.md#presence). */
export const PresencePatch = ObjectOf(
  {
    status: Type.Optional(Described(ChosenStatus, 'The new status.')),
    customStatus: Type.Optional(
      Described(
        Nullable(Type.String({ maxLength: limits.customStatusChars, characters: 'text' })),
        `The text beside the status, up to ${limits.customStatusChars} characters. null and an empty text clear it.`,
        'Writing bots',
      ),
    ),
  },
  'A change of the status of the caller. Omitted fields do not change.',
);
export type PresencePatch = Static<typeof PresencePatch>;

/** The badges of a profile, in the order of docs/behavior/accounts.md#badges. */
export const badges = ['staff', 'developer', 'partner', 'verified_server_owner', 'early_access'] as const;
export type Badge = (typeof badges)[number];
/** A badge of a profile. */
export const Badge = Choice(badges, {
  description:
    'A badge of a person. `staff` and `developer`: member of a server of that type. `partner` and `verified_server_owner`: owner of a partnered or verified server. `early_access`: given by an operator.',
});

/** The account of a profile with its status. */
export const ProfileUser = ObjectOf(
  {
    id: UserSummary.properties.id,
    username: UserSummary.properties.username,
    displayName: UserSummary.properties.displayName,
    status: VisibleStatus,
    ...customStatusProperty,
  },
  'The account of a profile with its status.',
);

/** A server that two accounts share. */
export const MutualServer = ObjectOf(
  {
    id: IdOf('server', 'The id of the server.'),
    name: Type.String({ description: 'The name of the server.', examples: ['Analytical Engine'] }),
    iconUrl: PictureUrl('The address of the icon of the server; null if there is none.'),
  },
  'A server that the caller and the account are both in.',
);

/**
 * The profile of an account, for callers who share a server or a DM with it (docs/behavior/accounts.md#profiles). `serverJoinedAt` is present if both are in
 * the server of the query.
 */
export const Profile = ObjectOf(
  {
    user: ProfileUser,
    bio: Bio,
    pronouns: Pronouns,
    createdAt: Described(Timestamp, 'When the account was created.'),
    mutualServers: Type.Array(MutualServer, {
      maxItems: limits.mutualServersListed,
      description: `The servers that both are in, by id. At most ${limits.mutualServersListed}.`,
    }),
    badges: Type.Array(Badge, { maxItems: badges.length, description: 'The badges of the account. Bots have none.' }),
    tag: NullableTag,
    serverJoinedAt: Type.Optional(
      Described(
        Timestamp,
        'Since when the account is in the server of the query; absent without such a server, or if one of both is not in it.',
      ),
    ),
  },
  'The profile of an account.',
  { tag: null, badges: [] },
);
export type Profile = Static<typeof Profile>;

/** Query of a profile. */
export const ProfileQuery = ObjectOf(
  { serverId: Type.Optional(IdOf('server', 'A server, to learn since when the account is in it.')) },
  'The query of a profile.',
);
export type ProfileQuery = Static<typeof ProfileQuery>;
