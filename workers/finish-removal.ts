import type { JobData } from '../lib/contract/jobs.ts';
import { finishRemoval } from '../lib/domain/servers/finish-removal.ts';
import type { WorkerPlatform } from '../lib/store/platform.ts';
import { Later } from '../lib/store/queue/queue.ts';

/**
 * Deletes the remaining data of a deleted channel, server, role or application, and once more a minute after the deletion. Running it again changes nothing.
 */
export async function finishRemovalJob(platform: WorkerPlatform, { removalId }: JobData<'finish-removal'>): Promise<void> {
  const leftMs = await finishRemoval(platform, removalId);
  if (leftMs !== null) throw new Later(leftMs);
}
