import { isId } from '../../base/ids.ts';
import { isUnavailable } from '../../store/mongo/database.ts';
import type { EnqueuePlatform, Platform } from '../../store/platform.ts';
import { type Actor, locateChannel } from './checks.ts';
import { createActor } from './credentials.ts';

/**
 * Runs a request that writes a server's roles, members, channels, overwrites, webhooks, threads, invites or settings. Permissions are checked before the write,
 * so another request may change them in between. Two rules hold for such races:
 * - No update is lost, and no cap is exceeded: the filter of each update contains what was checked (`rolesVersion`, `ownerId`, the overwrites, the member's
 *   roles).
 * - Once a request is answered, no write that was checked before it takes effect. Every request is registered as in flight before it checks anything, and `run`
 *   gets an actor whose access versions are read after that. The answer then waits until all other requests in flight have ended. So another request either
 *   sees the change or ends before the change is answered.
 * The second rule does not hold without Redis, for a request that lasts longer than 2.5 s (times STORE_TIMEOUT_FACTOR), and for messages, reactions, pins and
 * joins, which are not registered. A request with an unknown outcome stays in flight until its entry expires.
 */
export async function runManagementWrite<T>(
  platform: EnqueuePlatform,
  actor: Actor,
  serverId: string | null,
  run: (actor: Actor) => Promise<T>,
): Promise<T> {
  if (serverId === null || !isId(serverId)) return run(actor);
  const endWrite = await platform.managingWrites.begin(serverId);
  try {
    const result = await run(createActor(platform, actor.account, new Map()));
    await endWrite(true);
    return result;
  } catch (error) {
    if (!isUnavailable(error)) void endWrite(false);
    throw error;
  }
}

/** The server of a channel; null for a DM and when there is no such channel. */
export const findServerIdOfChannel = async (platform: Platform, id: string): Promise<string | null> =>
  (await locateChannel(platform, id))?.serverId ?? null;

/** The server of a webhook; null when there is no such webhook. */
export const findServerIdOfWebhook = async ({ db }: Platform, id: string): Promise<string | null> =>
  (await db.webhooks.findOne({ _id: id }, { projection: { serverId: 1 } }))?.serverId ?? null;

/** The server of an invite; null when there is no such invite. */
export const findServerIdOfInvite = async ({ db }: Platform, code: string): Promise<string | null> =>
  (await db.invites.findOne({ _id: code }, { projection: { serverId: 1 } }))?.serverId ?? null;
