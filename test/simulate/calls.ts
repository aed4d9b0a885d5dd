import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { composeId } from '../../lib/base/ids.ts';

/** A request that is sent repeatedly. In the body `$n` becomes a number that is new each time, and `$id` an id of the current time. */
export interface Call {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH';
  url: string;
  authorization: string;
  body?: string;
}

const agent = new Agent({ keepAlive: true, maxSockets: 64 });
let numbers = 0;

/** Sends a call; rejects unless it succeeds. */
export function send({ method, url, authorization, body }: Call): Promise<void> {
  const text = body?.replace('$n', String(++numbers)).replace('$id', () => composeId(Date.now(), 0, numbers++ % 4096));
  return new Promise((resolve, reject) => {
    const headers = { Authorization: authorization, ...(text === undefined ? {} : { 'Content-Type': 'application/json' }) };
    const sent = request(url, { method, agent, headers }, (response) => {
      response.resume();
      response.once('end', () => {
        if ((response.statusCode ?? 0) < 300) resolve();
        else reject(new Error(`${method} ${url}: ${response.statusCode}`));
      });
    });
    sent.once('error', reject);
    sent.end(text);
  });
}

/** A random item. */
export const pick = <T>(items: readonly T[]): T => items[Math.floor(Math.random() * items.length)] as T;

/** How many calls of `sendMany` run at once. */
const warmConcurrency = 8;

/** Sends `count` calls as fast as they are answered, each from a random list. Failures do not matter. */
export async function sendMany(lists: readonly (readonly Call[])[], count: number): Promise<void> {
  let left = count;
  const client = async (): Promise<void> => {
    while (left-- > 0) await send(pick(pick(lists))).catch(() => undefined);
  };
  await Promise.all(Array.from({ length: warmConcurrency }, client));
}

/** Calls `run` at random times, `perSec` times a second on average, for `seconds`; resolves when all have ended. */
export async function atRandomTimes(
  perSec: number,
  seconds: number,
  run: (n: number) => Promise<void>,
): Promise<{ done: number; failed: number }> {
  const endMs = performance.now() + seconds * 1000;
  const running: Promise<void>[] = [];
  for (let at = performance.now(); perSec > 0; ) {
    at -= (Math.log(1 - Math.random()) * 1000) / perSec;
    if (at >= endMs) break;
    if (at > performance.now()) await sleep(at - performance.now());
    running.push(run(running.length));
  }
  if (endMs > performance.now()) await sleep(endMs - performance.now());
  const failed = (await Promise.allSettled(running)).filter(({ status }) => status === 'rejected').length;
  return { done: running.length - failed, failed };
}

/** Does something for each item, `perSec` a second. */
export async function paced<T>(items: readonly T[], perSec: number, run: (item: T, at: number) => Promise<void>): Promise<void> {
  const began = performance.now();
  const running: Promise<void>[] = [];
  for (const [at, item] of items.entries()) {
    const wait = began + (at * 1000) / perSec - performance.now();
    if (wait > 0) await sleep(wait);
    running.push(run(item, at));
  }
  await Promise.all(running);
}
