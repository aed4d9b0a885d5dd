import type { Overwrite } from '../base/permissions.ts';
import type { EventName } from '../contract/events.ts';
import type { DmDoc } from '../store/models/dm.ts';
import type { WorkerPlatform } from '../store/platform.ts';
import { botsThatView, loadServerNow, type ServerAccess } from './access.ts';

/** Who hears an event: the bots, the topics that people and nodes listen to, and the server whose access data decided it. */
export interface Audience {
  bots: readonly string[];
  topics: readonly string[];
  /** null in a DM, whose two participants never change. */
  server: { id: string; version: string } | null;
}

/** An event that is due: its id makes its delivery happen once. */
export interface DueEvent {
  id: string;
  name: EventName;
  payload: string;
  /** The channel whose readers it is for. */
  channelId?: string;
  /** For a channel that is gone: the overwrites that say who could view it. */
  overwrites?: readonly Overwrite[];
  /** The account it is not sent back to: who is typing. */
  except?: string;
}

/** How many sessions' worth of appends are under way at once, so that one busy channel does not hold Redis up. */
const appendsInFlight = 2_000;

/** The audience of a DM. */
export const dmAudience = ({ userIds, bots }: DmDoc): Audience => ({ bots, topics: userIds.map((id) => `user:${id}`), server: null });

/** The audience in server `serverId` as it stands now: the bots that `pick` names. null when the server is gone: nobody is left to hear. */
export async function serverAudience(
  platform: WorkerPlatform,
  serverId: string,
  pick: (access: ServerAccess) => Promise<readonly string[]>,
): Promise<Audience | null> {
  const access = await loadServerNow(platform, serverId);
  if (!access) return null;
  if (access.version === null) throw new Error('redis is away');
  return { bots: await pick(access), topics: [`server:${serverId}`], server: { id: serverId, version: access.version } };
}

/** The audience of a channel's events: the bots that may view it. */
export const channelAudience = (platform: WorkerPlatform, serverId: string, channelId: string): Promise<Audience | null> =>
  serverAudience(platform, serverId, (access) => botsThatView(access, channelId));

/**
 * Appends `events` in order, each once however often it is called; `audienceNow` is asked again whenever access data changed meanwhile, so that nothing is
 * appended for a bot after its removal was answered (quality 2). Nothing is left to do when it answers null. Rejects while Redis is away.
 */
export async function appendInOrder(
  platform: WorkerPlatform,
  events: readonly DueEvent[],
  audienceNow: () => Promise<Audience | null>,
): Promise<void> {
  let next = 0;
  for (let tries = 0; next < events.length; tries++) {
    if (tries > events.length + 20) throw new Error('access data changed too often while events were appended');
    const audience = await audienceNow();
    if (!audience) return;
    const { bots, topics, server } = audience;
    const window = Math.max(1, Math.floor(appendsInFlight / Math.max(1, bots.length)));
    let stale = false;
    while (!stale && next < events.length) {
      const chunk = events.slice(next, next + window);
      const outcomes = await Promise.all(
        chunk.map(({ id: eventId, name, payload, channelId, overwrites, except }, at) =>
          platform.append({
            eventId,
            name,
            payload,
            bots: except === undefined ? bots : bots.filter((bot) => bot !== except),
            reach: 'all',
            topics,
            ...(server ? { server } : {}),
            ...(channelId === undefined ? {} : { channelId }),
            ...(overwrites ? { overwrites } : {}),
            ...(except === undefined ? {} : { except }),
            ...(next + at > 0 ? { after: (events[next + at - 1] as DueEvent).id } : {}),
          }),
        ),
      );
      const failed = outcomes.findIndex((outcome) => outcome !== 'appended');
      stale = failed !== -1;
      next += stale ? failed : chunk.length;
    }
  }
}
