import type { JobData } from '../lib/contract/jobs.ts';
import { deliverInteraction } from '../lib/domain/interaction-delivery.ts';
import type { WorkerPlatform } from '../lib/store/platform.ts';

/** Delivers what an interaction owes: to its bot, to its person, and its answer's message to the channel. Running it again delivers nothing twice. */
export const deliverInteractionJob = (platform: WorkerPlatform, { interactionId }: JobData<'deliver-interaction'>): Promise<void> =>
  deliverInteraction(platform, interactionId);
