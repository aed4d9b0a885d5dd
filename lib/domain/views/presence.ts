import type { VisibleStatus } from '../../contract/user.ts';
import type { AccountDoc } from '../../store/mongo/models/account.ts';
import { toPairKey } from '../../store/mongo/models/dm.ts';
import type { Platform } from '../../store/platform.ts';

/** Which of the accounts are connected now, read in one call; none while Redis is unavailable (docs/behavior/accounts.md#presence). */
export async function loadConnected(platform: Platform, ids: readonly string[]): Promise<Set<string>> {
  try {
    const connected = await platform.connections.areConnected(ids);
    return new Set(ids.filter((_, at) => connected[at]));
  } catch {
    return new Set();
  }
}

/** An account's status as others see it: offline unless connected, and offline if invisible (docs/behavior/accounts.md#presence). */
export const toVisibleStatus = ({ status }: AccountDoc, connected: boolean): VisibleStatus =>
  connected && status !== 'invisible' ? status : 'offline';

/**
 * The accounts among `ids` whose presence `accountId` may see: those in one of the servers `serverIds`, and those that have a DM with it. `accountId` must be
 * in all of `serverIds`. Two queries at most.
 */
export async function findVisiblePresences(
  { db }: Platform,
  accountId: string,
  serverIds: readonly string[],
  ids: readonly string[],
): Promise<Set<string>> {
  const members = { userId: { $in: [...ids] }, serverId: { $in: [...serverIds] } };
  const found = serverIds.length > 0 ? await db.members.distinct('userId', members) : [];
  const visible = new Set<string>(found);
  const others = ids.filter((id) => !visible.has(id));
  if (others.length === 0) return visible;
  const pairs = others.map((id) => toPairKey([accountId, id]));
  const dms = await db.dms.find({ pair: { $in: pairs } }, { projection: { _id: 0, userIds: 1 } }).toArray();
  for (const { userIds } of dms) for (const id of userIds) if (id !== accountId) visible.add(id);
  return visible;
}
