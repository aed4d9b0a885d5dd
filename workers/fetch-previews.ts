import type { JobData } from '../lib/contract/jobs.ts';
import { fetchPreviews } from '../lib/domain/previews.ts';
import type { WorkerPlatform } from '../lib/store/platform.ts';

/** Adds the previews of a message's links. Running it again changes nothing. */
export const fetchPreviewsJob = (platform: WorkerPlatform, { messageId }: JobData<'fetch-previews'>): Promise<void> =>
  fetchPreviews(platform, messageId);
