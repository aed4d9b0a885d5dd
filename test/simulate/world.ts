import { insertMissing } from '../../lib/store/mongo/insert.ts';
import type { Platform } from '../../lib/store/platform.ts';
import { plainMessage } from '../harness/plain-message.ts';
import { channelOf, makePeople, makeServers } from '../harness/seed.ts';
import type { Call } from './calls.ts';

export interface Person {
  id: string;
  token: string;
}

/** A server to make. */
export interface ServerPlan {
  members: readonly Person[];
  channels: number;
  /** The only members who may see its channels; default: all. */
  only?: readonly Person[];
  /** If true, each channel has a page of messages to read. */
  hasMessages?: true;
}

export interface World {
  serverId: string;
  channelIds: string[];
  members: readonly Person[];
}

/** How many messages a page has. */
const messagesEach = 50;
const insertedAtOnce = 500;
const viewAndSend = 0b11;

export { makePeople };

/** Makes servers by direct writes. */
export async function makeWorlds(platform: Platform, plans: readonly ServerPlan[]): Promise<World[]> {
  const { db, ids } = platform;
  const made = await makeServers(
    platform,
    plans.map(({ members }) => members.map(({ id }) => ({ id, bot: false }))),
  );
  const worlds = made.map(({ serverId, channelId }, at): World => {
    const { channels = 1, members = [] } = plans[at] ?? {};
    return { serverId, members, channelIds: [channelId, ...Array.from({ length: channels - 1 }, () => ids.next())] };
  });
  await insertMissing(
    db.channels,
    worlds.flatMap(({ serverId, channelIds }) => channelIds.slice(1).map((id, at) => channelOf(id, serverId, at + 1))),
  );
  for (const [at, { only }] of plans.entries()) {
    const { serverId, channelIds = [] } = worlds[at] ?? {};
    if (!only || serverId === undefined) continue;
    const overwrites = [{ id: serverId, allow: 0, deny: viewAndSend }, ...only.map(({ id }) => ({ id, allow: viewAndSend, deny: 0 }))];
    await db.channels.updateMany({ _id: { $in: channelIds } }, { $set: { overwrites } });
  }
  for (const [at, { serverId, channelIds, members }] of worlds.entries()) {
    if (!plans[at]?.hasMessages) continue;
    const messages = channelIds.flatMap((channelId) =>
      Array.from({ length: messagesEach }, (_, n) => ({
        _id: ids.next(),
        channelId,
        serverId,
        authorId: members[n % members.length]?.id ?? serverId,
        content,
        ...plainMessage,
        createdAt: new Date(),
      })),
    );
    for (let from = 0; from < messages.length; from += insertedAtOnce)
      await db.messages.insertMany(messages.slice(from, from + insertedAtOnce));
  }
  return worlds;
}

const content = 'a message of a usual length, as people write them to each other all day long';

/** The calls of people who do something in the channels of a server, each in each channel. */
export function callsIn(
  apiUrl: string,
  what: 'post' | 'typing' | 'read' | 'mark',
  worlds: readonly World[],
  people?: readonly Person[],
): Call[] {
  return worlds.flatMap(({ channelIds, members }) =>
    (people ?? members).flatMap(({ token }) =>
      channelIds.map((id): Call => {
        const authorization = `Bearer ${token}`;
        const url = `${apiUrl}/api/channels/${id}`;
        if (what === 'post')
          return { method: 'POST', url: `${url}/messages`, authorization, body: JSON.stringify({ content: `${content} $n` }) };
        if (what === 'typing') return { method: 'POST', url: `${url}/typing`, authorization };
        if (what === 'read') return { method: 'GET', url: `${url}/messages?limit=${messagesEach}`, authorization };
        return { method: 'PUT', url: `${url}/read`, authorization, body: '{"messageId":"$id"}' };
      }),
    ),
  );
}

/** The same server with its first channel only. */
export const firstChannel = (world: World): World => ({ ...world, channelIds: world.channelIds.slice(0, 1) });

/** The calls with which people change their own status. */
export const presenceCalls = (apiUrl: string, people: readonly Person[]): Call[] =>
  people.map(({ token }) => ({
    method: 'PATCH',
    url: `${apiUrl}/api/users/@me/presence`,
    authorization: `Bearer ${token}`,
    body: '{"customStatus":"busy $n"}',
  }));

/** The calls with which clients load their state. */
export const syncCalls = (apiUrl: string, people: readonly Person[]): Call[] =>
  people.map(({ token }) => ({ method: 'GET', url: `${apiUrl}/api/users/@me/sync`, authorization: `Bearer ${token}` }));
