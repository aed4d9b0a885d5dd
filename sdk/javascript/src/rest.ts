import { withoutServerFields } from './embeds.ts';
import { ApiError, ConnectionError, isApiRefusal } from './errors.ts';
import { type FileInput, toForm } from './files.ts';
import { shareSignal } from './platform.ts';
import { RateLimits, toObject } from './rate-limits.ts';
import { Sequences } from './sequences.ts';
import { backoffMs, wait } from './wait.ts';

/** Options of one request. */
export interface RequestOptions {
  /** Aborts the request; it then rejects with the signal's reason. */
  signal?: AbortSignal;
  /** The time for one attempt, in milliseconds. Default: 15 s, and 2 min with files. */
  timeoutMs?: number;
  /** A key of your own (1 to 64 characters), so that repeating the call, even after a restart, creates nothing twice within 10 minutes. */
  idempotencyKey?: string;
}

/** Options of a request that can have files. */
export interface UploadOptions extends RequestOptions {
  /** Up to 10 files. */
  files?: readonly FileInput[];
}

/** One request of an operation. */
export interface ApiRequest {
  method: string;
  /** The path with the names of its parameters in braces. */
  route: string;
  /** The values of the path's parameters. */
  path?: readonly string[];
  query?: object;
  body?: unknown;
  /** Sent as the raw body. */
  image?: Blob;
  /** Whether the operation takes an Idempotency-Key. */
  creates?: boolean;
  /** Whether the bot's token is sent. Default true. */
  needsToken?: boolean;
}

/** Sends a request and returns the body of the response. */
export type Send = <T>(request: ApiRequest, options?: UploadOptions) => Promise<T>;

/** Settings of the requests. */
export interface RestOptions {
  /** The address of the installation, such as `https://chat.example.org`. */
  url: string;
  token: string | undefined;
  /** How often a failed request is repeated. */
  maxRetries: number;
  /** Receives each warning of the API once. */
  onWarning: (text: string) => void;
}

const attemptMs = 15_000;
const uploadMs = 120_000;
const retryMs = { first: 250, most: 8_000 };
/** A request waits at most this long for a rate limit, in milliseconds; a longer one is thrown. */
const longestRateLimitMs = 60_000;
/** A request is repeated for at most this long after its first attempt, in milliseconds. The API keeps an Idempotency-Key for 10 minutes. */
const repeatMs = 300_000;
/** For this long a request waits for an earlier attempt of its own that still runs or whose process died, in milliseconds. */
const conflictMs = 45_000;
const warningsKept = 1_000;

/** What an attempt of a request ended with. */
type Attempt = { response: Response; body: unknown } | { failure: unknown };

/** Sends requests: waits for rate limits, repeats what failed, and turns refusals into `ApiError`. */
export class Rest {
  readonly #options: RestOptions;
  readonly #limits = new RateLimits();
  readonly #sequences = new Sequences();
  readonly #warnings = new Set<string>();
  #closing = new AbortController();

  constructor(options: RestOptions) {
    this.#options = options;
  }

