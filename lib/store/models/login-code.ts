import { Schema } from 'mongoose';

/** A code that logs its person in once; `_id` is its SHA-256. It goes when it is used. */
export interface LoginCodeDoc {
  _id: string;
  accountId: string;
  /** Place among the person's codes, 0-4: the unique index on it is the cap of 5. */
  slot: number;
  createdAt: Date;
  expiresAt: Date;
}

export const loginCodeSchema = new Schema<LoginCodeDoc>(
  { _id: String, accountId: String, slot: Number, createdAt: Date, expiresAt: Date },
  { collection: 'loginCodes', versionKey: false },
);
loginCodeSchema.index({ accountId: 1, slot: 1 }, { unique: true });
loginCodeSchema.index({ expiresAt: 1 }, { expireAfterSeconds: 0 });
