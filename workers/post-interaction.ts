import type { JobData } from '../lib/contract/jobs.ts';
import { postInteraction } from '../lib/domain/interactions/endpoint-delivery.ts';
import type { WorkerPlatform } from '../lib/store/platform.ts';
import type { BesideQueue } from '../lib/store/queue/queue.ts';

/** Sends an interaction to its application's endpoint. The job ends before the request does. Running it again sends nothing. */
export const postInteractionJob = (platform: WorkerPlatform, { interactionId }: JobData<'post-interaction'>): Promise<BesideQueue> =>
  postInteraction(platform, interactionId);
