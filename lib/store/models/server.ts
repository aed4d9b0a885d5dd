import { Schema } from 'mongoose';
import type { Overwrite } from '../../base/permissions.ts';
import type { ChannelKind } from '../../contract/channel.ts';
import type { DiscoveryCategory } from '../../contract/community.ts';
import type { ServerType } from '../../contract/server.ts';
import { indexOutbox, type Outbox } from './outbox.ts';

/** A role inside its server's document; its position is its index there. */
export interface RoleDoc {
  id: string;
  name: string;
  color: string | null;
  hoist: boolean;
  permissions: number;
  /** The bot that this role belongs to, for a bot's own role. */
  botId: string | null;
}

/**
 * A server. `roles` is ordered lowest first and begins with `@everyone`, whose id is the server's. It owes the events of its roles, of itself and of members
 * that left; what it holds of them in cached access data means nothing.
 */
export interface ServerDoc extends Outbox {
  _id: string;
  name: string;
  iconUrl: string | null;
  ownerId: string;
  roles: RoleDoc[];
  /** Grows with each change of `roles`: a change is written only over the list that it was made from. */
  rolesVersion: number;
  invitesPaused: boolean;
  types: ServerType[];
  community: boolean;
  listed: boolean;
  /** The channels chosen for a Community server; absent is none, as null is. */
  rulesChannelId?: string | null;
  updatesChannelId?: string | null;
  /** What Discovery shows of it; absent is what nobody has set. */
  discovery?: { category?: DiscoveryCategory; description?: string; tags?: string[] };
  /** What Discovery searches: name, description and tags as `folded` makes them, the tags a line each. Each is written with what it is made of. */
  search?: { name?: string; description?: string; tags?: string };
  /** Position that the next new or moved channel gets; grows only, so no two channels share one. */
  nextPosition: number;
  /** Near the truth until the recount has been. */
  memberCount: number;
  /** Since when its members are to be counted again; absent when none has come or gone. */
  recountAt?: Date;
  /** Bytes of the files in its messages; absent is none. */
  storedBytes?: number;
  createdAt: Date;
}

const roleSchema = new Schema<RoleDoc>(
  { id: String, name: String, color: String, hoist: Boolean, permissions: Number, botId: String },
  { _id: false, id: false },
);

export const serverSchema = new Schema<ServerDoc>(
  {
    _id: String,
    name: String,
    iconUrl: String,
    ownerId: String,
    roles: [roleSchema],
    rolesVersion: Number,
    invitesPaused: Boolean,
    types: [String],
    community: Boolean,
    listed: Boolean,
    rulesChannelId: String,
    updatesChannelId: String,
    discovery: { category: String, description: String, tags: { type: [String], default: undefined } },
    search: { name: String, description: String, tags: String },
    nextPosition: Number,
    memberCount: Number,
    recountAt: Date,
    storedBytes: Number,
    createdAt: Date,
    ob: { type: [Schema.Types.Mixed], default: undefined },
    obAt: Date,
  },
  { collection: 'servers', versionKey: false, minimize: false },
);
serverSchema.index({ recountAt: 1 }, { partialFilterExpression: { recountAt: { $exists: true } } });
indexOutbox(serverSchema);
/** The index of what Discovery lists, in its order; named in the query, as a planner that sorts instead reads all of it for every page. */
export const discoveryIndex = 'discovery';
serverSchema.index({ memberCount: -1, _id: 1 }, { name: discoveryIndex, partialFilterExpression: { listed: true } });

/**
 * A channel, category or thread of a server. `serverId` never changes. What posts change in a thread (`archived`, `messageCount` and the times) does not
 * bump the access version, so it is read from here and never from a cache.
 */
export interface ChannelDoc extends Outbox {
  _id: string;
  /** Place among the server's channels, 0-499: the unique index on it is the cap of 500. Threads have none. */
  slot?: number;
  serverId: string;
  kind: ChannelKind;
  name: string;
  /** -1 for a thread, which has none, and for a channel that is held back. */
  position: number;
  /**
   * Since when a channel is held back that was made for a Community server: nobody sees it until the server has chosen it, and if that does not come to pass
   * it goes again.
   */
  heldAt?: Date;
  parentId: string | null;
  topic: string | null;
  slowmodeSecs: number;
  contentMode: 'default' | 'spoiler' | 'age_restricted';
  autoArchiveMinutes: 60 | 1440 | 4320 | 10080 | null;
  archived: boolean;
  overwrites: Overwrite[];
  /** Who made it. This and the fields below: threads only. */
  threadOwnerId?: string;
  /** The message it began from: the unique index on it makes that one thread a message. Absent when it began from none. */
  threadStarterId?: string;
  /** The messages in it now; near the truth until the recount has been. */
  messageCount?: number;
  /** Since when its messages are to be counted again; absent when none has come or gone. */
  recountAt?: Date;
  /** The last post, or when it was made or opened again. */
  lastActivityAt?: Date;
  /** When it hides if nobody posts; absent while it is archived. */
  archiveAt?: Date;
  createdAt: Date;
}

