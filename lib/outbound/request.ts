import type { Socket } from 'node:net';
import { createSecureContext } from 'node:tls';
import { Client, type Dispatcher } from 'undici';
import { dial } from './socket.ts';
import { addressesOf, allowedPairs, causeOf, OutboundFault, type OutboundStep, type Resolve, type Target, targetOf } from './target.ts';

/** The status and headers of a response. Header names are in lowercase; of a repeated header only the first value is kept. */
export interface OutboundHead {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The URL that answered: the last one after redirects. */
  readonly url: string;
}

/** One outbound request. */
export interface OutboundRequest {
  readonly url: string;
  /** Default GET. */
  readonly method?: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent unchanged. */
  readonly body?: Buffer;
  /** One timeout for everything: DNS, connection, TLS, headers, body and redirects. In milliseconds. */
  readonly timeoutMs: number;
  /** How much of the response body is read at most. */
  readonly maxBytes: number;
  /** What happens when the body is longer: `fail` (default), or `cut`, which keeps the first `maxBytes`. */
  readonly overflow?: 'fail' | 'cut';
  /** Whether plain http is accepted. Default false. */
  readonly http?: boolean;
  /** How many redirects are followed; each target is checked like a first URL. Default 0; GET only. */
  readonly redirects?: number;
  /** Returns whether the body is read. Default: it is always read. */
  readonly wants?: (head: OutboundHead) => boolean;
  /** Called with each chunk of the body; reading stops when it returns true. */
  readonly enough?: (piece: Buffer) => boolean;
}

/** A step of a request and how long it took, in milliseconds. The last step of a failed request is the one that failed. */
export interface OutboundStage {
  readonly step: OutboundStep;
  readonly ms: number;
}

/** The result of a request: a response with any status, or the step that failed (`status`: no response came; `body`: its body could not be read). */
export type OutboundResult = { readonly ms: number; readonly stages: readonly OutboundStage[] } & (
  | ({ readonly ok: true; readonly body: Buffer } & OutboundHead)
  | { readonly ok: false; readonly step: OutboundStep; readonly reason: string; readonly status: number | null }
);

/** Sends a request to a public address, or to a host and port that OUTBOUND_ALLOW contains. Never rejects. */
export type Outbound = (request: OutboundRequest) => Promise<OutboundResult>;

const headerBytes = 16 * 1024;
const redirecting = new Set([301, 302, 303, 307, 308]);

/** A client that can use `socket` once. undici must not open connections itself, not even to reconnect. */
function clientOn(socket: Socket, { url }: Target): Client {
  let given = false;
  return new Client(url.origin, {
    connect: (_options, callback) => {
      const first = !given && !socket.destroyed;
      given = true;
      queueMicrotask(() => (first ? callback(null, socket) : callback(new Error('the connection was closed'), null)));
    },
    maxHeaderSize: headerBytes,
    headersTimeout: 0, // the abort signal is the timeout
    bodyTimeout: 0,
  });
}

/** Whether to follow this response instead of returning it. */
const isRedirect = ({ status, headers }: OutboundHead, { method, redirects = 0 }: OutboundRequest): boolean =>
  redirects > 0 && method !== 'POST' && redirecting.has(status) && headers.location !== undefined;

async function readBody(body: AsyncIterable<Buffer>, { maxBytes, overflow, enough }: OutboundRequest): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let left = maxBytes;
  for await (const whole of body) {
    const piece = whole.subarray(0, left);
    left -= piece.length;
    if (piece.length < whole.length && overflow !== 'cut') throw new OutboundFault('body', `is longer than ${maxBytes} bytes`);
    pieces.push(piece);
    if (enough?.(piece) || piece.length < whole.length) break;
  }
  return Buffer.concat(pieces);
}

const headOf = ({ statusCode, headers }: Dispatcher.ResponseData, url: URL): OutboundHead => {
  const flat = Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value[0] : value]);
  return { status: statusCode, headers: Object.fromEntries(flat) as Record<string, string>, url: url.href };
};

/** The state of a request while it runs. */
interface Course {
  readonly signal: AbortSignal;
  readonly endsAt: number;
  /** How many redirects may still be followed. */
  redirects: number;
  /** The steps so far, each with its start time; the last one is in progress. */
  readonly steps: { step: OutboundStep; at: number }[];
  status: number | null;
}

/** Records the start of `step`. */
const enter = ({ steps }: Course, step: OutboundStep): void => void steps.push({ step, at: performance.now() });

/** The duration of each step: until the next one began, or until now. */
const stagesOf = ({ steps }: Course): OutboundStage[] =>
  steps.map(({ step, at }, index) => ({ step, ms: Math.round((steps[index + 1]?.at ?? performance.now()) - at) }));

