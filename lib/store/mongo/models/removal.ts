import { Schema } from 'mongoose';
import type { Overwrite } from '../../../base/permissions.ts';
import type { MessagesChoice } from '../../../contract/account-deletion.ts';

/**
 * A deletion in progress. For a channel, server, application or account it is stored before that document is deleted, and removed when nothing is left of it; `_id` is
 * its id. For some of a deleted server's `members` it is stored before their memberships are deleted, and removed once their events are appended. For a role,
 * whose members keep its id for a while, it is removed once they no longer have it.
 */
export interface RemovalDoc {
  _id: string;
  kind: 'channel' | 'server' | 'members' | 'role' | 'application' | 'account';
  /** null for an application or account. */
  serverId: string | null;
  /** The owner who deleted the server or application; null for other kinds. A server that has another owner by now is not deleted. */
  ownerId: string | null;
  /** For a channel, its overwrites, which say who could view it, for its CHANNEL_DELETE; else empty. */
  overwrites: Overwrite[];
  /** For `members`, the accounts whose memberships end; for an application, its bot. */
  userIds?: string[];
  /**
   * For an account, what happens to its messages. Absent until the deletion has begun; before that it can be cancelled, and then `at` is the time when it was
   * found to be due.
   */
  messages?: MessagesChoice;
  at: Date;
  /** When the sweep continues the removal. A running job keeps moving this on, so it is reached when the job died or was lost, or when the last pass is due. */
  nextAt: Date;
  /** Nothing is left to do. The document is kept while a backup runs. */
  done?: true;
}

/** A removal of a server, or of something in a server. */
export type RemovalInServer = RemovalDoc & { serverId: string };

export const removalSchema = new Schema<RemovalDoc>({}, { collection: 'removals' });
removalSchema.index({ nextAt: 1 });
