import { Schema } from 'mongoose';

/** The slow mode cooldown of an account in a channel. `_id` is `<channelId>:<userId>`, so that one document decides every race between posts. */
export interface CooldownDoc {
  _id: string;
  /** When the account last posted, by the database's clock. Whether the cooldown has passed depends on the channel's current slow mode. */
  at: Date;
  /** The id of the create request that began the cooldown. */
  createId: string;
  /** When the longest possible cooldown has passed. */
  expiresAt: Date;
}

export const cooldownSchema = new Schema<CooldownDoc>({}, { collection: 'turns', shardKey: { _id: 'hashed' } });
cooldownSchema.index({ expiresAt: 1 }, { expireAfterSeconds: 0 });
