import type { JobData } from '../lib/contract/jobs.ts';
import { announceTyping } from '../lib/domain/typing.ts';
import type { WorkerPlatform } from '../lib/store/platform.ts';

/** Tells a channel who is typing there. Running it again tells nothing twice. */
export const announceTypingJob = (platform: WorkerPlatform, data: JobData<'announce-typing'>): Promise<void> =>
  announceTyping(platform, data);
