import type { Heard, Scene } from '../harness/scene.ts';

/** Hears what three topics say, in one order: the person's, the bot's, and the server's that everybody in it hears. */
export interface Ears {
  said: (Heard & { topic: string })[];
  /** Resolves when everything that was published before has been heard. */
  caughtUp(): Promise<void>;
  close(): Promise<void>;
}

/** Listens in a scene. */
export async function listen({ gateway, worker, world, bot }: Scene): Promise<Ears> {
  const said: Ears['said'] = [];
  const marks = new Map<unknown, () => void>();
  const topics = await gateway.listen({
    onEvent(topic, { head, payload }) {
      const data = JSON.parse(payload.toString()) as Record<string, unknown>;
      const mark = marks.get(data.mark);
      if (mark) mark();
      else said.push({ topic, name: head.t, data });
    },
    onControl: () => undefined,
    onRestored: () => undefined,
  });
  const person = `user:${world.ownerId}`;
  for (const topic of [person, `user:${bot.id}`, `server:${world.serverId}`]) await topics.join(topic);
  return {
    said,
    async caughtUp() {
      const mark = worker.ids.next();
      const heard = new Promise<void>((resolve) => marks.set(mark, resolve));
      const payload = JSON.stringify({ mark });
      await worker.append({ eventId: mark, name: 'INTERACTION_UPDATE', payload, bots: [], reach: 'all', topics: [person] });
      await heard;
      marks.delete(mark);
    },
    close: () => topics.close(),
  };
}
