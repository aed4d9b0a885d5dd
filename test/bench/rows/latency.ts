import { Redis } from 'ioredis';
import { WebSocket } from 'ws';
import { type BotClient, connectBot } from '../../harness/bot-client.ts';
import { seedServer } from '../../harness/seed.ts';
import { aboveRow, percentile, type Row } from '../report.ts';
import { type Bench, openSetting, type Setting, startHelper } from '../setting.ts';

const postsPerSec = 200;
const bots = 20;

/** Calls `act` `count` times at an even rate, without waiting for its effect. */
export async function paced(count: number, perSec: number, act: (n: number) => void): Promise<void> {
  const began = performance.now();
  for (let n = 0; n < count; n++) {
    const wait = began + (n * 1000) / perSec - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    act(n);
  }
}

async function waitUntil(done: () => boolean, mostMs: number): Promise<void> {
  const end = performance.now() + mostMs;
  while (!done() && performance.now() < end) await new Promise((resolve) => setTimeout(resolve, 20));
}

interface Latencies {
  p50: number;
  p99: number;
}

const shares = (latencies: number[]): Latencies => ({ p50: percentile(latencies, 0.5), p99: percentile(latencies, 0.99) });

/** The minimum: PUBLISH → ws send → socket, with nothing in between. */
async function bareRound(bench: Bench, sockets: WebSocket[], redis: Redis): Promise<Latencies> {
  const count = postsPerSec * bench.seconds;
  const sentAt = new Map<number, number>();
  const latencies: number[] = [];
  const onMessage = (data: Buffer): void => {
    latencies.push(performance.now() - (sentAt.get(Number(data.subarray(0, 8))) ?? 0));
  };
  for (const socket of sockets) socket.on('message', onMessage);
  await paced(count, postsPerSec, (n) => {
    sentAt.set(n, performance.now());
    void redis.publish('bare', `${String(n).padStart(8, '0')}${'x'.repeat(500)}`);
  });
  await waitUntil(() => latencies.length >= count * bots, 5_000);
  for (const socket of sockets) socket.off('message', onMessage);
  return shares(latencies);
}

/** From the response of the POST to the event at each bot. */
async function ourRound(
  bench: Bench,
  setting: Setting,
  urls: string[],
  token: string,
  onReceived: (listener: (content: string) => void) => void,
): Promise<Latencies> {
  const count = postsPerSec * bench.seconds;
  const answeredAt = new Map<string, number>();
  const arrived: [string, number][] = [];
  onReceived((content) => arrived.push([content, performance.now()]));
  const posts: Promise<void>[] = [];
  await paced(count, postsPerSec, (n) => {
    const content = `${setting.env.REDIS_PREFIX} ${performance.now()} ${n}`;
    posts.push(
      fetch(urls[n % urls.length] as string, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', Authorization: `Bot ${token}` },
        body: JSON.stringify({ content }),
      }).then(async (response) => {
        answeredAt.set(content, performance.now());
        if (response.status !== 201) throw new Error(`post answered ${response.status}`);
        await response.arrayBuffer();
      }),
    );
  });
  await Promise.all(posts);
  await waitUntil(() => arrived.length >= count * bots, 10_000);
  if (arrived.length < count * bots) throw new Error(`${count * bots - arrived.length} deliveries are missing`);
  return shares(arrived.map(([content, at]) => Math.max(0, at - (answeredAt.get(content) ?? at))));
}

