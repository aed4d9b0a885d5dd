import type { SeenStatus } from '../contract/user.ts';
import type { AccountDoc } from '../store/models/account.ts';
import type { Platform } from '../store/platform.ts';

/** Which of the accounts are connected now, all asked about in one call; none while Redis is away (edge case 45). */
export async function connectedOf(platform: Platform, ids: readonly string[]): Promise<Set<string>> {
  try {
    const live = await platform.connected(ids);
    return new Set(ids.filter((_, at) => live[at]));
  } catch {
    return new Set();
  }
}

/** An account's status as others see it: offline unless connected, and when invisible (spec, Bot presence). */
export const seenStatusOf = ({ status }: AccountDoc, connected: boolean): SeenStatus =>
  connected && status !== 'invisible' ? status : 'offline';
