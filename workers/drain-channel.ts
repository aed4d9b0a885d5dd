import type { JobData } from '../lib/contract/jobs.ts';
import { drainChannel } from '../lib/domain/delivery.ts';
import type { WorkerPlatform } from '../lib/store/platform.ts';

/** Delivers what the channel's messages owe. Running it again delivers nothing twice. */
export const drainChannelJob = (platform: WorkerPlatform, { channelId }: JobData<'drain-channel'>): Promise<void> =>
  drainChannel(platform, channelId);
