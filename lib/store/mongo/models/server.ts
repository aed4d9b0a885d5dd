import { Schema } from 'mongoose';
import type { Overwrite } from '../../../base/permissions.ts';
import type { ChannelKind } from '../../../contract/channel.ts';
import type { DiscoveryCategory } from '../../../contract/community.ts';
import type { ServerType } from '../../../contract/server.ts';
import { type ChannelEvent, indexOutbox, type MemberEvent, type Outbox, type ServerEvent } from './outbox.ts';

/** A role, stored in its server's document. Its position is its index in `roles`. */
export interface RoleDoc {
  id: string;
  name: string;
  color: string | null;
  hoist: boolean;
  permissions: number;
  /** For a bot's own role, the bot; else null. */
  botId: string | null;
}

/**
 * A server. `roles` is ordered lowest first and begins with `@everyone`, whose id is the server's id. Its outbox has the events of the server, of its roles and
 * of members that left. Ignore the outbox in cached access data: it may be out of date.
 */
export interface ServerDoc extends Outbox<ServerEvent> {
  _id: string;
  name: string;
  iconUrl: string | null;
  ownerId: string;
  roles: RoleDoc[];
  /** Incremented with each change of `roles`. A change is written only if the version is still the one that the change was made from. */
  rolesVersion: number;
  invitesPaused: boolean;
  types: ServerType[];
  community: boolean;
  listed: boolean;
  /** The channels chosen for a Community server; absent or null means none. */
  rulesChannelId?: string | null;
  updatesChannelId?: string | null;
  /** What Discovery shows about the server; fields that nobody has set are absent. */
  discovery?: { category?: DiscoveryCategory; description?: string; tags?: string[] };
  /** The text that Discovery searches: name, description and tags (one on each line), normalized by `foldSearch`. Each is written together with its original. */
  search?: { name?: string; description?: string; tags?: string };
  /** The position that the next new or moved channel gets. It only grows, so no two channels have the same one. */
  nextPosition: number;
  /** Approximate until the next recount. */
  memberCount: number;
  /** Since when a recount of its members is pending, because some joined or left. Absent when none is pending. */
  recountAt?: Date;
  /** The number of bytes in the files of its messages; absent means 0. */
  storedBytes?: number;
  /** After how many days its messages are deleted; 0: never. Absent: as MESSAGE_RETENTION_DAYS says. */
  messageRetentionDays?: number;
  /**
   * For a server that an operator created, the owner and name that it was created with: `<userId>:<name>`. It is unique, so that concurrent commands create one
   * server. Removed when the owner or name has changed and an operator creates another one.
   */
  createdFor?: string;
  createdAt: Date;
}

export const serverSchema = new Schema<ServerDoc>({}, { collection: 'servers' });
/** The index of the servers that store files, largest first. */
export const storageIndex = 'storage';
serverSchema.index({ storedBytes: -1, _id: 1 }, { name: storageIndex, partialFilterExpression: { storedBytes: { $exists: true } } });
/** The index of all servers by name, for operators. The query names it, so that a page is read in its order. */
export const serverNamesIndex = 'search.name_1__id_1';
serverSchema.index({ 'search.name': 1, _id: 1 });
/** The index of the servers with a retention of their own. The query names it. */
export const retentionIndex = 'retention';
serverSchema.index(
  { _id: 1, messageRetentionDays: 1 },
  { name: retentionIndex, partialFilterExpression: { messageRetentionDays: { $exists: true } } },
);
serverSchema.index({ createdFor: 1 }, { unique: true, partialFilterExpression: { createdFor: { $exists: true } } });
serverSchema.index({ recountAt: 1 }, { partialFilterExpression: { recountAt: { $exists: true } } });
indexOutbox(serverSchema);
/** The index of the servers in Discovery, in its order. The query names it, because a query planner that sorts instead reads all of them for every page. */
export const discoveryIndex = 'discovery';
serverSchema.index({ memberCount: -1, _id: 1 }, { name: discoveryIndex, partialFilterExpression: { listed: true } });

/**
 * A channel, category or thread of a server. `serverId` never changes. A post in a thread changes `archived`, `messageCount` and times of the thread without
 * bumping the access version, so read these from the database and never from a cache.
 */
