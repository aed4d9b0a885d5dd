import type { Overwrite } from '../../../lib/base/permissions.ts';
import { permissionBits } from '../../../lib/base/permissions.ts';
import type { RoleDoc } from '../../../lib/store/mongo/models/server.ts';
import { fillServer, type SeededServer, seedServer } from '../../harness/seed.ts';
import { readRow } from '../reads.ts';
import type { Row } from '../report.ts';
import { type Bench, openSetting, type Setting, startHelper } from '../setting.ts';

const channels = 200;
const roles = 100;
const members = 10_000;

/** Adds 100 roles to the server, gives its bot ten of them, and gives each channel overwrites for some. */
async function addRolesAndOverwrites({ platform: { db, ids } }: Setting, seeded: SeededServer): Promise<void> {
  const more = Array.from(
    { length: roles },
    (_, at): RoleDoc => ({ id: ids.next(), name: `role ${at}`, color: null, hoist: false, permissions: 1 << (at % 12), botId: null }),
  );
  await db.servers.updateOne({ _id: seeded.serverId }, { $push: { roles: { $each: more } } });
  const roleIds = more.map((role) => role.id);
  const bot = seeded.bots[0]?.id as string;
  await db.members.updateOne({ _id: `${seeded.serverId}:${bot}` }, { $set: { roles: roleIds.slice(0, 10) } });
  const overwrites = (at: number): Overwrite[] =>
    [0, 7, 13].map((step) => ({ id: roleIds[(at + step) % roles] as string, allow: permissionBits['Send Messages'], deny: 0 }));
  for (const [at, _id] of seeded.channelIds.entries()) await db.channels.updateOne({ _id }, { $set: { overwrites: overwrites(at) } });
}

/**
 * The full Server with 200 channels and 100 roles, and a page of 1,000 of 10,000 members, compared with bare finds of their documents and encoding these as
 * JSON.
 */
export async function serverRows(bench: Bench): Promise<Row[]> {
  const setting = await openSetting(bench, { api: 1, gateway: 0, worker: 0 });
  const load = await startHelper('load', {});
  const { db } = setting.platform;
  try {
    const seeded = await seedServer(setting.platform, { bots: 1, channels });
    await addRolesAndOverwrites(setting, seeded);
    const { serverId } = seeded;
    const base = `${setting.stack.apiUrl()}/api/servers/${serverId}`;
    const authorization = `Bot ${seeded.bots[0]?.token}`;
    const memberId = `${serverId}:${seeded.bots[0]?.id}`;
    const fullServer = async (): Promise<string> =>
      JSON.stringify(
        await Promise.all([
          db.servers.findOne({ _id: serverId }),
          db.members.findOne({ _id: memberId }),
          db.channels.find({ serverId }).sort({ position: 1 }).toArray(),
        ]),
      );
    const rows: Row[] = [];
    for (const clients of [1, 8]) {
      const name = `full Server, ${channels} channels, ${roles} roles`;
      rows.push(await readRow(bench, load, { name, urls: [base], authorization, bare: fullServer, clients, least: 0.6 }));
    }
    await fillServer(setting.platform, serverId, members);
    const everyone = async (): Promise<string> => {
      const found = await db.members.find({ serverId }).sort({ serverId: 1, userId: 1 }).limit(1_000).toArray();
      const accounts = await db.accounts.find({ _id: { $in: found.map((one) => one.userId) } }).toArray();
      return JSON.stringify([found, accounts]);
    };
    const name = '1,000 of 10,000 members';
    rows.push(await readRow(bench, load, { name, urls: [`${base}/members`], authorization, bare: everyone, clients: 1, least: 0.5 }));
    return rows;
  } finally {
    await load.close();
    await setting.close();
  }
}
