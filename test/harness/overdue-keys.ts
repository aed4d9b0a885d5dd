import { findOverdueKeys, type OutboxName } from '../../lib/domain/relay/relay.ts';
import type { Platform, WorkerPlatform } from '../../lib/store/platform.ts';

/** The keys of all pages of `findOverdueKeys`. */
export async function listOverdueKeys(worker: WorkerPlatform, outbox: OutboxName): Promise<string[]> {
  const keys: string[] = [];
  for await (const page of findOverdueKeys(worker, outbox)) keys.push(...page);
  return keys;
}

/** The removals that the sweep takes now. */
export const findDueRemovals = ({ db, now }: Platform): Promise<string[]> =>
  db.removals.distinct('_id', { nextAt: { $lte: new Date(now()) } });