  /** Takes requests again after `close`. */
  open(): void {
    if (this.#closing.signal.aborted) this.#closing = new AbortController();
  }

  /** Takes no more requests, and ends those that wait with an error. */
  close(): void {
    this.#closing.abort(new Error('The client is stopped, so it sends no more requests. Call them before stop(), or start() it again.'));
  }

  /** Sends a request of the API. */
  async send<T>(request: ApiRequest, options: UploadOptions = {}): Promise<T> {
    const values = [...(request.path ?? [])];
    const path = request.route.replace(/\{(\w+)\}/g, (_, name: string) => toPathSegment(name, values.shift() ?? ''));
    const signals = [this.#closing.signal, ...(options.signal ? [options.signal] : [])].map(shareSignal);
    const work = (): Promise<T> => this.#sendRepeatedly(request, path, options, signals);
    const key = toSequenceKey(request, path);
    return key === null ? work() : this.#sequences.run(key, work, ...signals);
  }

  async #sendRepeatedly<T>(request: ApiRequest, path: string, options: UploadOptions, signals: readonly AbortSignal[]): Promise<T> {
    const { method, route } = request;
    const key = request.creates ? (options.idempotencyKey ?? crypto.randomUUID()) : undefined;
    const isRepeatable = method !== 'POST' || key !== undefined;
    let startedAt = 0;
    let lastError: Error | undefined;
    const send = (): Promise<Attempt> => {
      if (lastError === undefined) startedAt = performance.now();
      else if (performance.now() - startedAt > repeatMs) throw lastError;
      return this.#attempt(request, path, key, options);
    };
    let hasFailed = false;
    for (let retries = 0; ; ) {
      const attempt = await this.#limits.run(request, path, send, ...signals);
      let leastMs = 0;
      if ('failure' in attempt) {
        options.signal?.throwIfAborted();
        lastError = new ConnectionError(`${method} ${route}: no usable answer from ${this.#options.url}. ${toReason(attempt.failure)}`, {
          cause: attempt.failure,
        });
        if (!isRepeatable || retries >= this.#options.maxRetries) throw lastError;
        hasFailed = true;
      } else {
        const { response, body } = attempt;
        if (response.ok) return body as T;
        const error = new ApiError(`${method} ${route}`, response.status, body, response.headers);
        lastError = error;
        const waitMs = (error.retryAfter ?? 1) * 1000;
        // An earlier attempt may have deleted it without an answer.
        if (method === 'DELETE' && hasFailed && error.status === 404) return undefined as T;
        if (error.code === 'rate_limited' && waitMs <= longestRateLimitMs) {
          this.#limits.block(route, path, response.headers, waitMs);
          await wait(waitMs, ...signals);
          continue;
        }
        if (error.code === 'idempotency_conflict' && hasFailed && performance.now() - startedAt < conflictMs) {
          await wait(waitMs, ...signals);
          continue;
        }
        // Something in front of the API refused the request, so the API has not seen it.
        const isHeldBack = error.status === 429 && !isApiRefusal(body) && (error.retryAfter ?? 0) * 1000 <= longestRateLimitMs;
        const canRepeat = isHeldBack || (error.status >= 500 && isRepeatable);
        if (!canRepeat || retries >= this.#options.maxRetries) throw error;
        if (error.retryAfter !== undefined) leastMs = isHeldBack ? waitMs : Math.min(waitMs, retryMs.most);
        hasFailed ||= !isHeldBack;
      }
      await wait(leastMs + backoffMs(retries++, retryMs.first, retryMs.most), ...signals);
    }
  }

  async #attempt(request: ApiRequest, path: string, key: string | undefined, options: UploadOptions): Promise<Attempt> {
    const { method, route, body, image, needsToken = true } = request;
    const { files = [], signal } = options;
    const url = new URL(this.#options.url + path);
    for (const [name, value] of Object.entries(request.query ?? {})) if (value !== undefined) url.searchParams.set(name, String(value));
    const headers: Record<string, string> = {};
    if (needsToken) headers.authorization = `Bot ${this.#requireToken()}`;
    if (key !== undefined) headers['idempotency-key'] = key;
    const init: RequestInit = { method, headers };
    if (files.length > 0) init.body = toForm(withoutServerFields(body), files);
    else if (image !== undefined) {
      init.body = image;
      headers['content-type'] = image.type;
    } else if (body !== undefined) {
      init.body = JSON.stringify(withoutServerFields(body));
      headers['content-type'] = 'application/json';
    }
    const limit = AbortSignal.timeout(options.timeoutMs ?? (files.length > 0 ? uploadMs : attemptMs));
    try {
      const response = await fetch(url, { ...init, signal: signal ? AbortSignal.any([signal, limit]) : limit });
      this.#limits.update(route, path, response);
      this.#warn(response.headers.get('warnings'), method, route);
      return { response, body: await readBody(response) };
    } catch (failure) {
      return { failure };
    }
  }

  #requireToken(): string {
    const { token } = this.#options;
    if (!token) throw new Error('This request needs a bot token. Set PARLANCE_TOKEN, or pass `token` to the Client.');
    return token;
  }

  #warn(header: string | null, method: string, route: string): void {
    if (!header) return;
    const text = `${method} ${route}: ${header}`;
    if (this.#warnings.has(text) || this.#warnings.size >= warningsKept) return;
    this.#warnings.add(text);
    this.#options.onWarning(text);
  }
}

/** Requests with the same key are sent one after another, so that messages, reactions or channels are created in the order of the calls. Null: at once. */
function toSequenceKey({ method, body, image }: ApiRequest, path: string): string | null {
  if (method === 'GET' || method === 'DELETE') return null;
  const isInChannel = path.startsWith('/api/channels/');
  if (!isInChannel && body === undefined && image === undefined) return null;
  return `${method} ${toObject(path)}`;
}

/** A parameter of a path. Values that would lead to another path, such as `..`, are refused. */
function toPathSegment(name: string, value: string): string {
  if (/^\.{0,2}$/.test(value)) throw new TypeError(`${name} must not be ${value === '' ? 'empty' : `"${value}"`}.`);
  return encodeURIComponent(value);
}

/** Why an attempt failed. `fetch` says it in the cause of its error only. */
function toReason(failure: unknown): string {
  const { cause } = failure as { cause?: unknown };
  return cause instanceof Error && cause.message ? cause.message : (failure as Error).message;
}

async function readBody(response: Response): Promise<unknown> {
  const text = await response.text();
  if (text === '') return undefined;
  if (response.headers.get('content-type')?.includes('json')) return JSON.parse(text) as unknown;
  if (response.ok) throw new Error(`The answer is not from the API: it is ${response.headers.get('content-type') ?? 'of no type'}.`);
  return undefined;
}
