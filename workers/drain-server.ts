import type { JobData } from '../lib/contract/jobs.ts';
import { drainServer } from '../lib/domain/server-events.ts';
import type { WorkerPlatform } from '../lib/store/platform.ts';

/** Delivers what the channels of a server owe. Running it again delivers nothing twice. */
export const drainServerJob = (platform: WorkerPlatform, { serverId }: JobData<'drain-server'>): Promise<void> =>
  drainServer(platform, serverId);
