import { ApiError, ConnectionError } from './errors.ts';
import { type FileInput, toForm } from './files.ts';
import { RateLimits } from './rate-limits.ts';
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
/** For this long a request waits for an earlier attempt of its own that still runs or whose process died, in milliseconds. */
const conflictMs = 45_000;
const warningsKept = 1_000;

/** What an attempt of a request ended with. */
type Attempt = { response: Response; body: unknown } | { failure: unknown };

/** Sends requests: waits for rate limits, repeats what failed, and turns refusals into `ApiError`. */
export class Rest {
  readonly #options: RestOptions;
  readonly #limits = new RateLimits();
  readonly #warnings = new Set<string>();

  constructor(options: RestOptions) {
    this.#options = options;
  }

  /** Sends a request of the API. */
  async send<T>(request: ApiRequest, options: UploadOptions = {}): Promise<T> {
    const { method, route } = request;
    const { signal } = options;
    const values = [...(request.path ?? [])];
    const path = route.replace(/\{(\w+)\}/g, (_, name: string) => toPathSegment(name, values.shift() ?? ''));
    const key = request.creates ? (options.idempotencyKey ?? crypto.randomUUID()) : undefined;
    const isRepeatable = method !== 'POST' || key !== undefined;
    const startedAt = performance.now();
    let hasFailed = false;
    for (let retries = 0; ; ) {
      await this.#limits.take(route, path, signal);
      const attempt = await this.#attempt(request, path, key, options);
      if ('failure' in attempt) {
        if (signal?.aborted) throw signal.reason;
        if (!isRepeatable || retries >= this.#options.maxRetries)
          throw new ConnectionError(`${method} ${route}: no answer from ${this.#options.url}.`, { cause: attempt.failure });
      } else {
        const { response, body } = attempt;
        if (response.ok) return body as T;
        const error = new ApiError(`${method} ${route}`, response.status, body, response.headers);
        const waitMs = (error.retryAfter ?? 1) * 1000;
        // An earlier attempt may have deleted it without an answer.
        if (method === 'DELETE' && hasFailed && error.status === 404) return undefined as T;
        if (error.code === 'rate_limited' && waitMs <= longestRateLimitMs) {
          this.#limits.block(route, path, waitMs);
          await wait(waitMs, signal);
          continue;
        }
        if (error.code === 'idempotency_conflict' && hasFailed && performance.now() - startedAt < conflictMs) {
          await wait(waitMs, signal);
          continue;
        }
        if (error.status < 500 || !isRepeatable || retries >= this.#options.maxRetries) throw error;
        if (error.retryAfter !== undefined) await wait(Math.min(waitMs, retryMs.most), signal);
      }
      hasFailed = true;
      await wait(backoffMs(retries++, retryMs.first, retryMs.most), signal);
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
    if (files.length > 0) init.body = toForm(body, files);
    else if (image !== undefined) {
      init.body = image;
      headers['content-type'] = image.type;
    } else if (body !== undefined) {
      init.body = JSON.stringify(body);
      headers['content-type'] = 'application/json';
    }
    const limit = AbortSignal.timeout(options.timeoutMs ?? (files.length > 0 ? uploadMs : attemptMs));
    try {
      const response = await fetch(url, { ...init, signal: signal ? AbortSignal.any([signal, limit]) : limit });
      this.#limits.update(route, path, response.headers);
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

/** A parameter of a path. Values that would lead to another path, such as `..`, are refused. */
function toPathSegment(name: string, value: string): string {
  if (/^\.{0,2}$/.test(value)) throw new TypeError(`${name} must not be ${value === '' ? 'empty' : `"${value}"`}.`);
  return encodeURIComponent(value);
}

async function readBody(response: Response): Promise<unknown> {
  const text = await response.text();
  if (text === '' || !response.headers.get('content-type')?.includes('json')) return undefined;
  return JSON.parse(text) as unknown;
}
