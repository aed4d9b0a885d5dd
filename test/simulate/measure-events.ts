import { setTimeout as sleep } from 'node:timers/promises';
import { createLog } from '../../lib/base/log.ts';
import { openWorkerPlatform } from '../../lib/store/platform.ts';
import { serverPlace } from '../../lib/store/redis/log/keys.ts';
import { addCpu, type Cpu, mapParts, noCpu } from './costs.ts';
import { type Course, setCost } from './course.ts';
import type { World } from './world.ts';

/** The sessions that receive an event: the difference of two numbers is what is measured. */
export const [few, many] = [60, 240];
/** Events in a second: few, so that each is written to its socket alone, as usual; and those that are sent to nobody, which cost less. */
const sentRates = [5, 25] as const;
const unsentRates = [20, 220] as const;
/** How many messages are published to how many subscribers. */
const [published, subscribers] = [500, 40];

/** The costs of an event at a gateway node, by events that are appended to the log directly. The sessions of the audience are open. */
export async function measureEvents(course: Course): Promise<void> {
  const { bench, lab, costs, worlds } = course;
  const worker = await openWorkerPlatform(lab.setting.config, createLog('simulate', 'silent'));
  const content = 'x'.repeat(Math.round(costs.bytes.storedMessage));
  const appendTo = async ({ serverId, channelIds: [channelId = ''] }: World): Promise<unknown> => {
    const id = worker.ids.next();
    return worker.eventLog.append(serverPlace(serverId), [
      { id, name: 'MESSAGE_CREATE', payload: JSON.stringify({ id, channelId, serverId, content }), channelId },
    ]);
  };
  const at = async (world: World, perSec: number): Promise<{ cpu: Cpu; count: number; seconds: number }> => {
    const count = Math.round(perSec * bench.seconds);
    const { cpu, seconds } = await lab.sample(async () => {
      const beganMs = performance.now();
      for (let n = 0; n < count; n++) {
        const waitMs = beganMs + (n * 1000) / perSec - performance.now();
        if (waitMs > 0) await sleep(waitMs);
        await appendTo(world);
      }
      const leftMs = beganMs + bench.seconds * 1000 - performance.now();
      if (leftMs > 0) await sleep(leftMs);
    });
    return { cpu, count, seconds };
  };
  /** The CPU time of one event of a server, from the difference of two rates. */
  const costIn = async (world: World, [low, high]: readonly [number, number]): Promise<Cpu> => {
    let [more, count]: [Cpu, number] = [noCpu(), 0];
    for (let round = 0; round < bench.rounds; round++) {
      const [less, much] = [await at(world, low), await at(world, high)];
      const scale = much.seconds / less.seconds;
      more = addCpu(more, addCpu(much.cpu, less.cpu, -scale));
      count += much.count - less.count * scale;
    }
    return mapParts((part) => more[part] / count);
  };
  try {
    const unsent = await costIn(worlds.hidden, unsentRates);
    const [toFew, toMany] = [await costIn(worlds.small, sentRates), await costIn(worlds.large, sentRates)];
    const perSession = mapParts((part) => (toMany[part] - toFew[part]) / (many - few));
    const redis = await costOfSubscriber(course);
    setCost(course, 'unsentEntry', { ...unsent, redis });
    setCost(course, 'delivery', perSession);
    setCost(course, 'entry', { ...addCpu(toFew, perSession, -few), redis });
  } finally {
    await worker.close();
  }
}

/** The CPU time of Redis for each node that an event is published to: messages to many subscribers, compared with messages to none. */
async function costOfSubscriber({ lab, costs }: Course): Promise<number> {
  const channel = `${lab.setting.config.REDIS_PREFIX}:simulate`;
  const payload = 'x'.repeat(Math.round(costs.memory.redisEntry));
  const publishAll = async (): Promise<number> => {
    const { cpu } = await lab.sample(async () => {
      for (let n = 0; n < published; n++) await lab.redis.publish(channel, payload);
    });
    return cpu.redis;
  };
  const toNobody = await publishAll();
  const clients = await Promise.all(
    Array.from({ length: subscribers }, async () => {
      const client = lab.redis.duplicate();
      await client.subscribe(channel);
      return client;
    }),
  );
  const toAll = await publishAll();
  for (const client of clients) client.disconnect();
  return (toAll - toNobody) / (published * subscribers);
}
