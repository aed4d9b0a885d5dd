import { plainMessage } from '../../harness/plain-message.ts';
import { seedServer } from '../../harness/seed.ts';
import type { Row } from '../report.ts';
import { type Bench, openSetting, startHelper } from '../setting.ts';
import { victimRow } from '../victim.ts';

const channels = 500;

/**
 * The latency of message lists while a person with 500 channels, each with an unread message, reads their read marks over 8 connections, compared with the
 * latency without it.
 */
export async function readMarkRows(bench: Bench): Promise<Row[]> {
  const setting = await openSetting(bench, { api: 1, gateway: 0, worker: 0 });
  const helpers = await Promise.all([startHelper('load', {}), startHelper('load', {})]);
  try {
    const { platform } = setting;
    const seeded = await seedServer(platform, { bots: 1, channels });
    const messages = seeded.channelIds.map((channelId) => ({
      _id: platform.ids.next(),
      channelId,
      serverId: seeded.serverId,
      authorId: seeded.bots[0]?.id as string,
      content: 'unread',
      ...plainMessage,
      createdAt: new Date(),
    }));
    await platform.db.messages.insertMany(messages);
    const api = `${setting.stack.apiUrl()}/api`;
    const own = `Bot ${seeded.bots[0]?.token}`;
    const victim = { method: 'GET' as const, urls: [`${api}/channels/${seeded.channelIds[0]}/messages`], authorization: own, clients: 4 };
    const attack = { method: 'GET' as const, urls: [`${api}/users/@me/reads`], authorization: `Bearer ${seeded.ownerToken}`, clients: 8 };
    return [
      await victimRow(bench, setting, helpers, {
        name: `p99 of message lists during 8 readers of ${channels} read marks`,
        victim,
        attack,
        most: 10,
      }),
    ];
  } finally {
    await Promise.all(helpers.map((helper) => helper.close()));
    await setting.close();
  }
}
