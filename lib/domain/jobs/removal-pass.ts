import { failpoint } from '../../base/failpoint.ts';
import { deleteInBatches } from '../../store/mongo/delete-in-batches.ts';
import type { WorkerPlatform } from '../../store/platform.ts';
import { removeChannelFiles } from '../files/files.ts';
import { removeFollowsOf } from '../messages/followers.ts';
import { deleteReactions } from '../messages/reaction-changes.ts';
import { deleteMessages } from '../messages/removal.ts';
import { removeWebhooksOfChannel } from '../webhooks/webhooks.ts';

/** One pass over what a deletion left behind. There are two or more. */
export interface Pass {
  /** Reports that the pass is still running, so that the sweep does not start another one. */
  reportProgress: () => Promise<unknown>;
  /**
   * Whether it is the last pass. Only that one deletes the documents of threads and of a server's channels: until then they show where a late post may be
   * stored.
   */
  isLast: boolean;
}

/** Deletes the contents of a deleted channel: its messages with their reactions and files, the follows from and to it, its webhooks and its read positions. */
export async function emptyChannel(platform: WorkerPlatform, channelId: string, { reportProgress }: Pass): Promise<void> {
  await deleteMessages(platform, channelId, reportProgress);
  await deleteReactions(platform, { channelId }, reportProgress);
  failpoint(platform.config, 'during-removal');
  await removeChannelFiles(platform, channelId, reportProgress);
  await removeFollowsOf(platform, channelId);
  await removeWebhooksOfChannel(platform, channelId);
  await deleteInBatches(platform.db.reads, { channelId }, reportProgress);
}
