import { Schema } from 'mongoose';

/** A link of an operator with which a person chooses a new password once; `_id` is the SHA-256 of its code. It is deleted when it is used. */
export interface PasswordResetDoc {
  _id: string;
  /** Unique: a new link replaces the earlier one. */
  accountId: string;
  createdAt: Date;
  expiresAt: Date;
}

export const passwordResetSchema = new Schema<PasswordResetDoc>({}, { collection: 'passwordResets' });
passwordResetSchema.index({ accountId: 1 }, { unique: true });
passwordResetSchema.index({ expiresAt: 1 }, { expireAfterSeconds: 0 });
