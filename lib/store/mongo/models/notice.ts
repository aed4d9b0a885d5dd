import { Schema } from 'mongoose';

/** The kind of a notice: what happened to the person. */
export type NoticeKind = 'kick' | 'ban';

/**
 * A notice that waits to be posted to a person who was removed from a server. It is stored before the removal, and deleted once it is posted or once it is
 * clear that the removal did not happen.
 */
export interface NoticeDoc {
  _id: string;
  userId: string;
  kind: NoticeKind;
  serverId: string;
  /** The server's name at that time, because the server may be deleted before the notice is posted. */
  serverName: string;
  reason: string | null;
  at: Date;
  /** The removal has happened. If this is absent, the membership, and for a ban the ban, show whether it has. */
  removed?: true;
}

export const noticeSchema = new Schema<NoticeDoc>({}, { collection: 'notices' });
noticeSchema.index({ at: 1 });
