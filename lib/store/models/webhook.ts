import { Schema } from 'mongoose';

/** A webhook. Its token stands here encrypted under APP_KEY, to be shown again, and as a SHA-256 hash, to be compared. */
export interface WebhookDoc {
  _id: string;
  /** The text or announcement channel that it posts in. */
  channelId: string;
  serverId: string;
  name: string;
  token: string;
  tokenHash: string;
  /** Place among the channel's webhooks, 0-14: the unique index on it is the cap of 15. */
  slot: number;
  createdAt: Date;
  /** When its last 5 posts were made, oldest first, by the database's clock: its sliding window. */
  posts: Date[];
  /** The last 4 of these that were made by deliveries of a code host. */
  deliveryPosts: Date[];
  /** Until when a drain of its deliveries holds it, or it rests as there is no place, by the database's clock; past or absent when it is free. */
  drainAt?: Date;
}

export const webhookSchema = new Schema<WebhookDoc>(
  {
    _id: String,
    channelId: String,
    serverId: String,
    name: String,
    token: String,
    tokenHash: String,
    slot: Number,
    createdAt: Date,
    posts: [Date],
    deliveryPosts: [Date],
    drainAt: Date,
  },
  { collection: 'webhooks', versionKey: false },
);
webhookSchema.index({ channelId: 1, slot: 1 }, { unique: true });
