import { createSecureContext } from 'node:tls';
import { CookieJar } from 'tough-cookie';
import type { Dispatcher } from 'undici';
import { type Connection, type Connections, closeConnection, createConnections } from './connections.ts';
import { decodeBody } from './decode-body.ts';
import { connectSocket } from './socket.ts';
import {
  describeCause,
  OutboundError,
  type OutboundStep,
  parseAllowedPairs,
  parseTarget,
  type Resolve,
  resolveAddresses,
  type Target,
} from './target.ts';

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
  /** How much of the response body is read at most, after decompression. */
  readonly maxBytes: number;
  /** What happens when the body is longer: `fail` (default), or `cut`, which keeps the first `maxBytes`. */
  readonly overflow?: 'fail' | 'cut';
  /** Whether plain http is accepted. Default false. */
  readonly isHttpAllowed?: boolean;
  /** How many redirects are followed; each target is checked like a first URL. Default 0; GET only. */
  readonly maxRedirects?: number;
  /** Returns whether the body is read. Default: it is always read. */
  readonly shouldReadBody?: (head: OutboundHead) => boolean;
  /** Called with each chunk of the body; reading stops when it returns true. */
  readonly shouldStop?: (chunk: Buffer) => boolean;
  /** Who may use the connection again, for later requests to the same origin. Default: nobody, and it is closed. */
  readonly keepFor?: string | undefined;
}

/** A step of a request and how long it took, in milliseconds. The last step of a failed request is the one that failed. */
export interface OutboundStage {
  readonly step: OutboundStep;
  readonly ms: number;
}

/** The result of a request: a response with any status, or the step that failed (`status`: no response came; `body`: its body could not be read). */
export type OutboundResult = { readonly ms: number; readonly stages: readonly OutboundStage[] } & (
  | ({ readonly ok: true; readonly body: Buffer } & OutboundHead)
  | {
      readonly ok: false;
      readonly step: OutboundStep;
      readonly reason: string;
      readonly status: number | null;
      /** The host:port to add to OUTBOUND_ALLOW, if the request failed because its host is private; else null. */
      readonly allowablePair: string | null;
    }
);

/** Sends a request to a public address, or to a host and port that OUTBOUND_ALLOW contains. Never rejects. */
export type Outbound = (request: OutboundRequest) => Promise<OutboundResult>;

const redirectStatuses = new Set([301, 302, 303, 307, 308]);

/** Whether to follow this response instead of returning it. */
const isRedirect = ({ status, headers }: OutboundHead, { method, maxRedirects = 0 }: OutboundRequest): boolean =>
  maxRedirects > 0 && method !== 'POST' && redirectStatuses.has(status) && headers.location !== undefined;

async function readBody(body: AsyncIterable<Buffer>, { maxBytes, overflow, shouldStop }: OutboundRequest): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let remainingBytes = maxBytes;
  for await (const received of body) {
    const chunk = received.subarray(0, remainingBytes);
    remainingBytes -= chunk.length;
    if (chunk.length < received.length && overflow !== 'cut') throw new OutboundError('body', `is longer than ${maxBytes} bytes`);
    chunks.push(chunk);
    if (shouldStop?.(chunk) || chunk.length < received.length) break;
  }
  return Buffer.concat(chunks);
}

/** The text of a header whose bytes are UTF-8, as browsers read it; Latin-1 if they are not. undici gives each byte as one character. */
function decodeHeader(bytes: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(bytes, 'latin1'));
  } catch {
    return bytes;
  }
}

const toHead = ({ statusCode, headers }: Dispatcher.ResponseData, url: URL): OutboundHead => {
  const firstValues = Object.entries(headers).map(([name, value]) => [name, decodeHeader([value ?? ''].flat()[0] ?? '')]);
  return { status: statusCode, headers: Object.fromEntries(firstValues) as Record<string, string>, url: url.href };
};

/** The state of a request while it runs. */
interface RequestState {
  readonly signal: AbortSignal;
  readonly deadlineMs: number;
  /** How many redirects may still be followed. */
  remainingRedirects: number;
  /** The steps so far, each with its start time; the last one is in progress. */
  readonly steps: { step: OutboundStep; at: number }[];
  status: number | null;
  /** The cookies that redirects have set; undefined as long as none has. */
  cookies?: CookieJar;
}

/** Keeps the cookies of a redirect for the requests that follow it, because some sites redirect until they get their cookie back. */
function keepCookies(state: RequestState, { headers }: Dispatcher.ResponseData, url: URL): void {
  for (const cookie of [headers['set-cookie'] ?? []].flat()) {
    state.cookies ??= new CookieJar();
    state.cookies.setCookieSync(cookie, url.href, { ignoreError: true });
  }
}

/** Records the start of `step`. */
const startStep = ({ steps }: RequestState, step: OutboundStep): void => void steps.push({ step, at: performance.now() });

/** The duration of each step: until the next one began, or until now. */
const toStages = ({ steps }: RequestState): OutboundStage[] =>
  steps.map(({ step, at }, index) => ({ step, ms: Math.round((steps[index + 1]?.at ?? performance.now()) - at) }));

