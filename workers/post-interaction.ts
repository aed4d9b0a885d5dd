import type { JobData } from '../lib/contract/jobs.ts';
import { postInteraction } from '../lib/domain/endpoint-delivery.ts';
import type { WorkerPlatform } from '../lib/store/platform.ts';

/** Posts an interaction to its application's endpoint. Running it again sends nothing. */
export const postInteractionJob = (platform: WorkerPlatform, { interactionId }: JobData<'post-interaction'>): Promise<void> =>
  postInteraction(platform, interactionId);
