import { Agent, request } from 'node:http';
import type { EndpointsReport } from '../bare/endpoints.ts';
import type { BareInteractions, BareInteractionsAsk } from '../bare/interactions.ts';
import { percentile } from '../report.ts';
import type { Bench } from '../setting.ts';
import { type InteractionSetup, now } from './interaction-setup.ts';
import { paced } from './latency.ts';

/** A load of uses at an even rate, independent of how they are answered. */
export interface Load {
  perSec: number;
  seconds: number;
}

/** The result of a load. Latencies in milliseconds from the start of a use, only for applications that answer. */
export interface Reached {
  /** Uses completed per second, from the first use to the last one shown. */
  perSecond: number;
  toEndpoint: number[];
  toScreen: number[];
}

/** The result of a load on the product. */
export interface Round extends Reached {
  /** How many uses of applications that answer were never shown as answered on the screen. */
  unanswered: number;
  /** How many of them were accepted. */
  lost: number;
  /** How long the responses took that refused a use, in milliseconds. */
  toRefusal: number[];
  /** From the start of a use to its expiry on the person's screen, in milliseconds, for the applications that hang. */
  toExpiry: number[];
  /** How many uses of hanging applications the API accepted without the person seeing their end. */
  unfinished: number;
  /** The most concurrent requests on one endpoint. */
  maxConcurrent: number;
}

/** A round ends when nothing has arrived for this time, in milliseconds; uses that have not ended by then count as missing. */
const silenceMs = 10_000;

interface Use {
  app: number;
  at: number;
  /** The status of the API's response, 202 if it was accepted; 0 if there was no response. */
  status: number;
  /** How long the response took, in milliseconds. */
  ms: number;
  /** The interaction's id; empty if the use was refused. */
  id: string;
}

const agent = new Agent({ keepAlive: true });

/** Sends one use; resolves when it is answered or has failed. Never rejects. */
function send(url: string, token: string, app: number): Promise<Use> {
  const use: Use = { app, at: now(), status: 0, ms: 0, id: '' };
  return new Promise((resolve) => {
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
    const sent = request(url, { method: 'POST', agent, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
      });
      response.once('end', () => {
        use.ms = now() - use.at;
        use.status = response.statusCode ?? 0;
        if (use.status === 202) use.id = (JSON.parse(text) as { id: string }).id;
      });
      response.once('close', () => resolve(use));
    });
    sent.once('error', () => resolve(use));
    sent.end('{}');
  });
}

const tally = (words: readonly string[]): string => {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return [...counts].map(([word, count]) => `${count} × ${word}`).join(', ');
};

const ms = (values: readonly number[]): string =>
  values.length ? `p50 ${percentile(values, 0.5).toFixed(0)} ms, p99 ${percentile(values, 0.99).toFixed(0)} ms` : 'none';

/** Uses per second from the first `at` to the last `shownAt`; never more than were offered. */
const rateOf = (done: readonly { at: number; shownAt: number }[], { seconds }: Load): number => {
  const startedAt = done.reduce((least, { at }) => Math.min(least, at), Number.POSITIVE_INFINITY);
  const endedAt = done.reduce((most, { shownAt }) => Math.max(most, shownAt), 0);
  return done.length / Math.max(seconds, (endedAt - startedAt) / 1000);
};

/**
 * Uses commands while the endpoints of the first `hungCount` applications hang, and waits until the person has seen the end of each use or nothing more arrives.
 */