export const channelSchema = new Schema<ChannelDoc>(
  {
    _id: String,
    slot: Number,
    serverId: String,
    kind: String,
    name: String,
    position: Number,
    heldAt: Date,
    parentId: String,
    topic: String,
    slowmodeSecs: Number,
    contentMode: String,
    autoArchiveMinutes: Number,
    archived: Boolean,
    overwrites: [new Schema<Overwrite>({ id: String, allow: Number, deny: Number }, { _id: false, id: false })],
    threadOwnerId: String,
    threadStarterId: String,
    messageCount: Number,
    recountAt: Date,
    lastActivityAt: Date,
    archiveAt: Date,
    createdAt: Date,
    ob: { type: [Schema.Types.Mixed], default: undefined },
    obAt: Date,
  },
  { collection: 'channels', versionKey: false, minimize: false },
);
channelSchema.index({ serverId: 1, position: 1 });
channelSchema.index({ serverId: 1, slot: 1 }, { unique: true, partialFilterExpression: { slot: { $exists: true } } });
channelSchema.index({ threadStarterId: 1 }, { unique: true, partialFilterExpression: { threadStarterId: { $exists: true } } });
channelSchema.index({ parentId: 1, lastActivityAt: -1 }, { partialFilterExpression: { lastActivityAt: { $exists: true } } });
channelSchema.index({ serverId: 1, lastActivityAt: -1 }, { partialFilterExpression: { archiveAt: { $exists: true } } });
channelSchema.index({ heldAt: 1 }, { partialFilterExpression: { heldAt: { $exists: true } } });
channelSchema.index({ recountAt: 1 }, { partialFilterExpression: { recountAt: { $exists: true } } });
/** The index that the archive sweep reads from; named in its query, whatever a planner thinks of a collection that just grew. */
export const dueThreadsIndex = 'due_threads';
channelSchema.index({ archiveAt: 1 }, { name: dueThreadsIndex, partialFilterExpression: { archiveAt: { $exists: true } } });
indexOutbox(channelSchema, { serverId: 1 });

/** One account in one server; `_id` is `<serverId>:<userId>`, which makes the pair unique. It owes the events of its joining and of its roles. */
export interface MemberDoc extends Outbox {
  _id: string;
  serverId: string;
  userId: string;
  bot: boolean;
  /** Place among a person's servers, 0-99: the unique index on it is the cap of 100. Bots have none. */
  slot?: number;
  /** Role ids, `@everyone` left out. */
  roles: string[];
  joinedAt: Date;
  /** What a search for members compares: the account's names as `folded` makes them. Absent until they are written for the first time. */
  search?: { username: string; displayName: string };
  /** A unique id that a join or a rename sets: `search` has to be written again. A write of `search` removes it only if it is still the same. */
  renameId?: string;
}

/** The indexes that a search for members reads, by the field they order: named in the query, so that it never reads or sorts all members. */
export const memberNameIndexes = { username: 'member_usernames', displayName: 'member_display_names' } as const;
/** The index of members whose `search` has to be written. */
export const renamedMembersIndex = 'renamed_members';

export const memberSchema = new Schema<MemberDoc>(
  {
    _id: String,
    serverId: String,
    userId: String,
    bot: Boolean,
    slot: Number,
    roles: [String],
    joinedAt: Date,
    search: { type: new Schema({ username: String, displayName: String }, { _id: false, id: false }), default: undefined },
    renameId: String,
    ob: { type: [Schema.Types.Mixed], default: undefined },
    obAt: Date,
  },
  { collection: 'members', versionKey: false, minimize: false },
);
indexOutbox(memberSchema, { serverId: 1 });
memberSchema.index({ userId: 1, serverId: 1 });
memberSchema.index({ serverId: 1, userId: 1 });
memberSchema.index({ userId: 1, slot: 1 }, { unique: true, partialFilterExpression: { slot: { $exists: true } } });
memberSchema.index({ serverId: 1 }, { name: 'bots_of_server', partialFilterExpression: { bot: true } });
memberSchema.index({ serverId: 1, 'search.username': 1, userId: 1 }, { name: memberNameIndexes.username });
memberSchema.index({ serverId: 1, 'search.displayName': 1, userId: 1 }, { name: memberNameIndexes.displayName });
memberSchema.index({ renameId: 1 }, { name: renamedMembersIndex, partialFilterExpression: { renameId: { $exists: true } } });
