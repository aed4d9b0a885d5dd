import { Schema } from 'mongoose';

/** The direct message channel of two accounts. Its id is a channel id like any other. `userIds` never change. */
export interface DmDoc {
  _id: string;
  /** Both account ids, the lower one first, separated by a colon. It is unique, so a pair has only one DM, no matter who opens it. */
  pair: string;
  userIds: [string, string];
  /** Which of the two are bots. */
  bots: string[];
  /** The newest message that is not deleted; null when there is none. */
  lastMessageId: string | null;
  /** An id for the last post or opening, the later of both. It orders an account's DMs by activity, and does not change when a message is deleted. */
  activeId: string;
  createdAt: Date;
}

/** The `pair` of two accounts. */
export const toPairKey = (ids: readonly string[]): string => ids.toSorted().join(':');

export const dmSchema = new Schema<DmDoc>({}, { collection: 'dms' });
dmSchema.index({ pair: 1 }, { unique: true });
dmSchema.index({ userIds: 1, activeId: -1 });
