import { refuse } from '../base/errors.ts';
import type { Me, PresencePatch, SeenStatus } from '../contract/user.ts';
import type { AccountDoc } from '../store/models/account.ts';
import type { ApiPlatform, Platform } from '../store/platform.ts';
import type { Actor } from './access.ts';
import { meOf } from './accounts.ts';

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

/**
 * Sets the status that an account is seen with while it is connected, and its custom status; what is left out stays, null and "" clear (spec, Bot presence).
 * It stays over restarts. The answer shows what was chosen. Others hear of it within about a second, unless Redis is away.
 */
export async function setPresence(platform: ApiPlatform, actor: Actor, { status, customStatus }: PresencePatch): Promise<Me> {
  const set = {
    ...(status === undefined ? {} : { status }),
    ...(customStatus === undefined ? {} : { customStatus: customStatus || null }),
  };
  const account = await platform.versions.changing({ accounts: [actor.id] }, () =>
    platform.db.accounts.findOneAndUpdate({ _id: actor.id }, { $set: set }, { returnDocument: 'after' }).lean(),
  );
  if (!account) return refuse('unauthorized', { hint: 'This account no longer exists' });
  await platform.presenceChanged(actor.id, account.customStatus !== actor.account.customStatus).catch(() => undefined);
  return meOf(account);
}
