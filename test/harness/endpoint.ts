import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Certificate } from './certificate.ts';
import { type Site, startSite } from './site.ts';

/** One request that an endpoint received: its headers and the exact bytes of its body. */
export interface Received {
  headers: IncomingMessage['headers'];
  bytes: Buffer;
  /** The body's JSON. */
  json: Record<string, unknown>;
  atMs: number;
}

/** Responds to a request that an endpoint under test received. */
export type Answering = (received: Received, response: ServerResponse) => void;

/** An Interactions Endpoint on loopback. */
export interface TestEndpoint {
  site: Site;
  /** The URL to save as an application's endpoint. */
  url: string;
  /** Every request that is not a ping. */
  received: Received[];
  pings: Received[];
  /** Sets how it responds to requests other than pings from now on. */
  answer(by: Answering): void;
  close(): Promise<void>;
}

/** Responds with `status` and `body` as JSON; a string body is sent as it is. */
export const reply =
  (status: number, body?: unknown, headers: Record<string, string> = {}): Answering =>
  (_received, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body));
  };

/** Starts an endpoint that answers pings with a pong and all other requests with `answering`; default: status 200 without a body. */
export async function startEndpoint(answering: Answering = reply(200), certificate?: Certificate): Promise<TestEndpoint> {
  const received: Received[] = [];
  const pings: Received[] = [];
  let by = answering;
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const atMs = performance.now();
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const bytes = Buffer.concat(pieces);
    const one = { headers: request.headers, bytes, json: JSON.parse(bytes.toString()) as Record<string, unknown>, atMs };
    const isPing = one.json.type === 'ping';
    (isPing ? pings : received).push(one);
    (isPing ? reply(200, { type: 'pong' }) : by)(one, response);
  };
  const site = await startSite((request, response) => void handle(request, response).catch(() => response.destroy()), certificate);
  return {
    site,
    url: `${site.url}/interactions`,
    received,
    pings,
    answer: (next) => {
      by = next;
    },
    close: () => site.close(),
  };
}
