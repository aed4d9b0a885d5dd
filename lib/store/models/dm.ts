import { Schema } from 'mongoose';

/** The channel of two accounts. Its id is a channel id like any other; `userIds` never change. */
export interface DmDoc {
  _id: string;
  /** Both account ids, the lower first, with a colon between: unique, so a pair has one DM whoever opens it when. */
  pair: string;
  userIds: [string, string];
  /** Which of the two are bots. */
  bots: string[];
  /** The newest message that is there; null while there is none. */
  lastMessageId: string | null;
  /** The latest of its opening and its posts, as an id: orders an account's DMs by activity, and stays when a message is deleted. */
  activeId: string;
  createdAt: Date;
}

/** The `pair` of two accounts. */
export const pairOf = (ids: readonly string[]): string => ids.toSorted().join(':');

export const dmSchema = new Schema<DmDoc>(
  { _id: String, pair: String, userIds: [String], bots: [String], lastMessageId: String, activeId: String, createdAt: Date },
  { collection: 'dms', versionKey: false, minimize: false },
);
dmSchema.index({ pair: 1 }, { unique: true });
dmSchema.index({ userIds: 1, activeId: -1 });
