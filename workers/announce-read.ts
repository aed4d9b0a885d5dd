import type { JobData } from '../lib/contract/jobs.ts';
import { announceRead } from '../lib/domain/channels/reads.ts';
import type { WorkerPlatform } from '../lib/store/platform.ts';

/** Sends a person's read mark to the person's connected sessions. Running it again sends nothing twice. */
export const announceReadJob = (platform: WorkerPlatform, data: JobData<'announce-read'>): Promise<void> => announceRead(platform, data);
