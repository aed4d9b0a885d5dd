import { Schema } from 'mongoose';

/** A webhook. `token` is encrypted under APP_KEY, so that it can be shown again. `tokenHash` is the SHA-256 of the token, for comparison. */
export interface WebhookDoc {
  _id: string;
  /** The text or announcement channel that it posts in. */
  channelId: string;
  serverId: string;
  name: string;
  token: string;
  tokenHash: string;
  /** Slot among the channel's webhooks, 0-14. The unique index on it enforces the limit of 15. */
  slot: number;
  createdAt: Date;
  /** The times of its last 5 posts, oldest first, by the database's clock. They are the sliding window of its rate limit. */
  posts: Date[];
  /** The times of its last 4 posts that were deliveries of a code host. */
  deliveryPosts: Date[];
  /**
   * Until when a worker has it locked to post its deliveries, or until when it pauses because its rate limit is reached, by the database's clock. In the past
   * or absent when it is free.
   */
  drainAt?: Date;
}

export const webhookSchema = new Schema<WebhookDoc>({}, { collection: 'webhooks' });
webhookSchema.index({ channelId: 1, slot: 1 }, { unique: true });
