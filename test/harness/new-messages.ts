import { sweepNewMessages } from '../../lib/domain/messages/new-messages.ts';
import type { WorkerPlatform } from '../../lib/store/platform.ts';

/** Runs the sweep of new messages as it runs later, when all inserts of now have ended for certain; or those up to the id `upTo`. */
export function sweepNewMessagesNow(worker: WorkerPlatform, upTo = worker.ids.next()): Promise<void> {
  const readEndedInserts = async () => ({ upTo, doubtful: [] });
  return sweepNewMessages({
    ...worker,
    shares: { ...worker.shares, hasEnded: () => false },
    messageOrder: { ...worker.messageOrder, readEndedInserts },
  });
}
