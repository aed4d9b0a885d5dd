import { setTimeout as sleep } from 'node:timers/promises';
import type { Stores } from '../../../apps/local/stores.ts';
import { connectBot } from '../../harness/bot-client.ts';
import { fillServer, giveTokens, seedServer } from '../../harness/seed.ts';
import { seedMessages } from '../../harness/seed-messages.ts';
import { isVacuuming } from '../cpu.ts';
import { type Bench, openSetting, type Setting } from '../setting.ts';

/** How many messages, channels and members of one server an installation has. */
export interface Size {
  messages: number;
  channels: number;
  members: number;
}

/** The product on a database of some size. What is measured exists in every size. */
export interface Installation {
  setting: Setting;
  stores: Stores;
  /** The server with the members and up to 500 of the channels. */
  serverId: string;
  bot: { id: string; token: string };
  /** The channel with half of all messages, and ids from the middle of these. */
  mainChannelId: string;
  middleIds: readonly string[];
  /** Channels of the same server; as many in every size. */
  otherChannelIds: readonly string[];
  /** Tokens of some of the members. */
  memberTokens: readonly string[];
  /** Resolves with the time of `performance.now()` at which the bot receives the message with this content. */
  waitForMessage(content: string): Promise<number>;
  close(): Promise<void>;
}

const channelsPerServer = 500;
/** The members that a search for their name finds, and that connect. */
export const foundMembers = { name: 'alex', count: 100 };
const otherChannels = 99;
const middleIdCount = 50;
/** How long to wait for statistics, in milliseconds. */
const statisticsMs = 180_000;

/** Makes the servers with their channels and members. The first server has the members and a bot. */
async function seedServers({ platform }: Setting, size: Size) {
  const channelCounts = Array.from({ length: Math.ceil(size.channels / channelsPerServer) }, (_, at) =>
    Math.min(channelsPerServer, size.channels - at * channelsPerServer),
  );
  const [first = 0, ...others] = channelCounts;
  const seeded = await seedServer(platform, { bots: 1, channels: first });
  const channels = seeded.channelIds.map((channelId) => ({ channelId, serverId: seeded.serverId }));
  for (const count of others) {
    const { serverId, channelIds } = await seedServer(platform, { bots: 0, channels: count });
    for (const channelId of channelIds) channels.push({ channelId, serverId });
  }
  const found = await fillServer(platform, seeded.serverId, foundMembers.count, foundMembers.name);
  await fillServer(platform, seeded.serverId, size.members - foundMembers.count);
  return { seeded, channels, memberTokens: await giveTokens(platform, found) };
}

/**
 * Waits until the database has collected statistics after an import, and does not collect any more. Without statistics it plans queries as if its collections
 * were small (docs/store.md#limits-of-the-local-store). The estimated count is one of them.
 */
async function waitForStatistics({ stores }: Bench, { platform: { db } }: Setting, { messages, channels, members }: Size): Promise<void> {
  const isReady = async (): Promise<boolean> =>
    (await db.messages.estimatedDocumentCount()) > 0.9 * messages &&
    (await db.channels.estimatedDocumentCount()) > 0.9 * channels &&
    (await db.members.estimatedDocumentCount()) > 0.9 * members &&
    !(await isVacuuming(stores));
  for (const endsAt = performance.now() + statisticsMs; !(await isReady()); await sleep(500))
    if (performance.now() > endsAt) throw new Error('the database has no statistics three minutes after the import');
}

/** Fills a database to a size, and connects the bot. */
async function prepare(bench: Bench, setting: Setting, size: Size): Promise<Omit<Installation, 'setting' | 'stores'>> {
  const began = performance.now();
  const { seeded, channels, memberTokens } = await seedServers(setting, size);
  const membersMs = performance.now() - began;
  const bot = seeded.bots[0] as { id: string; token: string };
  const mainIds = await seedMessages(setting.platform, channels, bot.id, size.messages);
  bench.log(
    `  seeded ${size.members} members and ${size.channels} channels in ${(membersMs / 1000).toFixed(0)} s, ` +
      `${size.messages} messages in ${((performance.now() - began - membersMs) / 1000).toFixed(0)} s`,
  );
  await waitForStatistics(bench, setting, size);
  const waiting = new Map<string, (at: number) => void>();
  const client = connectBot({
    urlOf: () => setting.stack.gatewayUrl(),
    token: bot.token,
    onEvent: ({ d }) => waiting.get(String(d.content))?.(performance.now()),
  });
  await client.ready;
  const [mainChannelId = '', ...others] = seeded.channelIds;
  const middle = Math.floor(mainIds.length / 2);
  return {
    serverId: seeded.serverId,
    bot,
    mainChannelId,
    middleIds: mainIds.slice(middle, middle + middleIdCount),
    otherChannelIds: others.slice(0, otherChannels),
    memberTokens,
    waitForMessage: (content) =>
      new Promise((resolve) => {
        waiting.set(content, (at) => {
          waiting.delete(content);
          resolve(at);
        });
      }),
    close: async () => {
      await client.close();
      await setting.close();
    },
  };
}

/** Starts the product on a database of this size. */
export async function openInstallation(bench: Bench, size: Size): Promise<Installation> {
  const setting = await openSetting(bench, { api: 1, gateway: 1, worker: 1 }, { STORE_TIMEOUT_FACTOR: '10' });
  try {
    return { setting, stores: bench.stores, ...(await prepare(bench, setting, size)) };
  } catch (error) {
    await setting.close();
    throw error;
  }
}
