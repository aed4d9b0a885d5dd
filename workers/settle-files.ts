import type { JobData } from '../lib/contract/jobs.ts';
import { settleFiles } from '../lib/domain/files/files.ts';
import type { WorkerPlatform } from '../lib/store/platform.ts';

/** Deletes the files of a deleted message. Running it again changes nothing. */
export const settleFilesJob = (platform: WorkerPlatform, { messageId }: JobData<'settle-files'>): Promise<void> =>
  settleFiles(platform, messageId);
