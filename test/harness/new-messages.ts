import { sweepNewMessages } from '../../lib/domain/messages/new-messages.ts';
import type { WorkerPlatform } from '../../lib/store/platform.ts';

/** Runs the sweep of new messages as it runs later, when all inserts of now have ended for certain. */
export function sweepNewMessagesNow(worker: WorkerPlatform): Promise<void> {
  const readEndedInserts = async () => ({ below: worker.ids.next(), doubtful: [] });
  return sweepNewMessages({
    ...worker,
    shares: { ...worker.shares, hasEnded: () => false },
    messageOrder: { ...worker.messageOrder, readEndedInserts },
  });
}