export async function ourRound(bench: Bench, fixture: InteractionSetup, load: Load, hungCount: number): Promise<Round> {
  const { setting, seeded, endpoints, paths, invokes, screen } = fixture;
  await endpoints.ask({ kind: 'begin', hanging: paths.slice(0, hungCount) });
  for (const seen of [screen.answered, screen.expired, screen.messages]) seen.clear();
  const sends: Promise<Use>[] = [];
  await paced(load.perSec * load.seconds, load.perSec, (n) => {
    const app = n % invokes.length;
    sends.push(send(invokes[app] as string, seeded.ownerToken, app));
  });
  const uses = await Promise.all(sends);
  const isFinished = ({ id }: Use): boolean => id === '' || screen.expired.has(id) || (screen.answered.has(id) && screen.messages.has(id));
  screen.lastAt = now();
  while (!uses.every(isFinished) && now() - screen.lastAt < silenceMs) await new Promise((resolve) => setTimeout(resolve, 100));
  const { arrived, maxConcurrent } = await endpoints.ask<EndpointsReport>({ kind: 'report' });
  const arrivedAt = new Map(arrived);
  const others = uses.filter(({ app }) => app >= hungCount);
  const hanging = uses.filter(({ app }) => app < hungCount);
  const shown = others.flatMap(({ id, at }) => {
    const [answered, message] = [screen.answered.get(id), screen.messages.get(id)];
    return answered === undefined || message === undefined ? [] : [{ at, shownAt: Math.max(answered, message) }];
  });
  const missing = others.filter(({ id }) => id !== '' && !(screen.answered.has(id) && screen.messages.has(id)));
  const stored = await setting.platform.db.interactions.find({ _id: { $in: missing.map(({ id }) => id) } }).toArray();
  const round: Round = {
    perSecond: rateOf(shown, load),
    toEndpoint: others.flatMap(({ id, at }) => (arrivedAt.has(id) ? [(arrivedAt.get(id) as number) - at] : [])),
    toScreen: shown.map(({ at, shownAt }) => shownAt - at),
    unanswered: others.length - shown.length,
    lost: missing.length,
    toRefusal: uses.flatMap(({ status, ms: tookMs }) => (status === 503 || status === 429 ? [tookMs] : [])),
    toExpiry: hanging.flatMap(({ id, at }) => (screen.expired.has(id) ? [(screen.expired.get(id) as number) - at] : [])),
    unfinished: hanging.filter((use) => !isFinished(use)).length,
    maxConcurrent,
  };
  const refused = uses.filter(({ status }) => status !== 202).map(({ status }) => `refused with ${status}`);
  const failed = stored.map(({ state, delivery }) => `${state}, ${delivery?.reason ?? delivery?.outcome ?? 'not sent'}`);
  bench.log(
    `  ${load.perSec}/s offered for ${load.seconds} s${hungCount ? `, ${hungCount} of ${paths.length} endpoints hanging` : ''}: ${round.perSecond.toFixed(0)}/s of ` +
      `${((load.perSec * others.length) / uses.length).toFixed(0)}/s done; → endpoint ${ms(round.toEndpoint)}; → screen ${ms(round.toScreen)}; unanswered ${round.unanswered}${round.toRefusal.length ? `, → refusal ${ms(round.toRefusal)}` : ''}` +
      `${refused.length + failed.length ? ` (${tally([...refused, ...failed])})` : ''}${hungCount ? `; → expiry received ${ms(round.toExpiry)}` : ''}; at most ${maxConcurrent} parallel requests`,
  );
  return round;
}

/** The same load on the bare process. */
export async function bareRound(bench: Bench, { endpoints, bare, origin, paths }: InteractionSetup, load: Load): Promise<Reached> {
  await endpoints.ask({ kind: 'begin', hanging: [] });
  const ask: BareInteractionsAsk = { count: load.perSec * load.seconds, perSec: load.perSec, urls: paths.map((path) => origin + path) };
  const done = (await bare.ask<BareInteractions>(ask)).map(([id, at, shownAt]) => ({ id, at, shownAt }));
  const arrivedAt = new Map((await endpoints.ask<EndpointsReport>({ kind: 'report' })).arrived);
  const reached: Reached = {
    perSecond: rateOf(done, load),
    toEndpoint: done.map(({ id, at }) => (arrivedAt.get(id) ?? Number.NaN) - at),
    toScreen: done.map(({ at, shownAt }) => shownAt - at),
  };
  bench.log(
    `  ${load.perSec}/s offered for ${load.seconds} s, bare: ${reached.perSecond.toFixed(0)}/s done; → endpoint ${ms(reached.toEndpoint)}; → shown ${ms(reached.toScreen)}`,
  );
  return reached;
}
