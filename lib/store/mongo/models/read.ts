import { Schema } from 'mongoose';

/** How far a person has read in a channel; `_id` is `<userId>:<channelId>`. */
export interface ReadDoc {
  _id: string;
  userId: string;
  channelId: string;
  /** The newest message that is marked as read. It may be deleted. */
  messageId: string;
}

export const readSchema = new Schema<ReadDoc>({}, { collection: 'reads', shardKey: { userId: 'hashed' } });
readSchema.index({ userId: 1, messageId: -1 });
readSchema.index({ channelId: 1 });
