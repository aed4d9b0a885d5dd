import type { JobData } from '../lib/contract/jobs.ts';
import { sendNotice } from '../lib/domain/members/notices.ts';
import type { WorkerPlatform } from '../lib/store/platform.ts';
import { Later } from '../lib/store/queue/queue.ts';

/** Sends a notice to a removed person. The job delays itself while it is not known whether the removal happened. Running it again posts nothing twice. */
export async function sendNoticeJob(platform: WorkerPlatform, { noticeId }: JobData<'send-notice'>): Promise<void> {
  const leftMs = await sendNotice(platform, noticeId);
  if (leftMs !== null) throw new Later(leftMs);
}
