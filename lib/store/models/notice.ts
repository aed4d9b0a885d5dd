import { Schema } from 'mongoose';

/** What a person is told of. */
export type NoticeKind = 'kick' | 'ban';

/** A notice that a person is owed: written before the removal it tells of, gone once it is posted or the removal turns out not to have happened. */
export interface NoticeDoc {
  _id: string;
  userId: string;
  kind: NoticeKind;
  serverId: string;
  /** As it was then: the server may be gone when the notice is posted. */
  serverName: string;
  reason: string | null;
  at: Date;
  /** The removal has happened. Without it nobody knows, and the membership tells. */
  removed?: true;
}

export const noticeSchema = new Schema<NoticeDoc>(
  { _id: String, userId: String, kind: String, serverId: String, serverName: String, reason: String, at: Date, removed: Boolean },
  { collection: 'notices', versionKey: false, minimize: false },
);
noticeSchema.index({ at: 1 });
