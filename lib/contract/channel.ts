import { type Static, type TProperties, Type } from 'typebox';
import { limits } from '../base/limits.ts';
import { Choice, Described, DocumentedAs, ObjectOf, OneOf } from './schemas.ts';
import { IdOf, Name, Nullable, Permissions } from './shared.ts';

/** The kind of a channel (docs/behavior/servers.md#channel-kinds). */
export const ChannelKind = Choice(['category', 'text', 'announcement', 'voice', 'thread'], {
  description:
    'The kind of a channel. `category`: groups channels. `text`, `announcement` and `thread` hold messages; other channels can follow an `announcement` channel. `voice`: has no messages.',
});
export type ChannelKind = Static<typeof ChannelKind>;

/** How clients show the messages of a channel. */
export const ContentMode = Choice(['default', 'spoiler', 'age_restricted'], {
  description:
    'How clients show the messages. `spoiler`: hidden until a click. `age_restricted`: after a warning. A hint for clients; the API refuses nothing because of it.',
});

/** The number of minutes without messages after which a thread is archived. */
export const AutoArchiveMinutes = Choice([60, 1440, 4320, 10080], {
  description: 'After how many minutes without a message a thread is archived: an hour, a day, 3 days or a week.',
  examples: [1440],
});

const allow = Described(Permissions, 'The permissions that are added, as the sum of their bits.', 1);
const deny = Described(Permissions, 'The permissions that are removed, as the sum of their bits. No bit is both here and in `allow`.', 2);

/** The permissions that a channel allows or denies to one role or user (docs/behavior/servers.md#overwrites). */
export const ChannelOverwrite = ObjectOf(
  { id: IdOf('role', 'The role or account. The id of the server stands for `@everyone`.'), allow, deny },
  'The permissions that a channel adds or removes for one role or account.',
);

const overwrites = Type.Array(ChannelOverwrite, {
  maxItems: limits.overwritesPerChannel,
  description: `The permissions that the channel changes for roles and accounts. At most ${limits.overwritesPerChannel}; empty for threads.`,
});
/** The properties of a channel of any kind. Those that do not apply to its kind are null. */
const channelProperties = {
  id: IdOf('channel', 'The id of the channel.'),
  serverId: Nullable(IdOf('server', 'The server of the channel.'), 'The server of the channel.'),
  name: Described(Nullable(Type.String()), 'The name of the channel.', 'general'),
  position: Described(
    Nullable(Type.Integer()),
    'The place among the channels of its category, lowest first, with gaps between the numbers. null for threads.',
    3,
  ),
  kind: ChannelKind,
  parentId: Nullable(
    IdOf('category', 'The category of a channel, or the channel of a thread.'),
    'The category of the channel, or the channel of a thread. null for categories and for channels outside a category.',
  ),
  topic: Described(Nullable(Type.String()), 'The topic; null if there is none. Only text and announcement channels have one.', 'Say hello'),
  slowmodeSecs: Described(
    Nullable(Type.Integer()),
    'The seconds between two messages of one account; 0 is off. null for categories and voice channels.',
    0,
  ),
  contentMode: Nullable(ContentMode, 'How clients show the messages. null for kinds other than text and announcement.'),
  autoArchiveMinutes: Nullable(
    AutoArchiveMinutes,
    'Of a thread: after how many minutes without a message it is archived. Of a channel: the default of new threads; null stands for a day. null for categories and voice channels.',
  ),
  archived: Described(Nullable(Type.Boolean()), 'Whether the thread is archived. null for other kinds.', false),
  threadOwnerId: Nullable(IdOf('user', 'Who made the thread.'), 'Who made the thread. null for other kinds.'),
  threadStarterId: Nullable(
    IdOf('message', 'The message that the thread belongs to.'),
    'The message that the thread belongs to, also after it is deleted; null if there is none. null for other kinds.',
  ),
  messageCount: Described(Nullable(Type.Integer()), 'The number of messages in the thread now. null for other kinds.', 12),
  overwrites,
};

const { id, parentId, topic, threadStarterId } = channelProperties;
const notApplicable = Type.Null({ description: 'Does not apply to this kind.' });
/** The properties that only some kinds have. */
const none = {
  topic: notApplicable,
  slowmodeSecs: notApplicable,
  contentMode: notApplicable,
  autoArchiveMinutes: notApplicable,
  archived: notApplicable,
  threadOwnerId: notApplicable,
  threadStarterId: notApplicable,
  messageCount: notApplicable,
};
const common = {
  id,
  serverId: IdOf('server', 'The server of the channel.'),
  name: Type.String({ description: 'The name of the channel.', examples: ['general'] }),
};
const position = Type.Integer({
  description: 'The place among the channels of its category, lowest first, with gaps between the numbers.',
  examples: [3],
});
const slowmodeSecs = Type.Integer({ description: 'The seconds between two messages of one account; 0 is off.', examples: [0] });
const withMessages = {
  topic,
  slowmodeSecs,
  contentMode: ContentMode,
  autoArchiveMinutes: Nullable(
    AutoArchiveMinutes,
    'After how many minutes without a message new threads are archived; null stands for a day.',
  ),
};

const ChannelOfKind = <K extends string, P extends TProperties>(kind: K, description: string, properties: P) =>
  ObjectOf(
    { ...common, kind: Type.Literal(kind, { description: `The kind of the channel: \`${kind}\`.` }), ...none, ...properties, overwrites },
    description,
  );

