import { Schema } from 'mongoose';
import type { Overwrite } from '../../../base/permissions.ts';
import type { AuditAction } from '../../../contract/member.ts';

/** An account that may not join a server; `_id` is `<serverId>:<userId>`. */
export interface BanDoc {
  _id: string;
  serverId: string;
  userId: string;
  reason: string | null;
  createdAt: Date;
}

export const banSchema = new Schema<BanDoc>({}, { collection: 'bans', shardKey: { serverId: 'hashed' } });
banSchema.index({ serverId: 1, createdAt: -1, _id: -1 });

/** An invite; `_id` is its code. A `maxUses` or `maxAgeSecs` of 0 means no limit. */
export interface InviteDoc {
  _id: string;
  serverId: string;
  creatorId: string;
  /** Slot among the server's invites, 0-999. The unique index on it enforces the limit of 1,000. */
  slot: number;
  maxAgeSecs: number;
  maxUses: number;
  uses: number;
  /** The users who are joining by it now, and since when. Each of them is already counted in `uses`. */
  joining?: { userId: string; at: Date }[];
  expiresAt: Date | null;
  createdAt: Date;
}

export const inviteSchema = new Schema<InviteDoc>({}, { collection: 'invites' });
inviteSchema.index({ serverId: 1, slot: 1 }, { unique: true });
inviteSchema.index({ expiresAt: 1 }, { expireAfterSeconds: 0 });

/** One moderation or management write (docs/behavior/servers.md#audit-log). */
export interface AuditDoc {
  _id: string;
  serverId: string;
  actorId: string;
  action: AuditAction;
  targetId: string | null;
  reason: string | null;
  changes: Record<string, { from: unknown; to: unknown }>;
  /** The channel that the entry is about, and its overwrites at that time. Once the channel is deleted, they decide who may read `changes`. */
  channelId?: string;
  overwrites?: readonly Overwrite[];
  createdAt: Date;
}

export const auditSchema = new Schema<AuditDoc>({}, { collection: 'audit', shardKey: { serverId: 'hashed' } });
auditSchema.index({ serverId: 1, _id: -1 });
