import { Schema } from 'mongoose';
import type { Overwrite } from '../../base/permissions.ts';

/**
 * A channel, server or application that goes: written before its document is deleted, and gone when nothing of it is left. `_id` is its id. Or some of a server's
 * `members`: written before their memberships are deleted, and gone when they have been told. Or a
 * role, which its members keep for a while.
 */
export interface RemovalDoc {
  _id: string;
  kind: 'channel' | 'server' | 'members' | 'role' | 'application';
  /** null for an application. */
  serverId: string | null;
  /** Whose server or application it was when they deleted it; null for a channel. A server handed over meanwhile stays. */
  ownerId: string | null;
  /** What says who could view the channel, for its CHANNEL_DELETE; empty for a server. */
  overwrites: Overwrite[];
  /** Whose memberships of a server that is gone end; of an application, its bot. */
  userIds?: string[];
  at: Date;
  /** When the sweep takes it up, unless a job moved this on: that one died or was lost. */
  nextAt: Date;
}

/** What goes of a server, or with it. */
export type RemovalInServer = RemovalDoc & { serverId: string };

export const removalSchema = new Schema<RemovalDoc>(
  {
    _id: String,
    kind: String,
    serverId: String,
    ownerId: String,
    overwrites: [new Schema<Overwrite>({ id: String, allow: Number, deny: Number }, { _id: false, id: false })],
    userIds: { type: [String], default: undefined },
    at: Date,
    nextAt: Date,
  },
  { collection: 'removals', versionKey: false, minimize: false },
);
removalSchema.index({ nextAt: 1 });
