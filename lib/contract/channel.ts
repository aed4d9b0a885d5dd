import { type Static, Type } from 'typebox';
import { limits } from '../base/limits.ts';
import { Choice, Id, Name, Nullable, Permissions } from './shared.ts';

/** The kind of a channel (docs/behavior/servers.md#channel-kinds). */
export const ChannelKind = Choice(['category', 'text', 'announcement', 'voice', 'thread']);
export type ChannelKind = Static<typeof ChannelKind>;

/** How clients show the messages of a channel. */
export const ContentMode = Choice(['default', 'spoiler', 'age_restricted']);

/** The number of minutes without messages after which a thread is archived. */
export const AutoArchiveMinutes = Choice([60, 1440, 4320, 10080]);

/** The permissions that a channel allows or denies to one role or user (docs/behavior/servers.md#overwrites). */
export const ChannelOverwrite = Type.Object({ id: Id, allow: Permissions, deny: Permissions });

/** A channel. Fields that do not apply to its kind are null (docs/behavior/servers.md#channel-fields). */
export const Channel = Type.Object({
  id: Id,
  serverId: Nullable(Id),
  name: Nullable(Type.String()),
  position: Nullable(Type.Integer()),
  kind: ChannelKind,
  parentId: Nullable(Id),
  topic: Nullable(Type.String()),
  slowmodeSecs: Nullable(Type.Integer()),
  contentMode: Nullable(ContentMode),
  autoArchiveMinutes: Nullable(AutoArchiveMinutes),
  archived: Nullable(Type.Boolean()),
  threadOwnerId: Nullable(Id),
  threadStarterId: Nullable(Id),
  messageCount: Nullable(Type.Integer()),
  overwrites: Type.Array(ChannelOverwrite, { maxItems: limits.overwritesPerChannel }),
});
export type Channel = Static<typeof Channel>;

/** `POST /api/servers/{serverId}/channels`. */
export const ChannelInput = Type.Object({
  name: Name(limits.nameChars),
  kind: Choice(['category', 'text', 'announcement', 'voice']),
  parentId: Type.Optional(Nullable(Id)),
  /** The initial permission overwrites, so that a channel can be hidden from the start. */
  overwrites: Type.Optional(Type.Array(ChannelOverwrite, { maxItems: limits.overwritesPerChannel })),
});
export type ChannelInput = Static<typeof ChannelInput>;

/** `PATCH /api/channels/{channelId}`. Omitted fields do not change. */
export const ChannelPatch = Type.Object({
  name: Type.Optional(Name(limits.nameChars)),
  topic: Type.Optional(Nullable(Type.String({ maxLength: limits.topicChars }))),
  slowmodeSecs: Type.Optional(Type.Integer({ minimum: 0, maximum: limits.slowmodeMaxSecs })),
  contentMode: Type.Optional(ContentMode),
  parentId: Type.Optional(Nullable(Id)),
  kind: Type.Optional(Choice(['text', 'announcement'])),
  autoArchiveMinutes: Type.Optional(AutoArchiveMinutes),
  archived: Type.Optional(Type.Boolean()),
});
export type ChannelPatch = Static<typeof ChannelPatch>;

/** `POST /api/channels/{channelId}/threads`. `autoArchiveMinutes` defaults to the channel's value, else to a day (docs/behavior/messages.md#threads). */
export const ThreadInput = Type.Object({
  name: Name(limits.nameChars),
  messageId: Type.Optional(Nullable(Id)),
  autoArchiveMinutes: Type.Optional(AutoArchiveMinutes),
});
export type ThreadInput = Static<typeof ThreadInput>;

/** `PUT /api/channels/{id}/overwrites/{roleOrUserId}`. */
export const OverwriteInput = Type.Object({ allow: Permissions, deny: Permissions });
export type OverwriteInput = Static<typeof OverwriteInput>;
