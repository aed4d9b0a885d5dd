import type { JobData } from '../lib/contract/jobs.ts';
import { copyToFollowers } from '../lib/domain/messages/crosspost-copies.ts';
import type { WorkerPlatform } from '../lib/store/platform.ts';

/** Creates the next copies of a crossposted message. Running it again creates no copy twice. */
export const crosspostMessageJob = (platform: WorkerPlatform, { messageId, afterId }: JobData<'crosspost-message'>): Promise<void> =>
  copyToFollowers(platform, messageId, afterId);
