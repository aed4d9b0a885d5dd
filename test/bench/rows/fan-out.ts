import { plainMessage } from '../../harness/plain-message.ts';
import { type SeededServer, seedServer } from '../../harness/seed.ts';
import { type Row, shareRow } from '../report.ts';
import { type Bench, openSetting, type Setting, startHelper } from '../setting.ts';

const sessions = 500;
const messagesPerRound = 200;
const now = (): number => performance.timeOrigin + performance.now();

/** Inserts messages with pending events in their outbox, as posts do, and wakes the relay. */
export async function insertPendingMessages({ platform }: Setting, seeded: SeededServer, messages: number): Promise<void> {
  const content = 'x'.repeat(200);
  const documents = Array.from({ length: messages }, (_, n) => ({
    _id: platform.ids.next(),
    channelId: seeded.channelIds[n % seeded.channelIds.length] as string,
    serverId: seeded.serverId,
    authorId: seeded.bots[0]?.id as string,
    content,
    ...plainMessage,
    createdAt: new Date(),
    outbox: [{ id: platform.ids.next(), name: 'MESSAGE_CREATE' as const }],
    outboxAt: new Date(),
  }));
  await platform.db.messages.insertMany(documents);
  for (const channelId of seeded.channelIds) platform.wake('relay-channel', { channelId });
}

/** Deliveries/s to 500 bots or people on each of `nodes` gateway nodes, compared with the same number of bare sockets. */
async function fanOutRow(bench: Bench, kind: 'bots' | 'people', nodes: number): Promise<Row> {
  const setting = await openSetting(bench, { api: 1, gateway: nodes, worker: 1 });
  const counts = kind === 'bots' ? { bots: sessions * nodes } : { bots: 1, people: sessions * nodes };
  const seeded = await seedServer(setting.platform, { ...counts, channels: 8 });
  const [swarm, plain] = await Promise.all([startHelper('swarm', {}), startHelper('swarm', {})]);
  const relays = await Promise.all(Array.from({ length: nodes }, () => startHelper('relay', setting.env)));
  try {
    const urls = Array.from({ length: nodes }, (_, at) => setting.stack.gatewayUrl(at));
    await swarm.ask({ kind: 'connect', urls, tokens: seeded[kind].map(({ token }) => token) });
    for (const relay of relays) await plain.ask({ kind: 'connectPlain', url: `ws://127.0.0.1:${relay.port}`, count: sessions });
    const events = messagesPerRound * sessions * nodes;
    const [ours, limit]: [number[], number[]] = [[], []];
    for (let i = 0; i < bench.rounds + 1; i++) {
      await swarm.ask({ kind: 'expect', events });
      const began = now();
      const arrived = swarm.next<{ at: number }>();
      await insertPendingMessages(setting, seeded, messagesPerRound);
      const perSec = events / (((await arrived).at - began) / 1000);
      await plain.ask({ kind: 'expect', events });
      const bareBegan = now();
      const bareArrived = plain.next<{ at: number }>();
      await Promise.all(relays.map((relay) => relay.ask({ frames: messagesPerRound, bytes: 600 })));
      const bare = events / (((await bareArrived).at - bareBegan) / 1000);
      await swarm.ask({ kind: 'expect', events: Number.MAX_SAFE_INTEGER });
      if (i === 0) continue; // the first round warms up
      ours.push(perSec);
      limit.push(bare);
      bench.log(`  fan-out ${nodes} node(s), ${kind}: ours ${perSec.toFixed(0)}/s, bare ws ${bare.toFixed(0)}/s`);
    }
    return shareRow(`fan-out, ${nodes} gateway node${nodes > 1 ? 's' : ''} × ${sessions} ${kind}`, 'deliveries/s', ours, limit, 0.9);
  } finally {
    await Promise.all([swarm, plain, ...relays].map((helper) => helper.close()));
    await setting.close();
  }
}

/** Deliveries/s to 500 sessions on each of 1 and 2 gateway nodes, for bots and for people, compared with bare ws. */
export async function fanOutRows(bench: Bench): Promise<Row[]> {
  const rows: Row[] = [];
  for (const kind of ['bots', 'people'] as const) for (const nodes of [1, 2]) rows.push(await fanOutRow(bench, kind, nodes));
  return rows;
}
