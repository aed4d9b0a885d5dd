import type { JobData } from '../lib/contract/jobs.ts';
import { drainAccount } from '../lib/domain/account-events.ts';
import type { WorkerPlatform } from '../lib/store/platform.ts';

/** Sends the pending event of an account. Running it again delivers nothing twice. */
export const drainAccountJob = (platform: WorkerPlatform, { accountId }: JobData<'drain-account'>): Promise<void> =>
  drainAccount(platform, accountId);
