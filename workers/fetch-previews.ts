import type { JobData } from '../lib/contract/jobs.ts';
import { fetchPreviews } from '../lib/domain/previews/previews.ts';
import type { WorkerPlatform } from '../lib/store/platform.ts';
import { Later } from '../lib/store/queue/queue.ts';

/** Adds the previews of a message's links. The job delays itself while there is no free slot for the account. Running it again changes nothing. */
export async function fetchPreviewsJob(platform: WorkerPlatform, { messageId }: JobData<'fetch-previews'>): Promise<void> {
  const leftMs = await fetchPreviews(platform, messageId);
  if (leftMs !== null) throw new Later(leftMs);
}
