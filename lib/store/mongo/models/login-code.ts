import { Schema } from 'mongoose';

/** A code that logs in its person once; `_id` is its SHA-256. It is deleted when it is used. */
export interface LoginCodeDoc {
  _id: string;
  accountId: string;
  /** The session that made the code, which works only while that session lasts. Absent in codes of a version that did not store it. */
  sessionId?: string;
  /** Slot among the person's codes, 0-4. The unique index on it enforces the limit of 5. */
  slot: number;
  createdAt: Date;
  expiresAt: Date;
}

export const loginCodeSchema = new Schema<LoginCodeDoc>({}, { collection: 'loginCodes' });
loginCodeSchema.index({ accountId: 1, slot: 1 }, { unique: true });
loginCodeSchema.index({ expiresAt: 1 }, { expireAfterSeconds: 0 });
