import { createHmac } from 'node:crypto';
import { Agent, request } from 'node:https';
import { Redis } from 'ioredis';
import mongoose from 'mongoose';
import { createIds } from '../../../lib/base/ids.ts';

/** Requests `count` interactions at an even rate, posted to the `urls` in turn. */
export interface BareInteractionsAsk {
  count: number;
  perSec: number;
  urls: readonly string[];
}

/** Each finished interaction: its id, when it started, and when the subscriber received its answer, in Unix milliseconds with fractions. */
export type BareInteractions = [id: string, at: number, shownAt: number][];

// The minimum work for an interaction over HTTPS: a durable insert, one signed POST on a new connection, a durable update, one PUBLISH.
const now = (): number => performance.timeOrigin + performance.now();
const ids = createIds(() => 1, Date.now);
const connection = await mongoose
  .createConnection(String(process.env.MONGODB_URL), {
    retryWrites: false,
    maxPoolSize: 32,
    writeConcern: { w: 'majority', journal: true },
  })
  .asPromise();
const interactions = connection.collection<{ _id: string }>('bareinteractions');
const [redis, subscriber] = [new Redis(String(process.env.REDIS_URL)), new Redis(String(process.env.REDIS_URL))];
const agent = new Agent({ keepAlive: false, maxCachedSessions: 0 });
const ca = String(process.env.TLS_CERT);
const user = { id: ids.next(), username: 'person', displayName: 'person', avatarUrl: null, roles: [] };

/** Posts `payload` with a signature, and returns the response body. */
function post(url: string, payload: object): Promise<string> {
  const body = JSON.stringify(payload);
  const timestamp = String(Math.floor(Date.now() / 1000));
  const signature = createHmac('sha256', 'secret').update(`${timestamp}.${body}`).digest('hex');
  const headers = { 'content-type': 'application/json', 'x-service-timestamp': timestamp, 'x-service-signature': signature };
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', agent, ca, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
      });
      response.once('end', () => resolve(text));
    });
    sent.once('error', reject);
    sent.end(body);
  });
}

const shownAt = new Map<string, number>();
subscriber.on('message', (_channel: string, text: string) => void shownAt.set((JSON.parse(text) as { id: string }).id, now()));
await subscriber.subscribe('bareinteractions');

async function useOnce(url: string): Promise<[id: string, at: number]> {
  const at = now();
  const id = ids.next();
  const place = { applicationId: id, channelId: id, serverId: id };
  const data = { id, name: 'hello', options: [] };
  await interactions.insertOne({ _id: id, ...place, user, data, state: 'created', createdAt: new Date() } as never);
  const answer = await post(url, { type: 'command', id, token: 'token', ...place, user, data });
  const { content } = JSON.parse(answer) as { content: string };
  await interactions.updateOne({ _id: id }, { $set: { state: 'answered', content } });
  await redis.publish('bareinteractions', JSON.stringify({ id, ...place, author: user, content, createdAt: new Date() }));
  return [id, at];
}

async function run({ count, perSec, urls }: BareInteractionsAsk): Promise<BareInteractions> {
  shownAt.clear();
  const running: Promise<[id: string, at: number]>[] = [];
  const began = performance.now();
  for (let n = 0; n < count; n++) {
    const wait = began + (n * 1000) / perSec - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    running.push(useOnce(urls[n % urls.length] as string));
  }
  const done = await Promise.all(running);
  await redis.ping();
  return done.map(([id, at]) => [id, at, shownAt.get(id) ?? now()]);
}

process.on('message', (ask: BareInteractionsAsk) => {
  void run(ask).then((result) => process.send?.(result));
});
process.send?.('ready');
