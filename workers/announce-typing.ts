import type { JobData } from '../lib/contract/jobs.ts';
import { announceTyping } from '../lib/domain/channels/typing.ts';
import type { WorkerPlatform } from '../lib/store/platform.ts';

/** Announces in a channel who is typing. Running it again announces nothing twice. */
export const announceTypingJob = (platform: WorkerPlatform, data: JobData<'announce-typing'>): Promise<void> =>
  announceTyping(platform, data);
