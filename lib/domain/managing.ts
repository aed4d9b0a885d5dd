import { isId } from '../base/ids.ts';
import { isUnavailable } from '../store/database.ts';
import type { EnqueuePlatform, Platform } from '../store/platform.ts';
import { type Actor, homeOfChannel } from './access.ts';
import { actorOf } from './credentials.ts';

/**
 * Runs a call that writes a server's roles, members, channels, overwrites, webhooks, threads, invites or settings. Permissions are checked before the write, so
 * another call may change them in between. Two rules hold for such races:
 * - No update is lost, and no cap exceeded: the filter of each update says what was checked (`rolesVersion`, `ownerId`, the overwrites, the member's roles).
 * - Once a call is answered, no write that was checked before it takes effect: every call is noted as in flight before it checks anything, `run` gets an actor
 *   whose access versions are read after that, and the answer waits until all calls in flight have ended. So a call either sees the change or ends before
 *   the change is answered.
 * The second rule does not hold without Redis, for a call that lasts longer than 2.5 s (times STORE_PATIENCE), and for messages, reactions, pins and joins, which
 * are not noted. A call with an unknown outcome stays in flight until its entry expires.
 */
export async function manageServer<T>(
  platform: EnqueuePlatform,
  actor: Actor,
  serverId: string | null,
  run: (actor: Actor) => Promise<T>,
): Promise<T> {
  if (serverId === null || !isId(serverId)) return run(actor);
  const leave = await platform.managingWrites.enter(serverId);
  try {
    const result = await run(actorOf(platform, actor.account, new Map()));
    await leave(true);
    return result;
  } catch (error) {
    if (!isUnavailable(error)) void leave(false);
    throw error;
  }
}

/** The server of a channel; null for a DM and when there is no such channel. */
export const serverOfChannel = async (platform: Platform, id: string): Promise<string | null> =>
  (await homeOfChannel(platform, id))?.serverId ?? null;

/** The server of a webhook; null when there is no such webhook. */
export const serverOfWebhook = async ({ db }: Platform, id: string): Promise<string | null> =>
  (await db.webhooks.findOne({ _id: id }, { serverId: 1 }).lean())?.serverId ?? null;

/** The server of an invite; null when there is no such invite. */
export const serverOfInvite = async ({ db }: Platform, code: string): Promise<string | null> =>
  (await db.invites.findOne({ _id: code }, { serverId: 1 }).lean())?.serverId ?? null;
