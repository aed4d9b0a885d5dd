import { plainMessage } from '../../harness/plain-message.ts';
import { makeWorld, type World } from '../../harness/world.ts';
import { type Row, shareRow } from '../report.ts';
import { type Bench, openSetting, openSide, type Setting } from '../setting.ts';

const bots = 500;
const messages = 200;
const now = (): number => performance.timeOrigin + performance.now();

/** Writes messages that owe their events, as posts do, and wakes the drains. */
async function oweMessages(setting: Setting, world: World): Promise<void> {
  const { platform } = setting;
  const content = 'x'.repeat(200);
  const documents = Array.from({ length: messages }, (_, n) => ({
    _id: platform.ids.next(),
    channelId: world.channelIds[n % world.channelIds.length] as string,
    serverId: world.serverId,
    authorId: world.bots[0]?.id as string,
    content,
    ...plainMessage,
    createdAt: new Date(),
    ob: [{ id: platform.ids.next(), name: 'MESSAGE_CREATE' as const }],
    obAt: new Date(),
  }));
  await platform.db.messages.insertMany(documents);
  for (const channelId of world.channelIds) platform.nudge('drain-channel', { channelId });
}

/** Deliveries/s to 500 bots on each of 1 and 2 gateway nodes, beside bare ws. */
export async function fanOutRows(bench: Bench): Promise<Row[]> {
  const rows: Row[] = [];
  for (const nodes of [1, 2]) {
    const setting = await openSetting(bench, { api: 1, gateway: nodes, worker: 1 });
    const world = await makeWorld(setting.platform, { bots: bots * nodes, channels: 8 });
    const [swarm, plain, relay] = await Promise.all([openSide('swarm', {}), openSide('swarm', {}), openSide('relay', setting.env)]);
    try {
      const urls = Array.from({ length: nodes }, (_, at) => setting.stack.gatewayUrl(at));
      await swarm.ask({ kind: 'connect', urls, tokens: world.bots.map((bot) => bot.token) });
      await plain.ask({ kind: 'connectPlain', url: `ws://127.0.0.1:${relay.port}`, count: bots });
      const [ours, limit]: [number[], number[]] = [[], []];
      for (let i = 0; i < bench.rounds + 1; i++) {
        const events = messages * bots * nodes;
        await swarm.ask({ kind: 'expect', events });
        const began = now();
        const arrived = swarm.next<{ at: number }>();
        await oweMessages(setting, world);
        const perSec = events / (((await arrived).at - began) / 1000);
        const bareEvents = messages * bots;
        await plain.ask({ kind: 'expect', events: bareEvents });
        const bareBegan = now();
        const bareArrived = plain.next<{ at: number }>();
        await relay.ask({ frames: messages, bytes: 600 });
        const bare = bareEvents / (((await bareArrived).at - bareBegan) / 1000);
        await swarm.ask({ kind: 'expect', events: Number.MAX_SAFE_INTEGER });
        if (i === 0) continue; // the first round warms up
        ours.push(perSec);
        limit.push(bare);
        bench.say(`  fan-out ${nodes} node(s): ours ${perSec.toFixed(0)}/s, bare ws ${bare.toFixed(0)}/s`);
      }
      rows.push(shareRow(`fan-out, ${nodes} gateway node${nodes > 1 ? 's' : ''} × ${bots} bots`, 'deliveries/s', ours, limit, 0.9));
    } finally {
      await Promise.all([swarm.close(), plain.close(), relay.close()]);
      await setting.close();
    }
  }
  return rows;
}
