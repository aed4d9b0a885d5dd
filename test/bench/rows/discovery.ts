import { seedServer } from '../../harness/seed.ts';
import { readRow } from '../reads.ts';
import type { Row } from '../report.ts';
import { type Bench, openSetting, type Setting, startHelper } from '../setting.ts';

const servers = 1_000;
const categories = ['gaming', 'music', 'education', 'science_tech', 'other'];
const subjects = ['dragons', 'gardens', 'synthesizers', 'chess', 'astronomy', 'baking', 'trains', 'sketching', 'running', 'poetry'];

/** Inserts 1,000 listed Community servers in their stored form. */
async function insertServers({ platform: { db, ids } }: Setting, ownerId: string): Promise<void> {
  const documents = Array.from({ length: servers }, (_, at) => {
    const _id = ids.next();
    const subject = subjects[at % subjects.length] as string;
    const name = `All about ${subject} ${at}`;
    const description = `A place for people who love ${subject}, with events each week and channels for beginners. Number ${at}.`;
    const tags = [subject, `tag${at % 50}`, 'friendly'];
    return {
      _id,
      name,
      iconUrl: null,
      ownerId,
      roles: [{ id: _id, name: '@everyone', color: null, hoist: false, permissions: 15, botId: null }],
      rolesVersion: 0,
      invitesPaused: false,
      types: [],
      community: true,
      listed: true,
      discovery: { category: categories[at % categories.length], description, tags },
      search: { name: name.toLowerCase(), description: description.toLowerCase(), tags: tags.join('\n') },
      nextPosition: 1,
      memberCount: (at * 37) % 5_000,
      createdAt: new Date(),
    };
  });
  await db.servers.insertMany(documents as never);
}

/** Discovery's list and its search at 1,000 listed servers, compared with the bare query with the same filter, sort and limit. */
export async function discoveryRows(bench: Bench): Promise<Row[]> {
  const setting = await openSetting(bench, { api: 1, gateway: 0, worker: 0 });
  const load = await startHelper('load', {});
  try {
    const seeded = await seedServer(setting.platform, { bots: 1, channels: 1 });
    await insertServers(setting, seeded.ownerId);
    const base = `${setting.stack.apiUrl()}/api/discovery/servers`;
    const authorization = `Bot ${seeded.bots[0]?.token}`;
    const collection = setting.platform.db.servers;
    const listed = { listed: true, community: true, types: { $nin: ['staff' as const, 'developer' as const] } };
    const find = (filter: object): Promise<unknown> =>
      collection
        .find({ ...listed, ...filter }, { projection: { roles: 0, search: 0 } })
        .sort({ memberCount: -1, _id: 1 })
        .limit(25)
        .toArray();
    let turn = 0;
    const search = (): Promise<unknown> => {
      const $regex = subjects[turn++ % subjects.length];
      return find({ $or: ['name', 'description', 'tags'].map((field) => ({ [`search.${field}`]: { $regex } })) });
    };
    const rows: Row[] = [];
    for (const clients of [1, 8]) {
      const common = { authorization, clients, least: 0.5 };
      rows.push(
        await readRow(bench, load, { ...common, name: `Discovery list of ${servers} servers`, urls: [base], bare: () => find({}) }),
      );
      const urls = subjects.map((subject) => `${base}?q=${subject}`);
      rows.push(await readRow(bench, load, { ...common, name: `Discovery search in ${servers} servers`, urls, bare: search }));
    }
    return rows;
  } finally {
    await load.close();
    await setting.close();
  }
}