/** A category. */
export const CategoryChannel = ChannelOfKind('category', 'A category, which groups channels.', { position, parentId: notApplicable });
/** A text channel. */
export const TextChannel = ChannelOfKind('text', 'A text channel.', { position, parentId, ...withMessages });
/** An announcement channel. */
export const AnnouncementChannel = ChannelOfKind('announcement', 'An announcement channel, which other channels can follow.', {
  position,
  parentId,
  ...withMessages,
});
/** A voice channel. */
export const VoiceChannel = ChannelOfKind('voice', 'A voice channel. It has no messages.', { position, parentId });
/** A thread. */
export const ThreadChannel = ChannelOfKind('thread', 'A thread in a text or announcement channel.', {
  position: notApplicable,
  parentId: IdOf('channel', 'The text or announcement channel of the thread.'),
  slowmodeSecs,
  autoArchiveMinutes: Described(AutoArchiveMinutes, 'After how many minutes without a message the thread is archived.'),
  archived: Type.Boolean({ description: 'Whether the thread is archived. Every post opens it again.' }),
  threadOwnerId: IdOf('user', 'Who made the thread.'),
  threadStarterId,
  messageCount: Type.Integer({ description: 'The number of messages in the thread now.', examples: [12] }),
});

const flat = ObjectOf(channelProperties, 'A channel. Fields that do not apply to its kind are null.', {
  kind: 'text',
  archived: null,
  threadOwnerId: null,
  threadStarterId: null,
  messageCount: null,
});

/** A channel. Fields that do not apply to its kind are null (docs/behavior/servers.md#channel-fields). */
export const Channel = DocumentedAs(
  flat,
  OneOf(
    'kind',
    [TextChannel, AnnouncementChannel, VoiceChannel, CategoryChannel, ThreadChannel],
    'A channel. Fields that do not apply to its kind are null.',
  ),
);
export type Channel = Static<typeof Channel>;

/** `POST /api/servers/{serverId}/channels`. */
export const ChannelInput = ObjectOf(
  {
    name: Described(Name(limits.nameChars), `The name: one line of 1 to ${limits.nameChars} characters.`, 'general'),
    kind: Choice(['category', 'text', 'announcement', 'voice'], {
      description: 'The kind of the channel. Threads are created by another route.',
      examples: ['text'],
    }),
    parentId: Type.Optional(
      Nullable(
        IdOf('category', 'A category.'),
        'The category that the channel is put into. Default: null, none. A category cannot be in one.',
      ),
    ),
    overwrites: Type.Optional(
      Described(overwrites, 'The first permission overwrites, so that a channel can be hidden from the start. Needs Manage Roles.'),
    ),
  },
  'Creates a channel. It goes last in its category.',
  { overwrites: undefined },
);
export type ChannelInput = Static<typeof ChannelInput>;

/** `PATCH /api/channels/{channelId}`. Omitted fields do not change. */
export const ChannelPatch = ObjectOf(
  {
    name: Type.Optional(Described(Name(limits.nameChars), `The name: one line of 1 to ${limits.nameChars} characters.`, 'general')),
    topic: Type.Optional(
      Described(
        Nullable(Type.String({ maxLength: limits.topicChars, characters: 'text' })),
        'The topic, up to 1,024 characters; null removes it. Text and announcement channels only.',
        'Say hello',
      ),
    ),
    slowmodeSecs: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: limits.slowmodeMaxSecs,
        description: 'The seconds between two messages of one account, up to 6 hours; 0 turns slow mode off. Channels with messages only.',
        examples: [10],
      }),
    ),
    contentMode: Type.Optional(Described(ContentMode, 'How clients show the messages. Text and announcement channels only.')),
    parentId: Type.Optional(
      Nullable(
        IdOf('category', 'A category.'),
        'The category that the channel moves to; null moves it out. Not for categories and threads.',
      ),
    ),
    kind: Type.Optional(
      Choice(['text', 'announcement'], { description: 'The new kind. Only text and announcement channels can change it.' }),
    ),
    autoArchiveMinutes: Type.Optional(
      Described(AutoArchiveMinutes, 'Of a thread: when it is archived. Of a text or announcement channel: the default of new threads.'),
    ),
    archived: Type.Optional(
      Type.Boolean({ description: 'Threads only. true archives the thread at once; false opens it, and restarts its time if it is open.' }),
    ),
  },
  'A change of a channel or thread. Omitted fields do not change. A field that does not apply to the kind is refused.',
  { archived: undefined },
);
export type ChannelPatch = Static<typeof ChannelPatch>;

/** `POST /api/channels/{channelId}/threads`. `autoArchiveMinutes` defaults to the channel's value, else to a day (docs/behavior/messages.md#threads). */
export const ThreadInput = ObjectOf(
  {
    name: Described(Name(limits.nameChars), `The name: one line of 1 to ${limits.nameChars} characters.`, 'Release notes'),
    messageId: Type.Optional(
      Nullable(
        IdOf('message', 'A message of the channel.'),
        'A message of the channel that the thread belongs to. Default: null, none. A message has at most one thread.',
      ),
    ),
    autoArchiveMinutes: Type.Optional(
      Described(
        AutoArchiveMinutes,
        'After how many minutes without a message the thread is archived. Default: the value of the channel, else 1440.',
      ),
    ),
  },
  'Creates a thread in a channel.',
);
export type ThreadInput = Static<typeof ThreadInput>;

/** `PUT /api/channels/{id}/overwrites/{roleOrUserId}`. */
export const OverwriteInput = ObjectOf(
  { allow, deny },
  'Sets what a channel changes for a role or account. It replaces an earlier overwrite.',
);
export type OverwriteInput = Static<typeof OverwriteInput>;
