import { accountPlace, serverPlace } from '../../lib/store/redis/log/keys.ts';
import { subscribe } from '../harness/log.ts';
import type { Heard, Scene } from '../harness/scene.ts';

/** Hears what comes to three places, in one order: the person's, the bot's, and the server's that everybody in it hears. */
export interface Ears {
  said: (Heard & { place: string })[];
  /** Resolves when everything that was published before has been heard. */
  caughtUp(): Promise<void>;
  close(): Promise<void>;
}

/** Listens in a scene. */
export async function listen({ gateway, worker, world, bot }: Scene): Promise<Ears> {
  const said: Ears['said'] = [];
  const marks = new Map<unknown, () => void>();
  const person = accountPlace(world.ownerId);
  const log = await subscribe(gateway, [person, accountPlace(bot.id), serverPlace(world.serverId)], ({ name, data }, place) => {
    const mark = marks.get(data.mark);
    if (mark) mark();
    else said.push({ place, name, data });
  });
  return {
    said,
    async caughtUp() {
      const mark = worker.ids.next();
      const heard = new Promise<void>((resolve) => marks.set(mark, resolve));
      await worker.append(person, [{ id: mark, name: 'INTERACTION_UPDATE', payload: JSON.stringify({ mark }) }]);
      await heard;
      marks.delete(mark);
    },
    close: () => log.close(),
  };
}
