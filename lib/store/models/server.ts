import { Schema } from 'mongoose';
import type { Overwrite } from '../../base/permissions.ts';
import type { ChannelKind } from '../../contract/channel.ts';
import type { ServerType } from '../../contract/server.ts';

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

/** A server. `roles` is ordered lowest first and begins with `@everyone`, whose id is the server's. */
export interface ServerDoc {
  _id: string;
  name: string;
  iconUrl: string | null;
  ownerId: string;
  roles: RoleDoc[];
  invitesPaused: boolean;
  types: ServerType[];
  community: boolean;
  listed: boolean;
  /** Channels there are, threads apart: the cap of 500 is a condition on it. */
  channelCount: number;
  /** Position that the next new or moved channel gets; grows only, so no two channels share one. */
  nextPosition: number;
  /** Invites there are, dead ones not yet removed included: the cap of 1,000 is a condition on it. */
  inviteCount: number;
  memberCount: number;
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
    invitesPaused: Boolean,
    types: [String],
    community: Boolean,
    listed: Boolean,
    channelCount: Number,
    nextPosition: Number,
    inviteCount: Number,
    memberCount: Number,
    createdAt: Date,
  },
  { collection: 'servers', versionKey: false, minimize: false },
);

/** A channel, category or thread of a server. `serverId` never changes. */
export interface ChannelDoc {
  _id: string;
  serverId: string;
  kind: ChannelKind;
  name: string;
  position: number;
  parentId: string | null;
  topic: string | null;
  slowmodeSecs: number;
  contentMode: 'default' | 'spoiler' | 'age_restricted';
  autoArchiveMinutes: 60 | 1440 | 4320 | 10080 | null;
  archived: boolean;
  overwrites: Overwrite[];
  createdAt: Date;
}

export const channelSchema = new Schema<ChannelDoc>(
  {
    _id: String,
    serverId: String,
    kind: String,
    name: String,
    position: Number,
    parentId: String,
    topic: String,
    slowmodeSecs: Number,
    contentMode: String,
    autoArchiveMinutes: Number,
    archived: Boolean,
    overwrites: [new Schema<Overwrite>({ id: String, allow: Number, deny: Number }, { _id: false, id: false })],
    createdAt: Date,
  },
  { collection: 'channels', versionKey: false, minimize: false },
);
channelSchema.index({ serverId: 1, position: 1 });

/** One account in one server; `_id` is `<serverId>:<userId>`, which makes the pair unique. */
export interface MemberDoc {
  _id: string;
  serverId: string;
  userId: string;
  bot: boolean;
  /** Role ids, `@everyone` left out. */
  roles: string[];
  joinedAt: Date;
}

export const memberSchema = new Schema<MemberDoc>(
  { _id: String, serverId: String, userId: String, bot: Boolean, roles: [String], joinedAt: Date },
  { collection: 'members', versionKey: false, minimize: false },
);
memberSchema.index({ userId: 1, serverId: 1 });
memberSchema.index({ serverId: 1, userId: 1 });
memberSchema.index({ serverId: 1 }, { name: 'bots_of_server', partialFilterExpression: { bot: true } });

/** An account that may not join a server; `_id` is `<serverId>:<userId>`. */
export interface BanDoc {
  _id: string;
  serverId: string;
  userId: string;
  reason: string | null;
  createdAt: Date;
}

export const banSchema = new Schema<BanDoc>(
  { _id: String, serverId: String, userId: String, reason: String, createdAt: Date },
  { collection: 'bans', versionKey: false },
);
banSchema.index({ serverId: 1, createdAt: -1 });

/** An invite; `_id` is its code. A `maxUses` or `maxAgeSecs` of 0 means no limit. */
export interface InviteDoc {
  _id: string;
  serverId: string;
  creatorId: string;
  maxAgeSecs: number;
  maxUses: number;
  uses: number;
  expiresAt: Date | null;
  createdAt: Date;
}

export const inviteSchema = new Schema<InviteDoc>(
  { _id: String, serverId: String, creatorId: String, maxAgeSecs: Number, maxUses: Number, uses: Number, expiresAt: Date, createdAt: Date },
  { collection: 'invites', versionKey: false },
);
inviteSchema.index({ serverId: 1, createdAt: 1 });
inviteSchema.index({ expiresAt: 1 }, { expireAfterSeconds: 0 });

/** One moderation or Manage-something write (decisions 3). */
export interface AuditDoc {
  _id: string;
  serverId: string;
  actorId: string;
  action: string;
  targetId: string | null;
  reason: string | null;
  changes: Record<string, { from: unknown; to: unknown }>;
  createdAt: Date;
}

export const auditSchema = new Schema<AuditDoc>(
  {
    _id: String,
    serverId: String,
    actorId: String,
    action: String,
    targetId: String,
    reason: String,
    changes: Schema.Types.Mixed,
    createdAt: Date,
  },
  { collection: 'audit', versionKey: false, minimize: false },
);
auditSchema.index({ serverId: 1, _id: -1 });
