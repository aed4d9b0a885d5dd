import { Agent, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { percentile } from '../report.ts';

/** A round of load: `clients` clients, each of which sends one request after another. */
export interface Load {
  method: 'GET' | 'POST';
  /** Requests use these URLs in turn. */
  urls: string[];
  /** One value for all clients, or a list whose values the clients use in turn. */
  authorization: string | readonly string[];
  body?: string;
  /** Additional headers. */
  headers?: Record<string, string>;
  clients: number;
  /** How long a client waits between two requests, in milliseconds. Default: 0. */
  pauseMs?: number;
  seconds: number;
}

/** The result of a round of load. Latencies in milliseconds. */
export interface LoadResult {
  perSecond: number;
  p50: number;
  p99: number;
  failed: number;
}

async function run(load: Load): Promise<LoadResult> {
  const agent = new Agent({ keepAlive: true, maxSockets: load.clients });
  const latencies: number[] = [];
  let failed = 0;
  let turn = 0;
  const send = (authorization: string): Promise<number> =>
    new Promise((resolve, reject) => {
      const url = load.urls[turn++ % load.urls.length] as string;
      const headers = { Authorization: authorization, ...(load.body ? { 'Content-Type': 'application/json' } : {}), ...load.headers };
      const sent = request(url, { method: load.method, agent, headers }, (response) => {
        response.resume();
        response.once('end', () => resolve(response.statusCode ?? 0));
      });
      sent.once('error', reject);
      sent.end(load.body);
    });
  const began = performance.now();
  const endsAt = began + load.seconds * 1000;
  const client = async (authorization: string): Promise<void> => {
    while (performance.now() < endsAt) {
      const at = performance.now();
      if ((await send(authorization)) >= 300) failed++;
      latencies.push(performance.now() - at);
      if (load.pauseMs) await pause(load.pauseMs);
    }
  };
  const authorizations = [load.authorization].flat();
  await Promise.all(Array.from({ length: load.clients }, (_, at) => client(authorizations[at % authorizations.length] as string)));
  const seconds = (performance.now() - began) / 1000;
  agent.destroy();
  return { perSecond: latencies.length / seconds, p50: percentile(latencies, 0.5), p99: percentile(latencies, 0.99), failed };
}

process.on('message', (load: Load) => {
  void run(load).then((result) => process.send?.(result));
});
process.send?.('ready');
