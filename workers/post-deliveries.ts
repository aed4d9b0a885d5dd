import type { JobData } from '../lib/contract/jobs.ts';
import { postDeliveries } from '../lib/domain/webhooks/delivery-posting.ts';
import type { WorkerPlatform } from '../lib/store/platform.ts';
import { Later } from '../lib/store/queue/queue.ts';

/** Posts the deliveries of a webhook. The job delays itself until the webhook's rate allows the next. Repeated and concurrent runs post nothing twice. */
export async function postDeliveriesJob(platform: WorkerPlatform, { webhookId }: JobData<'post-deliveries'>): Promise<void> {
  const leftMs = await postDeliveries(platform, webhookId);
  if (leftMs !== null) throw new Later(leftMs);
}