export interface ChannelDoc extends Outbox<ChannelEvent> {
  _id: string;
  /** Slot among the server's channels, 0-499. The unique index on it enforces the limit of 500. Absent for threads. */
  slot?: number;
  serverId: string;
  kind: ChannelKind;
  name: string;
  /** -1 for threads, which have no position, and for a channel with `heldAt`. */
  position: number;
  /**
   * Since when a channel that was created for a Community server is held back. Nobody sees it until the server's settings refer to it. If that never happens,
   * it is deleted.
   */
  heldAt?: Date;
  parentId: string | null;
  topic: string | null;
  slowmodeSecs: number;
  contentMode: 'default' | 'spoiler' | 'age_restricted';
  autoArchiveMinutes: 60 | 1440 | 4320 | 10080 | null;
  archived: boolean;
  overwrites: Overwrite[];
  /** The account that created it. Only threads have this field and those below. */
  threadOwnerId?: string;
  /** The message that it was created from. The unique index on it allows only one thread for each message. Absent when it was not created from a message. */
  threadStarterId?: string;
  /** The number of messages in it. Approximate until the next recount. */
  messageCount?: number;
  /** Since when a recount of its messages is pending, because some were posted or deleted. Absent when none is pending. */
  recountAt?: Date;
  /** The time of the last post, or when it was created or unarchived. */
  lastActivityAt?: Date;
  /** When it is archived if nobody posts; absent while it is archived. */
  archiveAt?: Date;
  createdAt: Date;
}

export const channelSchema = new Schema<ChannelDoc>({}, { collection: 'channels' });
channelSchema.index({ serverId: 1, position: 1 });
channelSchema.index({ serverId: 1, _id: 1 });
channelSchema.index({ serverId: 1, slot: 1 }, { unique: true, partialFilterExpression: { slot: { $exists: true } } });
channelSchema.index({ threadStarterId: 1 }, { unique: true, partialFilterExpression: { threadStarterId: { $exists: true } } });
channelSchema.index({ parentId: 1, lastActivityAt: -1 }, { partialFilterExpression: { lastActivityAt: { $exists: true } } });
channelSchema.index({ serverId: 1, lastActivityAt: -1 }, { partialFilterExpression: { archiveAt: { $exists: true } } });
channelSchema.index({ heldAt: 1 }, { partialFilterExpression: { heldAt: { $exists: true } } });
channelSchema.index({ recountAt: 1 }, { partialFilterExpression: { recountAt: { $exists: true } } });
/** The index that the archive sweep reads from. Its query names it, so that the query planner uses no other one when the collection has just grown. */
export const dueThreadsIndex = 'due_threads';
channelSchema.index({ archiveAt: 1 }, { name: dueThreadsIndex, partialFilterExpression: { archiveAt: { $exists: true } } });
indexOutbox(channelSchema, { serverId: 1 });

/**
 * A member: an account in a server. `_id` is `<serverId>:<userId>`, which makes the pair unique. Its outbox has the events of its joining and of its roles. Only
 * this document decides about access. `MembershipDoc` is its mirror by account.
 */
export interface MemberDoc extends Outbox<MemberEvent> {
  _id: string;
  serverId: string;
  userId: string;
  bot: boolean;
  /** Role ids, without `@everyone`. */
  roles: string[];
  joinedAt: Date;
  /** The id of the event of the join, which tells this membership from earlier ones. Absent for members who joined before it was stored. */
  joinId?: string;
  /** The text that a search for members compares: the account's names, normalized by `foldSearch`. Absent until it is written for the first time. */
  search?: { username: string; displayName: string };
  /** An id that a join or a rename sets to mark that `search` must be written again. A write of `search` removes it only if it has not changed. */
  renameId?: string;
}

/** The indexes that a search for members reads, by the field that they order. The query names them, so that it never reads or sorts all members. */
export const memberNameIndexes = { username: 'member_usernames', displayName: 'member_display_names' } as const;
/** The index of members whose `search` must be written. */
export const renamedMembersIndex = 'renamed_members';

/** The `renameId` of members stored before members had names. It sorts before every id, so the sweep takes these members first. */
export const firstRenameId = '0';

export const memberSchema = new Schema<MemberDoc>({}, { collection: 'members', shardKey: { serverId: 'hashed' } });
indexOutbox(memberSchema, { serverId: 1 });
memberSchema.index({ serverId: 1, userId: 1 });
memberSchema.index({ serverId: 1 }, { name: 'bots_of_server', partialFilterExpression: { bot: true } });
memberSchema.index({ serverId: 1, 'search.username': 1, userId: 1 }, { name: memberNameIndexes.username });
memberSchema.index({ serverId: 1, 'search.displayName': 1, userId: 1 }, { name: memberNameIndexes.displayName });
memberSchema.index({ renameId: 1 }, { name: renamedMembersIndex, partialFilterExpression: { renameId: { $exists: true } } });

/** The filter of one member or ban. It has the shard key, so that one shard answers. */
export const toMemberKey = (serverId: string, userId: string): { _id: string; serverId: string } => ({
  _id: `${serverId}:${userId}`,
  serverId,
});

/**
 * The filter of the members that these accounts are in these servers. Only one index fits it. With ids and `serverId` together, a planner may read all members
 * of the servers.
 */
export const toMemberKeys = (
  serverIds: readonly string[],
  userIds: readonly string[],
): { serverId: { $in: string[] }; userId: { $in: string[] } } => ({ serverId: { $in: [...serverIds] }, userId: { $in: [...userIds] } });
