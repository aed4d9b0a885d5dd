import { Schema } from 'mongoose';

/** When an account last posted in a channel under slow mode; `_id` is `<channelId>:<userId>`, so that one document decides every race for the next turn. */
export interface TurnDoc {
  _id: string;
  /** By the database's clock. Whether the next turn has come is seen against the channel's seconds as they are then. */
  at: Date;
  /** The create that took it. */
  createId: string;
  /** When no slow mode can still ask for it. */
  expiresAt: Date;
}

export const turnSchema = new Schema<TurnDoc>(
  { _id: String, at: Date, createId: String, expiresAt: Date },
  { collection: 'turns', versionKey: false },
);
turnSchema.index({ expiresAt: 1 }, { expireAfterSeconds: 0 });
