import { Schema } from 'mongoose';

/** A text channel that gets copies of crossposted messages of an announcement channel. `_id` is `<sourceId>:<targetId>`, which makes the pair unique. */
export interface FollowDoc {
  _id: string;
  /** The announcement channel. */
  sourceId: string;
  /** The text channel, of any server. */
  targetId: string;
  /** The target's server. */
  serverId: string;
  /** The id of the create request that made it. A create that is retried after a crash recognizes its document by it. */
  createId: string;
  /** Slot among the source's followers, 0-999. The unique index on it enforces the limit of 1,000. */
  slot: number;
  createdAt: Date;
}

export const followSchema = new Schema<FollowDoc>({}, { collection: 'follows' });
followSchema.index({ sourceId: 1, slot: 1 }, { unique: true });
followSchema.index({ sourceId: 1, targetId: 1 });
followSchema.index({ targetId: 1 });
