import type { JobData } from '../lib/contract/jobs.ts';
import { expireUnanswered } from '../lib/domain/interactions/interaction-outbox.ts';
import type { WorkerPlatform } from '../lib/store/platform.ts';
import { Later } from '../lib/store/queue/queue.ts';

/** Expires an interaction that was not answered within 3 seconds. A job that runs early delays itself by the rest. Running it again changes nothing. */
export async function expireInteractionJob(platform: WorkerPlatform, { interactionId }: JobData<'expire-interaction'>): Promise<void> {
  const leftMs = await expireUnanswered(platform, interactionId);
  if (leftMs !== null) throw new Later(leftMs);
}
