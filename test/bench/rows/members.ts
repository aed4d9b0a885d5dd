import { fillServer, seedServer } from '../../harness/seed.ts';
import type { Row } from '../report.ts';
import { type Bench, openSetting, startHelper } from '../setting.ts';
import { victimRow } from '../victim.ts';

const members = 20_000;

/** The latency of message lists while 10 and 64 other accounts read the members of a server of 20,000, compared with the latency without them. */
export async function memberRows(bench: Bench): Promise<Row[]> {
  const setting = await openSetting(bench, { api: 1, gateway: 0, worker: 0 });
  const helpers = await Promise.all([startHelper('load', {}), startHelper('load', {})]);
  try {
    const seeded = await seedServer(setting.platform, { bots: 65, channels: 1 });
    await fillServer(setting.platform, seeded.serverId, members);
    const [own, ...others] = seeded.bots.map(({ token }) => `Bot ${token}`) as [string, ...string[]];
    const api = `${setting.stack.apiUrl()}/api`;
    const victim = { method: 'GET' as const, urls: [`${api}/channels/${seeded.channelIds[0]}/messages`], authorization: own, clients: 4 };
    const urls = [`${api}/servers/${seeded.serverId}/members`];
    const rows: Row[] = [];
    for (const clients of [10, 64]) {
      const attack = { method: 'GET' as const, urls, authorization: others, clients };
      const name = `p99 of message lists during ${clients} readers of ${members.toLocaleString('en')} members`;
      rows.push(await victimRow(bench, setting, helpers, { name, victim, attack, most: 10 }));
    }
    return rows;
  } finally {
    await Promise.all(helpers.map((helper) => helper.close()));
    await setting.close();
  }
}
