import type { MemberDoc } from '../../lib/store/mongo/models/server.ts';
import type { ApiPlatform } from '../../lib/store/platform.ts';
import { makePerson } from '../harness/factories.ts';
import { insertMembers, memberOf, type SeededServer, seedServer } from '../harness/seed.ts';
import { seedMessages } from '../harness/seed-messages.ts';

/** The size of the population. */
export interface Sizes {
  servers: number;
  channelsPerServer: number;
  bots: number;
  people: number;
  /** How many servers each reader is in. */
  serversEach: number;
  /** How many messages there are in the channels before the run. */
  messages?: number;
}

/** An account whose session is recorded in the ledger. */
export interface Reader {
  token: string;
  /** The value of an Authorization header. */
  as: string;
  /** The indexes of its channels. */
  channels: number[];
}

/** A channel of the run, and the Authorization header of the account that posts there. */
export interface Channel {
  id: string;
  as: string;
}

/** All readers and channels of a run. */
export interface Population {
  readers: Reader[];
  channels: Channel[];
}

/** Makes servers with text channels, and bots and people who are each in several servers. The owner of a server posts there and is not a reader. */
export async function makePopulation(platform: ApiPlatform, sizes: Sizes): Promise<Population> {
  const { servers, channelsPerServer, bots, people, serversEach, messages = 0 } = sizes;
  const seededServers: SeededServer[] = [];
  for (let i = 0; i < servers; i++) {
    const botCount = Math.floor(((i + 1) * bots) / servers) - Math.floor((i * bots) / servers);
    seededServers.push(await seedServer(platform, { bots: botCount, channels: channelsPerServer }));
  }
  const channels = seededServers.flatMap(({ channelIds, ownerToken }) => channelIds.map((id) => ({ id, as: `Bearer ${ownerToken}` })));
  const readers: Reader[] = [];
  const members: MemberDoc[] = [];
  const add = (id: string, token: string, bot: boolean, home: number): void => {
    const own = Array.from({ length: Math.min(serversEach, servers) }, (_, i) => (home + i) % servers);
    for (const at of own) {
      const serverId = seededServers[at]?.serverId as string;
      // A bot is already a member of the server that it was made with.
      if (!bot || at !== home) members.push(memberOf(serverId, id, bot));
    }
    const channelsIn = (at: number): number[] => Array.from({ length: channelsPerServer }, (_, i) => at * channelsPerServer + i);
    readers.push({ token, as: `${bot ? 'Bot' : 'Bearer'} ${token}`, channels: own.flatMap(channelsIn) });
  };
  for (const [home, seeded] of seededServers.entries()) for (const { id, token } of seeded.bots) add(id, token, true, home);
  for (let i = 0; i < people; i++) {
    const { id, token } = await makePerson({ platform }, `person${i}`);
    add(id, token, false, i % servers);
  }
  await insertMembers(platform, members);
  const places = seededServers.flatMap(({ serverId, channelIds }) => channelIds.map((channelId) => ({ serverId, channelId })));
  await seedMessages(platform, places, seededServers[0]?.ownerId as string, messages);
  return { readers, channels };
}
