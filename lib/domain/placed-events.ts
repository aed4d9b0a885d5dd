import { groupBy } from '../base/group-by.ts';
import type { EventName, LoggedData } from '../contract/events.ts';
import type { Append, During } from '../store/log/append.ts';
import type { Appended } from '../store/log/confirm.ts';
import type { Visibility } from '../store/log/entry.ts';
import { accountPlace, serverPlace } from '../store/log/keys.ts';
import type { WorkerPlatform } from '../store/platform.ts';
import { homeOfChannel } from './access.ts';

/** An event to be appended, and the place whose log it goes to. */
export interface PlacedEvent extends Append {
  place: string;
}

/** An event with its payload. The id makes it be appended once. */
export const placedEvent = <N extends EventName>(
  place: string,
  id: string,
  name: N,
  data: LoggedData<N>,
  visibility: Visibility = {},
): PlacedEvent => ({ place, id, name, payload: JSON.stringify(data), ...visibility });

/** The places that events of a channel go to: its server's, or the two participants' of a DM; none when it is gone. */
export async function placesOfChannel(
  platform: WorkerPlatform,
  { channelId, serverId }: { channelId: string; serverId: string | null },
): Promise<string[]> {
  if (serverId !== null) return [serverPlace(serverId)];
  const dm = (await homeOfChannel(platform, channelId))?.dm;
  return dm ? dm.userIds.map(accountPlace) : [];
}

/**
 * Appends events in their order, each once however often it is called; answers what `confirm` takes before they are acknowledged. Rejects while Redis is away, and
 * when the epoch of `during` is over; some of them may be appended then.
 */
export async function appendInOrder({ append }: WorkerPlatform, events: readonly PlacedEvent[], during?: During): Promise<Appended[]> {
  const appended: Appended[] = [];
  for (let start = 0; start < events.length; ) {
    const { place } = events[start] as PlacedEvent;
    const next = events.findIndex((event, at) => at > start && event.place !== place);
    const end = next === -1 ? events.length : next;
    const some = await append(
      place,
      events.slice(start, end).map(({ place: _place, ...event }) => event),
      during,
    );
    appended.push(...some);
    start = end;
  }
  return appended;
}

/** Sees to the marks of events that are no longer in an outbox (`settleMarks`). Never rejects. */
export async function settleAllMarks({ settleMarks }: WorkerPlatform, events: readonly PlacedEvent[]): Promise<void> {
  const settleIn = ([place, some]: [string, PlacedEvent[]]): Promise<void> =>
    settleMarks(
      place,
      some.map(({ id }) => id),
    );
  await Promise.all([...groupBy(events, ({ place }) => place)].map(settleIn));
}
