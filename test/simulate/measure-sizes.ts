import { setTimeout as sleep } from 'node:timers/promises';
import type { Course } from './course.ts';
import { type Group, makeGroups, serversEach } from './groups.ts';
import { callsIn } from './world.ts';

/** How many keys of one kind are looked at. */
const sampleKeys = 20;
const perSec = 10;

/** Measures bytes: of frames to sessions, of messages in the database, and of entries and marks in Redis. The sessions of the audience are open. */
export async function measureSizes({ bench, lab, people, worlds, costs }: Course): Promise<void> {
  const calls = callsIn(lab.setting.stack.apiUrl(), 'post', [worlds.large], people.posters);
  const { frames, bytes } = await lab.act([{ kind: 'calls', name: 'post', perSec, calls, order: 'turn' }], bench.seconds);
  costs.bytes.frame = bytes / Math.max(1, frames);
  const { messages } = lab.setting.platform.db;
  const found = await messages
    .aggregate<{ bytes: number }>([
      { $match: { channelId: { $in: worlds.large.channelIds } } },
      { $group: { _id: null, bytes: { $avg: { $bsonSize: '$$ROOT' } } } },
    ])
    .toArray();
  costs.bytes.storedMessage = found[0]?.bytes ?? 0;
  const prefix = `{${lab.setting.config.REDIS_PREFIX}*`;
  const { redis } = lab;
  const keysLike = async (pattern: string): Promise<string[]> => {
    const keys: string[] = [];
    let cursor = '0';
    do {
      const [next, some] = await redis.scan(cursor, 'MATCH', pattern, 'COUNT', 1_000);
      keys.push(...some);
      cursor = next;
    } while (cursor !== '0' && keys.length < sampleKeys);
    return keys.slice(0, sampleKeys);
  };
  const usage = async (key: string): Promise<number> => (await redis.memory('USAGE', key)) ?? 0;
  const averageUsage = async (pattern: string): Promise<number> => {
    const keys = await keysLike(prefix + pattern);
    const sizes = await Promise.all(keys.map(usage));
    return sizes.reduce((sum, size) => sum + size, 0) / Math.max(1, keys.length);
  };
  costs.memory.redisMark = await averageUsage('mark:server:*');
  costs.memory.redisSession = (await averageUsage('ses:*')) + (await averageUsage('bot:*'));
  const [log] = (await keysLike(`${prefix}${worlds.large.serverId}`)).filter((key) => key.includes('log:'));
  if (log) costs.memory.redisEntry = (await usage(log)) / Math.max(1, await redis.xlen(log));
}

/** The sessions of a group: so many that they take more memory than a garbage collection finds by chance. */
const groupSessions = 480;
/** How many sessions begin in a second, and how long a node rests before its memory is measured, in milliseconds. */
const connectsPerSec = 50;
const restMs = 3_000;

async function connectGroup({ lab }: Course, { name, people }: Group): Promise<void> {
  const [url = ''] = lab.gatewayUrls();
  await lab.ask({ kind: 'connect', group: name, urls: [url], tokens: people.map(({ token }) => token), perSec: connectsPerSec });
}

/**
 * Connects the groups whose memory will be measured once, because code that is compiled for them takes as much memory as they do. The node keeps their servers for
 * 60 s.
 */
export async function prepareMemory(course: Course): Promise<Group[]> {
  const { groups } = await makeGroups(course, groupSessions);
  for (const group of groups) {
    await connectGroup(course, group);
    await course.lab.ask({ kind: 'end', group: group.name });
  }
  return groups;
}

/**
 * Measures the memory of sessions and servers on a gateway node, by groups that differ in the number of servers and in who shares them. No session is open, and
 * `prepareMemory` ended more than 60 s ago.
 */
export async function measureMemory(course: Course, groups: readonly Group[]): Promise<void> {
  const { lab, costs } = course;
  const heap: Record<Group['name'], number> = { one: 0, ten: 0, own: 0 };
  await lab.gatewayHeap(); // a garbage collection also drops code that was not used since the last one
  let before = await lab.gatewayHeap();
  for (const group of groups) {
    await connectGroup(course, group);
    await sleep(restMs);
    const after = await lab.gatewayHeap();
    heap[group.name] = (after - before) / groupSessions;
    before = after;
  }
  const each = Math.max(0, (heap.ten - heap.one) / (serversEach - 1));
  costs.memory.sessionPlace = each;
  costs.memory.session = heap.one - each;
  costs.memory.place = Math.max(0, (heap.own - heap.ten) / serversEach);
}