/** Sends the request on a connection and reads the response. Keeps the connection if `request` says so and the whole body was read; else closes it. */
async function sendRequest(
  target: Target,
  connection: Connection,
  request: OutboundRequest,
  state: RequestState,
  connections: Connections,
): Promise<OutboundHead & { body: Buffer }> {
  const close = (): void => closeConnection(connection);
  state.signal.addEventListener('abort', close, { once: true });
  const cookie = state.cookies?.getCookieStringSync(target.url.href);
  let isReusable = false;
  try {
    startStep(state, 'status');
    connection.skipInterim();
    const response = await connection.client.request({
      method: request.method ?? 'GET',
      path: target.url.pathname + target.url.search,
      headers: { 'user-agent': 'Parlance', accept: '*/*', ...request.headers, ...(cookie && { cookie }), 'accept-encoding': 'identity' },
      ...(request.body ? { body: request.body } : {}),
    });
    const head = toHead(response, target.url);
    state.status = head.status;
    response.body.on('error', () => undefined);
    if (isRedirect(head, request)) {
      keepCookies(state, response, target.url);
      return { ...head, body: Buffer.alloc(0) };
    }
    startStep(state, 'body');
    if (request.shouldReadBody?.(head) === false) return { ...head, body: Buffer.alloc(0) };
    const body = await readBody(decodeBody(response.body, head.headers['content-encoding']), request);
    // If the end of the connection marks the end of the body, undici takes a body that the timeout cut off as complete.
    if (state.signal.aborted) throw new OutboundError('body', 'timed out');
    isReusable = request.keepFor !== undefined && response.body.readableEnded;
    return { ...head, body };
  } finally {
    state.signal.removeEventListener('abort', close);
    if (isReusable) connections.keep(target.url.origin, request.keepFor as string, connection);
    else close();
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
 * in every DNS response and on the connection itself. It verifies certificates. It uses no proxies, requests no compression, and uses no cookies but those that
 * a redirect sets, until the request ends. A connection is used once, unless the request says for whom it is kept.
 */
export function createOutbound({ allow, resolve, ca }: OutboundOptions): Outbound {
  const allowedPairs = parseAllowedPairs(allow);
  const connections = createConnections();
  // Shared by all connections, because reading the authorities takes a third of the time of a handshake. It stores no sessions, so each certificate is
  // verified.
  const secureContext = createSecureContext({ minVersion: 'TLSv1.2', ...(ca === undefined ? {} : { ca }) });
  /** Opens a connection to an address of the target that was checked. */
  const open = async (target: Target, state: RequestState): Promise<Connection> => {
    startStep(state, 'dns');
    const addresses = await resolveAddresses(target, resolve, state.signal);
    startStep(state, 'connect');
    const { signal, deadlineMs } = state;
    const socket = await connectSocket(target, addresses, { signal, deadlineMs, secureContext, onTlsStart: () => startStep(state, 'tls') });
    return connections.create(socket, target);
  };
  /** Sends a request on a connection that was kept, or else on a new one. */
  const send = async (target: Target, request: OutboundRequest, state: RequestState): Promise<OutboundHead & { body: Buffer }> => {
    for (;;) {
      const idle = request.keepFor === undefined ? undefined : connections.take(target.url.origin, request.keepFor);
      const connection = idle ?? (await open(target, state));
      try {
        return await sendRequest(target, connection, request, state, connections);
      } catch (error) {
        // The other side had closed it before, so nothing was sent.
        if (!idle?.isOver || state.signal.aborted) throw error;
      }
    }
  };
  const followRedirects = async (request: OutboundRequest, state: RequestState): Promise<OutboundHead & { body: Buffer }> => {
    for (let address = request.url; ; state.remainingRedirects--) {
      state.status = null;
      startStep(state, 'url');
      const target = parseTarget(address, allowedPairs, request.isHttpAllowed === true);
      const response = await send(target, request, state);
      if (!isRedirect(response, request)) return response;
      if (state.remainingRedirects <= 0) throw new OutboundError('status', 'redirects too many times');
      const location = response.headers.location ?? '';
      if (!URL.canParse(location, target.url.href)) {
        startStep(state, 'url');
        throw new OutboundError('url', 'redirects to an address that is not a URL');
      }
      address = new URL(location, target.url).href;
    }
  };
  return async (request) => {
    const startMs = performance.now();
    const abortController = new AbortController();
    const { timeoutMs, maxRedirects: remainingRedirects = 0 } = request;
    const state: RequestState = {
      signal: abortController.signal,
      deadlineMs: startMs + timeoutMs,
      remainingRedirects,
      steps: [],
      status: null,
    };
    const timer = setTimeout(() => abortController.abort(), timeoutMs);
    const ms = (): number => Math.round(performance.now() - startMs);
    try {
      const response = await followRedirects(request, state);
      return { ok: true, ms: ms(), stages: toStages(state), ...response };
    } catch (error) {
      const outboundError = error instanceof OutboundError ? error : null;
      const reason = outboundError?.message ?? (abortController.signal.aborted ? 'timed out' : `failed (${describeCause(error)})`);
      const step = outboundError?.step ?? state.steps.at(-1)?.step ?? 'url';
      const allowablePair = outboundError?.allowablePair ?? null;
      return { ok: false, ms: ms(), stages: toStages(state), step, reason, status: state.status, allowablePair };
    } finally {
      clearTimeout(timer);
      abortController.abort();
    }
  };
}
