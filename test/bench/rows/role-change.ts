import { permissionBits } from '../../../lib/base/permissions.ts';
import { insertMembers, makePeople, memberOf, type SeededServer, seedServer } from '../../harness/seed.ts';
import { aboveRow, figure, type Row } from '../report.ts';
import { type Bench, openSetting, type Setting, startHelper } from '../setting.ts';

const bots = 250;
const people = 250;
const changes = 10;
const now = (): number => performance.timeOrigin + performance.now();

/** Adds 250 people to the server by direct writes. Returns their session tokens. */
async function addPeople({ platform }: Setting, { serverId }: SeededServer): Promise<string[]> {
  const made = await makePeople(platform, people);
  await insertMembers(
    platform,
    made.map(({ id }) => memberOf(serverId, id, false)),
  );
  return made.map(({ token }) => token);
}

/** Gives every member of the server except its owner one role, and lets `@everyone` view only the second channel. Returns the role's id. */
async function hideFirstChannel({ platform: { db, ids } }: Setting, { serverId, ownerId, channelIds }: SeededServer): Promise<string> {
  const id = ids.next();
  const role = { color: null, hoist: false, permissions: 0, botId: null };
  const roles = [
    { ...role, id: serverId, name: '@everyone' },
    { ...role, id, name: 'viewers' },
  ];
  await db.servers.updateOne({ _id: serverId }, { $set: { roles } });
  await db.members.updateMany({ serverId, userId: { $ne: ownerId } }, { $set: { roles: [id] } });
  const open = { id: serverId, allow: permissionBits['View Channel'], deny: 0 };
  await db.channels.updateOne({ _id: channelIds[1] as never }, { $set: { overwrites: [open] } });
  return id;
}

/** Waits until no message of a channel has pending events. */
async function waitForRelay({ platform: { db } }: Setting, channelId: string): Promise<void> {
  while (await db.messages.findOne({ channelId, outboxAt: { $exists: true } })) await new Promise((resolve) => setTimeout(resolve, 20));
}

/**
 * A role that gains and loses View Channel, held by 500 sessions on one gateway node, half of them bots. Measures the time from the PATCH response until the
 * last session receives a message posted then, the same time for a message without such a change, and how many sessions still receive a message that was
 * posted after they lost the permission. The limit is publishing one event to 500 bare sockets.
 */
export async function roleChangeRows(bench: Bench): Promise<Row[]> {
  const setting = await openSetting(bench, { api: 1, gateway: 1, worker: 1 });
  const [receivers, plain, relay] = await Promise.all([
    startHelper('receivers', {}),
    startHelper('swarm', {}),
    startHelper('relay', setting.env),
  ]);
  try {
    const seeded = await seedServer(setting.platform, { bots, channels: 2 });
    const tokens = [...seeded.bots.map((bot) => bot.token), ...(await addPeople(setting, seeded))];
    const roleId = await hideFirstChannel(setting, seeded);
    const [hidden, open] = seeded.channelIds as [string, string];
    await receivers.ask({ kind: 'connect', url: setting.stack.gatewayUrl(), tokens });
    await plain.ask({ kind: 'connectPlain', url: `ws://127.0.0.1:${relay.port}`, count: tokens.length });
    const send = async (method: string, path: string, body: unknown): Promise<void> => {
      const headers = { Authorization: `Bearer ${seeded.ownerToken}`, 'Content-Type': 'application/json' };
      const answer = await fetch(`${setting.stack.apiUrl()}${path}`, { method, headers, body: JSON.stringify(body) });
      if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
      await answer.arrayBuffer();
    };
    const show = (permissions: number): Promise<void> => send('PATCH', `/api/servers/${seeded.serverId}/roles/${roleId}`, { permissions });
    let lastMark = 0;
    const post = async (channelId: string): Promise<string> => {
      const mark = `#mark ${++lastMark}#`;
      await send('POST', `/api/channels/${channelId}/messages`, { content: mark });
      return mark;
    };
    const waitForAll = async (mark: string): Promise<number> =>
      (await receivers.ask<{ at: number }>({ kind: 'expect', mark, sessions: tokens.length })).at;
    const bareRound = async (): Promise<number> => {
      await plain.ask({ kind: 'expect', events: tokens.length });
      const began = now();
      const arrived = plain.next<{ at: number }>();
      await relay.ask({ frames: 1, bytes: 600 });
      return (await arrived).at - began;
    };
    const [gained, unchanged, bare, leaked]: [number[], number[], number[], number[]] = [[], [], [], []];
    for (let i = 0; i < bench.rounds * changes + 1; i++) {
      await show(permissionBits['View Channel']);
      const shownAt = now();
      const shown = (await waitForAll(await post(hidden))) - shownAt;
      const postedAt = now();
      const same = (await waitForAll(await post(hidden))) - postedAt;
      await show(0);
      const lateMark = await post(hidden);
      await waitForRelay(setting, hidden);
      await waitForAll(await post(open)); // a session receives in order, so everything sent earlier has arrived
      const { sessions } = await receivers.ask<{ sessions: number }>({ kind: 'received', mark: lateMark });
      const one = await bareRound();
      if (i === 0) continue; // the first round warms up
      gained.push(shown);
      unchanged.push(same);
      leaked.push(sessions);
      bare.push(one);
    }
    bench.log(`  a message to ${tokens.length} sessions without a change: ${figure(unchanged).median.toFixed(1)} ms`);
    const name = `a role change reaches ${tokens.length} sessions`;
    const leakedSessions = figure(leaked);
    return [
      aboveRow(`${name}: until the last receives the channel`, 'ms', gained, bare, 250),
      aboveRow(`${name}: a message without a change`, 'ms', unchanged, bare, 250),
      {
        name: `${name}: sessions that still receive the channel`,
        unit: 'sessions',
        ours: leakedSessions,
        limit: null,
        result: '',
        aim: '0',
        met: leakedSessions.spread[1] === 0,
      },
    ];
  } finally {
    await Promise.all([receivers.close(), plain.close(), relay.close()]);
    await setting.close();
  }
}
