import { groupBy } from '../../base/group-by.ts';
import type { EventName, LoggedData } from '../../contract/events.ts';
import type { WorkerPlatform } from '../../store/platform.ts';
import type { EpochsByPartition, NewEntry } from '../../store/redis/log/append.ts';
import type { Appended } from '../../store/redis/log/confirm.ts';
import type { Visibility } from '../../store/redis/log/entry.ts';
import { accountPlace, serverPlace } from '../../store/redis/log/keys.ts';
import { locateChannel } from '../members/access.ts';

/** An event to append, and the `place` whose log it goes to: a server or an account. */
export interface PlacedEvent extends NewEntry {
  place: string;
}

/** Makes an event with its payload. It is appended once for each `id`. */
export const createPlacedEvent = <N extends EventName>(
  place: string,
  id: string,
  name: N,
  data: LoggedData<N>,
  visibility: Visibility = {},
): PlacedEvent => ({ place, id, name, payload: JSON.stringify(data), ...visibility });

/** The places whose logs get the events of a channel: its server, or both participants of a DM. Empty for a DM that is gone. */
export async function findPlacesOfChannel(
  platform: WorkerPlatform,
  { channelId, serverId }: { channelId: string; serverId: string | null },
): Promise<string[]> {
  if (serverId !== null) return [serverPlace(serverId)];
  const dm = (await locateChannel(platform, channelId))?.dm;
  return dm ? dm.userIds.map(accountPlace) : [];
}

/**
 * Appends events in their order, each once however often it is called. Returns what `confirm` needs before they are acknowledged. Rejects while Redis is
 * unavailable, and when the epoch of `during` has ended; some events may have been appended by then.
 */
export async function appendInOrder(
  { append }: WorkerPlatform,
  events: readonly PlacedEvent[],
  during?: EpochsByPartition,
): Promise<Appended[]> {
  const appended: Appended[] = [];
  for (let start = 0; start < events.length; ) {
    const { place } = events[start] as PlacedEvent;
    const next = events.findIndex((event, at) => at > start && event.place !== place);
    const end = next === -1 ? events.length : next;
    const appendedRun = await append(
      place,
      events.slice(start, end).map(({ place: _place, ...event }) => event),
      during,
    );
    appended.push(...appendedRun);
    start = end;
  }
  return appended;
}

/** Calls `expireMarks` for events that are no longer in an outbox, so that a paused worker cannot append them again. Never rejects. */
export async function keepAllMarks({ expireMarks }: WorkerPlatform, events: readonly PlacedEvent[]): Promise<void> {
  const keepIn = ([place, inPlace]: [string, PlacedEvent[]]): Promise<void> =>
    expireMarks(
      place,
      inPlace.map(({ id }) => id),
    );
  await Promise.all([...groupBy(events, ({ place }) => place)].map(keepIn));
}
