import { LRUCache } from 'lru-cache';
import type { EventName, LoggedData } from '../../contract/events.ts';
import type { WorkerPlatform } from '../../store/platform.ts';
import type { NewEntry } from '../../store/redis/log/append.ts';
import type { Visibility } from '../../store/redis/log/entry.ts';
import { accountPlace, serverPlace } from '../../store/redis/log/keys.ts';
import { locateChannel } from '../access/checks.ts';

/** An event to append, and the `place` whose log it goes to: a server or an account. */
export interface PlacedEvent extends NewEntry {
  place: string;
  /** For a SERVER_CREATE, the id of the MEMBER_ADD of its join, which comes before it and whose number it gets. Not stored. */
  joinEventId?: string;
}

/** Makes an event with its payload. It is appended once for each `id`. */
export const createPlacedEvent = <N extends EventName>(
  place: string,
  id: string,
  name: N,
  data: LoggedData<N>,
  visibility: Visibility = {},
): PlacedEvent => ({ place, id, name, payload: JSON.stringify(data), ...visibility });

/**
 * The places whose logs get the events of a channel: its server, or both participants of a DM. Empty for a DM that is gone. `viewedAs` is the channel whose
 * viewers receive them: of a thread, its parent.
 */
export async function findPlacesOfChannel(
  platform: WorkerPlatform,
  { channelId, serverId, isThread }: { channelId: string; serverId: string | null; isThread?: boolean },
): Promise<{ places: string[]; viewedAs: string }> {
  if (serverId !== null) {
    const parentId = isThread === false ? null : await findThreadParent(platform, channelId);
    return { places: [serverPlace(serverId)], viewedAs: parentId ?? channelId };
  }
  const dm = (await locateChannel(platform, channelId))?.dm;
  return { places: dm ? dm.userIds.map(accountPlace) : [], viewedAs: channelId };
}

/** The parents of threads that were read last; '' for other channels. A thread never moves, and a channel never becomes one. */
const threadParents = new LRUCache<string, string>({ max: 10_000 });

/** The parent of a thread; null for any other channel. */
async function findThreadParent({ db }: WorkerPlatform, channelId: string): Promise<string | null> {
  const known = threadParents.get(channelId);
  if (known !== undefined) return known || null;
  const channel = await db.channels.findOne({ _id: channelId }, { projection: { kind: 1, parentId: 1 } });
  const parentId = channel?.kind === 'thread' ? channel.parentId : null;
  if (channel) threadParents.set(channelId, parentId ?? '');
  return parentId;
}
