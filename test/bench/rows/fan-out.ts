import { createLog } from '../../../lib/base/log.ts';
import { openGatewayPlatform, openWorkerPlatform } from '../../../lib/store/platform.ts';
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

/** The append script alone: the same events into as many sessions, with no gateway to hear them. */
async function openAppendAlone(setting: Setting): Promise<{ run(): Promise<number>; close(): Promise<void> }> {
  const config = { ...setting.config, REDIS_PREFIX: `${setting.config.REDIS_PREFIX}alone` };
  const [worker, gateway] = await Promise.all([
    openWorkerPlatform(config, createLog('bench', 'silent')),
    openGatewayPlatform(config, createLog('bench', 'silent')),
  ]);
  const accounts = Array.from({ length: bots }, () => worker.ids.next());
  await gateway.sessions.renewLease('alone');
  for (const accountId of accounts)
    await gateway.sessions.open({ id: `s${accountId}`, accountId, events: ['MESSAGE_CREATE'], kind: 'bot', node: 'alone', owner: 'alone' });
  const payload = JSON.stringify({ content: 'x'.repeat(560) });
  return {
    async run() {
      const began = now();
      for (let n = 0; n < messages; n += 4)
        await Promise.all(
          Array.from({ length: 4 }, () =>
            worker.append({ eventId: worker.ids.next(), name: 'MESSAGE_CREATE', payload, bots: accounts, reach: 'all', topics: [] }),
          ),
        );
      return (messages * bots) / ((now() - began) / 1000);
    },
    close: async () => {
      await worker.close();
      await gateway.close();
    },
  };
}

/** Deliveries/s to 500 bots on each of 1 and 2 gateway nodes, beside the lower of bare ws and the append script alone. */
export async function fanOutRows(bench: Bench): Promise<Row[]> {
  const rows: Row[] = [];
  for (const nodes of [1, 2]) {
    const setting = await openSetting(bench, { api: 1, gateway: nodes, worker: 1 });
    const world = await makeWorld(setting.platform, { bots: bots * nodes, channels: 8 });
    const alone = await openAppendAlone(setting);
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
        const append = await alone.run();
        await swarm.ask({ kind: 'expect', events: Number.MAX_SAFE_INTEGER });
        if (i === 0) continue; // the first round warms up
        ours.push(perSec);
        limit.push(Math.min(bare, append));
        bench.say(
          `  fan-out ${nodes} node(s): ours ${perSec.toFixed(0)}/s, bare ws ${bare.toFixed(0)}/s, append alone ${append.toFixed(0)}/s`,
        );
      }
      rows.push(shareRow(`fan-out, ${nodes} gateway node${nodes > 1 ? 's' : ''} × ${bots} bots`, 'deliveries/s', ours, limit, 0.8));
    } finally {
      await Promise.all([swarm.close(), plain.close(), relay.close(), alone.close()]);
      await setting.close();
    }
  }
  return rows;
}