/** From the use of a command to INTERACTION_CREATE at the bot. */
async function commandRound(
  bench: Bench,
  seeded: Awaited<ReturnType<typeof seedServer>>,
  base: string,
  commandId: string,
  onReceived: (listener: (id: string) => void) => void,
): Promise<Latencies> {
  const count = 20 * bench.seconds;
  const usedAt: number[] = [];
  const latencies: number[] = [];
  let received: () => void = () => undefined;
  onReceived(() => {
    latencies.push(performance.now() - (usedAt.at(-1) ?? 0));
    received();
  });
  for (let n = 0; n < count; n++) {
    const next = new Promise<void>((resolve) => {
      received = resolve;
    });
    usedAt.push(performance.now());
    const response = await fetch(`${base}/api/channels/${seeded.channelIds[0]}/commands/${commandId}/invoke`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${seeded.ownerToken}` },
      body: '{}',
    });
    if (response.status !== 202) throw new Error(`invoke answered ${response.status}: ${await response.text()}`);
    await next;
  }
  return shares(latencies);
}

/** 201 → socket at 200 posts/s × 20 bots, compared with bare PUBLISH → ws send, and the use of a command → INTERACTION_CREATE. */
export async function latencyRows(bench: Bench): Promise<Row[]> {
  const setting = await openSetting(bench, { api: 1, gateway: 1, worker: 1 });
  const seeded = await seedServer(setting.platform, { bots, channels: 8 });
  const relay = await startHelper('relay', setting.env);
  const redis = new Redis(setting.config.REDIS_URL);
  const clients: BotClient[] = [];
  const sockets: WebSocket[] = [];
  let onMessage: (content: string) => void = () => undefined;
  let onInteraction: (id: string) => void = () => undefined;
  try {
    for (const { token } of seeded.bots)
      clients.push(
        connectBot({
          urlOf: () => setting.stack.gatewayUrl(),
          token,
          onEvent: ({ t, d }) => (t === 'MESSAGE_CREATE' ? onMessage(String(d.content)) : onInteraction(String(d.id))),
        }),
      );
    await Promise.all(clients.map((client) => client.ready));
    for (let i = 0; i < bots; i++) sockets.push(new WebSocket(`ws://127.0.0.1:${relay.port}`, { perMessageDeflate: false }));
    await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.once('open', resolve))));
    const base = setting.stack.apiUrl();
    const [bot] = seeded.bots;
    if (!bot) throw new Error('no bot');
    const urls = seeded.channelIds.map((id) => `${base}/api/channels/${id}/messages`);
    const saved = await fetch(`${base}/api/applications/${bot.applicationId}/commands`, {
      method: 'PUT',
      headers: { 'Content-Type': 'application/json', Authorization: `Bot ${bot.token}` },
      body: JSON.stringify([{ name: 'hello', description: 'Says hello.' }]),
    });
    const [command] = (await saved.json()) as { id: string }[];
    const onReceivedMessage = (listener: (content: string) => void): void => {
      onMessage = listener;
    };
    const onReceivedInteraction = (listener: (id: string) => void): void => {
      onInteraction = listener;
    };
    await ourRound({ ...bench, seconds: 1 }, setting, urls, bot.token, onReceivedMessage);
    const [ours, bare, used]: [Latencies[], Latencies[], Latencies[]] = [[], [], []];
    for (let i = 0; i < bench.rounds; i++) {
      ours.push(await ourRound(bench, setting, urls, bot.token, onReceivedMessage));
      bare.push(await bareRound(bench, sockets, redis));
      if (command) used.push(await commandRound(bench, seeded, base, command.id, onReceivedInteraction));
    }
    const of = (results: Latencies[], share: keyof Latencies): number[] => results.map((one) => one[share]);
    return [
      aboveRow('201 → socket, p50', 'ms', of(ours, 'p50'), of(bare, 'p50'), 5),
      aboveRow('201 → socket, p99', 'ms', of(ours, 'p99'), of(bare, 'p99'), 50),
      aboveRow('use of a command → INTERACTION_CREATE, p99, above 201 → socket', 'ms', of(used, 'p99'), of(ours, 'p99'), 15),
    ];
  } finally {
    for (const socket of sockets) socket.terminate();
    await Promise.all(clients.map((client) => client.close()));
    redis.disconnect();
    await relay.close();
    await setting.close();
  }
}
