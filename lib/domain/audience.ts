import type { Overwrite } from '../base/permissions.ts';
import type { EventName } from '../contract/events.ts';
import type { Before } from '../store/bus/envelope.ts';
import type { WorkerPlatform } from '../store/platform.ts';
import { accessUnsettled } from '../store/queue.ts';
import { botsThatView, homeOfChannel, loadServerNow, type ServerAccess } from './access.ts';

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
  /** For a change of who may view the channel: what stood before. */
  before?: Before;
  /** The account it is not sent back to: who is typing. */
  except?: string;
  /** The one account it is for. SERVER_DELETE finds it whatever became of the server. */
  only?: string;
}

/** How many sessions' worth of appends are under way at once, so that one busy channel does not hold Redis up. */
const appendsInFlight = 2_000;

/** The audience under `access`: these bots, and the people of its server. Throws while Redis is away, as nobody knows then whether it still holds. */
export function audienceUnder({ server, version }: ServerAccess, bots: readonly string[]): Audience {
  if (version === null) throw new Error('redis is away');
  return { bots, topics: [`server:${server._id}`], server: { id: server._id, version } };
}

/** The audience in server `serverId` as it stands now: the bots that `pick` names. null when the server is gone: nobody is left to hear. */
export async function serverAudience(
  platform: WorkerPlatform,
  serverId: string,
  pick: (access: ServerAccess) => Promise<readonly string[]>,
): Promise<Audience | null> {
  const access = await loadServerNow(platform, serverId);
  return access && audienceUnder(access, await pick(access));
}

/** The audience of what happens in a channel, or in a DM, whose server is none, as it stands now; null when nobody is left to hear. */
export async function channelAudience(
  platform: WorkerPlatform,
  { channelId, serverId }: { channelId: string; serverId: string | null },
): Promise<Audience | null> {
  if (serverId !== null) return serverAudience(platform, serverId, (access) => botsThatView(access, channelId));
  const dm = (await homeOfChannel(platform, channelId))?.dm;
  return dm ? { bots: dm.bots, topics: dm.userIds.map((id) => `user:${id}`), server: null } : null;
}

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
    if (tries > events.length + 20) throw accessUnsettled();
    const audience = await audienceNow();
    if (!audience) return;
    const { bots, topics, server } = audience;
    const window = Math.max(1, Math.floor(appendsInFlight / Math.max(1, bots.length)));
    let stale = false;
    while (!stale && next < events.length) {
      const chunk = events.slice(next, next + window);
      const outcomes = await Promise.all(
        chunk.map(({ id: eventId, name, payload, channelId, overwrites, before, except, only }, at) =>
          platform.append({
            eventId,
            name,
            payload,
            bots: only === undefined ? bots.filter((bot) => bot !== except) : [only],
            reach: 'all',
            topics: only === undefined ? topics : [`user:${only}`],
            ...(server && name !== 'SERVER_DELETE' ? { server } : {}),
            ...(channelId === undefined ? {} : { channelId }),
            ...(overwrites ? { overwrites } : {}),
            ...(before ? { before } : {}),
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
