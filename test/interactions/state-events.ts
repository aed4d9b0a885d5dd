import { accountPlace, serverPlace } from '../../lib/store/redis/log/keys.ts';
import type { InteractionFixture, ReceivedEvent } from '../harness/interaction-fixture.ts';
import { subscribe } from '../harness/log.ts';

/** Records the events of three places in one order: the account of the person, that of the bot, and the server. */
export interface EventCollector {
  received: (ReceivedEvent & { place: string })[];
  /** Resolves when everything that was appended before has been received. */
  caughtUp(): Promise<void>;
  close(): Promise<void>;
}

/** Starts to record the events of a fixture. */
export async function collectEvents({ gateway, worker, seeded, bot }: InteractionFixture): Promise<EventCollector> {
  const received: EventCollector['received'] = [];
  const marks = new Map<unknown, () => void>();
  const person = accountPlace(seeded.ownerId);
  const log = await subscribe(gateway, [person, accountPlace(bot.id), serverPlace(seeded.serverId)], ({ name, data, head }, place) => {
    const mark = marks.get(data.mark);
    if (mark) mark();
    // An ephemeral answer is in the place of the server, for the person only.
    else received.push({ place: head.onlyAccount === seeded.ownerId ? person : place, name, data });
  });
  return {
    received,
    async caughtUp() {
      const mark = worker.ids.next();
      const markReceived = new Promise<void>((resolve) => marks.set(mark, resolve));
      await worker.eventLog.append(person, [{ id: mark, name: 'INTERACTION_UPDATE', payload: JSON.stringify({ mark }) }]);
      await markReceived;
      marks.delete(mark);
    },
    close: () => log.close(),
  };
}