/** Sends the request on `socket` and reads the response. The connection is closed at the end. */
async function exchange(
  target: Target,
  socket: Socket,
  request: OutboundRequest,
  course: Course,
): Promise<OutboundHead & { body: Buffer }> {
  const client = clientOn(socket, target);
  const end = (): void => {
    socket.destroy();
    client.destroy().catch(() => undefined);
  };
  course.signal.addEventListener('abort', end, { once: true });
  try {
    enter(course, 'status');
    const answer = await client.request({
      method: request.method ?? 'GET',
      path: target.url.pathname + target.url.search,
      headers: { 'user-agent': 'Parlance', accept: '*/*', ...request.headers, 'accept-encoding': 'identity' },
      ...(request.body ? { body: request.body } : {}),
    });
    const head = headOf(answer, target.url);
    course.status = head.status;
    answer.body.on('error', () => undefined);
    if (isRedirect(head, request)) return { ...head, body: Buffer.alloc(0) };
    enter(course, 'body');
    if (request.wants?.(head) === false) return { ...head, body: Buffer.alloc(0) };
    const encoding = head.headers['content-encoding'] ?? 'identity';
    if (encoding.toLowerCase() !== 'identity') throw new OutboundFault('body', 'is compressed although no compression was requested');
    const body = await readBody(answer.body as AsyncIterable<Buffer>, request);
    // If the end of the connection marks the end of the body, undici takes a body that the timeout cut off as complete.
    if (course.signal.aborted) throw new OutboundFault('body', 'timed out');
    return { ...head, body };
  } finally {
    course.signal.removeEventListener('abort', end);
    end();
  }
}

/** The options of `createOutbound`. Tests use `resolve` and `ca` to replace the name servers and the trusted authorities. */
export interface OutboundOptions {
  /** OUTBOUND_ALLOW: the only host:port pairs that may have private addresses or use plain http. */
  readonly allow: readonly string[];
  readonly resolve?: Resolve;
  readonly ca?: string;
}

/**
 * Creates the guarded client for all outbound requests (docs/security.md#outbound-requests). It connects to public addresses only, and checks them in the URL,
 * in every DNS response and on the connection itself. It verifies certificates. It uses no proxies, cookies, compression or reused connections.
 */
export function createOutbound({ allow, resolve, ca }: OutboundOptions): Outbound {
  const pairs = allowedPairs(allow);
  // Shared by all connections, because reading the authorities takes a third of the time of a handshake. It stores no sessions, so each certificate is
  // verified.
  const trust = createSecureContext({ minVersion: 'TLSv1.2', ...(ca === undefined ? {} : { ca }) });
  const follow = async (request: OutboundRequest, course: Course): Promise<OutboundHead & { body: Buffer }> => {
    for (let address = request.url; ; course.redirects--) {
      course.status = null;
      enter(course, 'url');
      const target = targetOf(address, pairs, request.http === true);
      enter(course, 'dns');
      const addresses = await addressesOf(target, resolve, course.signal);
      enter(course, 'connect');
      const { signal, endsAt } = course;
      const socket = await dial(target, addresses, { signal, endsAt, trust, securing: () => enter(course, 'tls') });
      const answer = await exchange(target, socket, request, course);
      if (!isRedirect(answer, request)) return answer;
      if (course.redirects <= 0) throw new OutboundFault('status', 'redirects too many times');
      const location = answer.headers.location ?? '';
      if (!URL.canParse(location, target.url.href)) {
        enter(course, 'url');
        throw new OutboundFault('url', 'redirects to an address that is not a URL');
      }
      address = new URL(location, target.url).href;
    }
  };
  return async (request) => {
    const began = performance.now();
    const ending = new AbortController();
    const { timeoutMs, redirects = 0 } = request;
    const course: Course = { signal: ending.signal, endsAt: began + timeoutMs, redirects, steps: [], status: null };
    const timer = setTimeout(() => ending.abort(), timeoutMs);
    const ms = (): number => Math.round(performance.now() - began);
    try {
      const answer = await follow(request, course);
      return { ok: true, ms: ms(), stages: stagesOf(course), ...answer };
    } catch (error) {
      const fault = error instanceof OutboundFault ? error : null;
      const reason = fault?.message ?? (ending.signal.aborted ? 'timed out' : `failed (${causeOf(error)})`);
      const step = fault?.step ?? course.steps.at(-1)?.step ?? 'url';
      return { ok: false, ms: ms(), stages: stagesOf(course), step, reason, status: course.status };
    } finally {
      clearTimeout(timer);
      ending.abort();
    }
  };
}
