import { Schema } from 'mongoose';

/** A text channel that gets copies of what is crossposted in an announcement channel; `_id` is `<sourceId>:<targetId>`, which makes the pair unique. */
export interface FollowDoc {
  _id: string;
  /** The announcement channel. */
  sourceId: string;
  /** The text channel, of any server. */
  targetId: string;
  /** The target's server. */
  serverId: string;
  /** The id given to the create that made it: one taken up after a crash knows its own. */
  createId: string;
  /** Place among the source's followers, 0-999: the unique index on it is the cap of 1,000. */
  slot: number;
  createdAt: Date;
}

export const followSchema = new Schema<FollowDoc>(
  { _id: String, sourceId: String, targetId: String, serverId: String, createId: String, slot: Number, createdAt: Date },
  { collection: 'follows', versionKey: false },
);
followSchema.index({ sourceId: 1, slot: 1 }, { unique: true });
followSchema.index({ sourceId: 1, targetId: 1 });
followSchema.index({ targetId: 1 });
