import { Redis } from 'ioredis';
import { type BotClient, connectBot } from '../../harness/bot-client.ts';
import { makeFollowing } from '../../harness/crosspost.ts';
import { plainMessage } from '../../harness/plain-message.ts';
import { insertMembers, memberOf, type SeededServer, seedServer } from '../../harness/seed.ts';
import { aboveRow, multipleRow, percentile, type Row } from '../report.ts';
import { type Bench, openSetting, type Setting } from '../setting.ts';

const followers = 500;
/** The following channels are spread over this many servers, whose recipients are computed separately. */
const servers = 50;
/** Posts per second in another channel while copies are relayed. */
const postsPerSec = 50;

async function waitUntil(done: () => boolean, mostMs: number): Promise<void> {
  const end = performance.now() + mostMs;
  while (!done()) {
    if (performance.now() > end) throw new Error('the events did not arrive in time');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Spreads the following channels over copies of the server that they are in; the bot is a member of all of them. */
async function spreadOverServers({ platform }: Setting, to: SeededServer): Promise<void> {
  const { db, ids } = platform;
  const server = await db.servers.findOne({ _id: to.serverId });
  for (let n = 1; n < servers; n++) {
    const serverId = ids.next();
    const mine = to.channelIds.filter((_, at) => at % servers === n);
    await db.servers.insertOne({ ...server, _id: serverId } as never);
    await insertMembers(platform, [memberOf(serverId, to.bots[0]?.id as string, true)]);
    for (const _id of mine) {
      await db.channels.updateOne({ _id }, { $set: { serverId } });
      await db.follows.updateOne({ targetId: _id }, { $set: { serverId } });
    }
  }
}

/** A bot's session that counts the events it receives. */
interface Counter {
  client: BotClient;
  /** When the copies with this content arrived. */
  times(content: string): number[];
}

async function connectCounter(setting: Setting, token: string): Promise<Counter> {
  const received = new Map<string, number[]>();
  const client = connectBot({
    urlOf: () => setting.stack.gatewayUrl(),
    token,
    onEvent: ({ d }) => {
      const content = String(d.content);
      const times = received.get(content) ?? [];
      received.set(content, times);
      times.push(performance.now());
    },
  });
  await client.ready;
  return { client, times: (content) => received.get(content) ?? [] };
}

async function call(setting: Setting, token: string, path: string, body?: object): Promise<Record<string, unknown>> {
  const response = await fetch(`${setting.stack.apiUrl()}/api${path}`, {
    method: 'POST',
    headers: { Authorization: token, ...(body ? { 'Content-Type': 'application/json' } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as Record<string, unknown>;
}

/** Posts at an even rate until `stop` returns true; returns the time of each post from 201 to socket, in milliseconds. */
async function postsMeanwhile(
  setting: Setting,
  seeded: SeededServer,
  counter: Counter,
  round: string,
  stop: () => boolean,
): Promise<number[]> {
  const answered = new Map<string, number>();
  const posts: Promise<void>[] = [];
  const began = performance.now();
  for (let n = 0; !stop(); n++) {
    const wait = began + (n * 1000) / postsPerSec - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    const content = `${round} ${n}`;
    const post = call(setting, `Bot ${seeded.bots[0]?.token}`, `/channels/${seeded.channelIds[0]}/messages`, { content });
    posts.push(post.then(() => void answered.set(content, performance.now())));
  }
  await Promise.all(posts);
  await waitUntil(() => [...answered.keys()].every((content) => counter.times(content).length > 0), 10_000);
  return [...answered].map(([content, at]) => Math.max(0, (counter.times(content)[0] ?? 0) - at));
}

/** The minimum cost of copies: one insertMany of as many documents, as durable as the product's, and a PUBLISH for each. */
async function bareRound(setting: Setting, redis: Redis): Promise<number> {
  const { platform } = setting;
  const began = performance.now();
  const documents = Array.from({ length: followers }, () => ({
    _id: platform.ids.next(),
    channelId: platform.ids.next(),
    serverId: platform.ids.next(),
    authorId: platform.ids.next(),
    content: 'x'.repeat(200),
    ...plainMessage,
    createdAt: new Date(),
  }));
  await platform.db.messages.insertMany(documents);
  await Promise.all(documents.map((document) => redis.publish('bare', JSON.stringify(document))));
  return (performance.now() - began) / 1000;
}

/** A crosspost to 500 targets compared with bare writes and publications, and its effect on posts elsewhere. */
export async function crosspostRows(bench: Bench): Promise<Row[]> {
  const setting = await openSetting(bench, { api: 1, gateway: 1, worker: 1 });
  const redis = new Redis(setting.config.REDIS_URL);
  const counters: Counter[] = [];
  try {
    const { from, to, news } = await makeFollowing(setting.platform, followers);
    await spreadOverServers(setting, to);
    const other = await seedServer(setting.platform, { bots: 1, channels: 1 });
    const [counter, elsewhere] = [
      await connectCounter(setting, String(to.bots[0]?.token)),
      await connectCounter(setting, String(other.bots[0]?.token)),
    ];
    counters.push(counter, elsewhere);
    const token = `Bearer ${from.ownerToken}`;
    const [ours, bare, busy, calm]: [number[], number[], number[], number[]] = [[], [], [], []];
    /** Seconds from the 200 response to the event of the last copy. */
    const crosspostRound = async (content: string): Promise<number> => {
      const { id } = await call(setting, token, `/channels/${news}/messages`, { content });
      await call(setting, token, `/channels/${news}/messages/${String(id)}/crosspost`);
      const answered = performance.now();
      await waitUntil(() => counter.times(content).length >= followers, 60_000);
      return (Number(counter.times(content).at(-1)) - answered) / 1000;
    };
    for (let i = 0; i < bench.rounds + 1; i++) {
      const seconds = await crosspostRound(`alone ${i} ${'x'.repeat(190)}`);
      const least = await bareRound(setting, redis);
      const end = performance.now() + bench.seconds * 1000;
      const quiet = await postsMeanwhile(setting, other, elsewhere, `calm ${i}`, () => performance.now() >= end);
      const disturbed: number[] = [];
      for (let n = 0; disturbed.length < quiet.length; n++) {
        let done = false;
        const crossposting = crosspostRound(`busy ${i} ${n} ${'x'.repeat(190)}`).finally(() => {
          done = true;
        });
        disturbed.push(...(await postsMeanwhile(setting, other, elsewhere, `busy ${i} ${n}`, () => done)));
        await crossposting;
      }
      if (i === 0) continue; // the first round warms up
      ours.push(seconds);
      bare.push(least);
      calm.push(percentile(quiet, 0.99));
      busy.push(percentile(disturbed, 0.99));
      bench.log(
        `  crosspost to ${followers}: ${seconds.toFixed(2)} s, bare ${least.toFixed(2)} s; posts elsewhere p50 ${percentile(disturbed, 0.5).toFixed(1)} ms, p99 ${busy.at(-1)?.toFixed(1)} ms, without it p50 ${percentile(quiet, 0.5).toFixed(1)} ms, p99 ${calm.at(-1)?.toFixed(1)} ms`,
      );
    }
    return [
      aboveRow(`crosspost to ${followers} targets, 200 → last event, compared with one insertMany and as many PUBLISH`, 's', ours, bare, 5),
      multipleRow('201 → socket of posts elsewhere meanwhile, p99, compared with no crosspost', 'ms', busy, calm, 2),
    ];
  } finally {
    await Promise.all(counters.map(({ client }) => client.close()));
    redis.disconnect();
    await setting.close();
  }
}
