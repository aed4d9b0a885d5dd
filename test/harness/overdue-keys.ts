import { findOverdueKeys, type OutboxName } from '../../lib/domain/relay/relay.ts';
import type { WorkerPlatform } from '../../lib/store/platform.ts';

/** The keys of all pages of `findOverdueKeys`. */
export async function listOverdueKeys(worker: WorkerPlatform, outbox: OutboxName): Promise<string[]> {
  const keys: string[] = [];
  for await (const page of findOverdueKeys(worker, outbox)) keys.push(...page);
  return keys;
}
