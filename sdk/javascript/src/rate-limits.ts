import { wait, waitFor } from './wait.ts';

/** The client's copy of one bucket of the API. Requests take its tokens in the order in which they came. */
class Bucket {
  #tokens = Number.POSITIVE_INFINITY;
  #limit = Number.POSITIVE_INFINITY;
  #refillMs = 0;
  #countedAt = performance.now();
  #blockedUntil = 0;
  #queue: Promise<void> = Promise.resolve();

  /** Resolves when a request may be sent. */
  async take(...signals: readonly AbortSignal[]): Promise<void> {
    const turn = this.#queue.then(() => this.#takeNext(signals));
    this.#queue = turn.catch(() => undefined);
    await waitFor(this.#queue, Number.POSITIVE_INFINITY, ...signals);
    await turn;
  }

  async #takeNext(signals: readonly AbortSignal[]): Promise<void> {
    for (;;) {
      for (const signal of signals) signal.throwIfAborted();
      this.#refill();
      const now = performance.now();
      const waitMs = Math.max(this.#blockedUntil - now, this.#tokens < 1 ? (1 - this.#tokens) * this.#refillMs : 0);
      if (waitMs <= 0) break;
      await wait(Math.ceil(waitMs), ...signals);
    }
    this.#tokens -= 1;
  }

  #refill(): void {
    const now = performance.now();
    if (this.#refillMs > 0) this.#tokens = Math.min(this.#limit, this.#tokens + (now - this.#countedAt) / this.#refillMs);
    this.#countedAt = now;
  }

  /** Takes over what the API says. Requests that are under way may not be counted in it, so it never raises the number of tokens. */
  update(limit: number, remaining: number, resetAfterMs: number): void {
    this.#refill();
    this.#limit = limit;
    // What remains is rounded down, so this is exact only when much was used, and too short otherwise.
    const refillMs = limit > remaining ? resetAfterMs / (limit - remaining) : 0;
    if (refillMs > this.#refillMs || (refillMs > 0 && remaining < limit / 2)) this.#refillMs = refillMs;
    this.#tokens = Math.min(this.#tokens, remaining);
  }

  block(ms: number): void {
    this.#blockedUntil = Math.max(this.#blockedUntil, performance.now() + ms);
  }
}

/** What the rate limits have to know of a request. */
interface Limited {
  /** The path with the names of its parameters in braces. */
  route: string;
  /** Whether the bot's token is sent. Default true. */
  needsToken?: boolean;
}

/** The first request of a route. Its answer tells which bucket the route has. */
interface Probe {
  ended: Promise<void>;
  end: () => void;
}

/** Buckets that all requests of the caller share. The others are for one interaction, webhook or channel each. */
const sharedBuckets: readonly string[] = ['caller', 'owner', 'address', 'login', 'application'];
const bucketsKept = 1_000;
/** For this long other requests of a route wait for the answer to its first one. */
const probeMs = 2_000;

/** The bucket that the headers of a response tell of; null if it is in none. */
const readBucketName = (headers: Headers): string | null => headers.get('x-ratelimit-bucket');

/** Delays requests so that the API need not refuse them. It learns the buckets of each route from the headers of the responses. */
export class RateLimits {
  /** The name of the bucket of each route; null if it has none. */
  readonly #bucketOfRoute = new Map<string, string | null>();
  /** Buckets that a route counts in as well. Responses tell of them when they refuse only. */
  readonly #moreOfRoute = new Map<string, Set<string>>();
  readonly #buckets = new Map<string, Bucket>();
  readonly #probes = new Map<string, Probe>();

  #find(name: string, path: string): Bucket {
    const key = sharedBuckets.includes(name) ? name : `${name} ${toObject(path)}`;
    const bucket = this.#buckets.get(key) ?? new Bucket();
    this.#buckets.delete(key);
    this.#buckets.set(key, bucket); // last, so that the buckets unused for longest are first
    const [oldest] = this.#buckets.keys();
    if (this.#buckets.size > bucketsKept && oldest !== undefined) this.#buckets.delete(oldest);
    return bucket;
  }

  /** The buckets of a request. Those of a route that has had no answer yet are assumed: what the same object has, and that of the caller. */
  #list(route: string, path: string, needsToken: boolean): Bucket[] {
    const name = this.#bucketOfRoute.get(route);
    if (name !== undefined) return [...(this.#moreOfRoute.get(route) ?? []), ...(name ? [name] : [])].map((one) => this.#find(one, path));
    const end = ` ${toObject(path)}`;
    return [...this.#buckets].filter(([key]) => key.endsWith(end) || (needsToken && key === 'caller')).map(([, bucket]) => bucket);
  }

  /**
   * Calls `send` when a request of this route may be sent; rejects with the reason of the first of `signals` that is aborted before. The answer to the first
   * request of a route tells the limit, so the others wait for it, unless they need no token: then somebody may wait for the answer to a command.
   */
  async run<T>(
    { route, needsToken = true }: Limited,
    path: string,
    send: () => Promise<T>,
    ...signals: readonly AbortSignal[]
  ): Promise<T> {
    const probe = needsToken && !this.#bucketOfRoute.has(route) ? this.#probes.get(route) : undefined;
    const isProbe = needsToken && !this.#bucketOfRoute.has(route) && !probe;
    if (isProbe) this.#startProbe(route);
    try {
      if (probe) await waitFor(probe.ended, probeMs, ...signals);
      for (const bucket of this.#list(route, path, needsToken)) await bucket.take(...signals);
      for (const signal of signals) signal.throwIfAborted();
      return await send();
    } finally {
      if (isProbe) this.#endProbe(route);
    }
  }

  #startProbe(route: string): void {
    let end = (): void => undefined;
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    this.#probes.set(route, { ended, end });
  }

  /** Reads the headers of a response. */
  update(route: string, path: string, { ok, status, headers }: Response): void {
    const name = readBucketName(headers);
    const known = this.#bucketOfRoute.get(route);
    if (known === undefined || (ok && name)) this.#bucketOfRoute.set(route, name);
    else if (status === 429 && name && name !== known && !sharedBuckets.includes(name))
      this.#moreOfRoute.set(route, (this.#moreOfRoute.get(route) ?? new Set()).add(name));
    if (name && this.#has(route, name)) {
      const [limit, remaining, resetAfter] = ['limit', 'remaining', 'reset-after'].map((one) => Number(headers.get(`x-ratelimit-${one}`)));
      if (limit) this.#find(name, path).update(limit, remaining ?? 0, (resetAfter ?? 0) * 1000);
    }
    this.#endProbe(route);
  }

  #has(route: string, name: string): boolean {
    return this.#bucketOfRoute.get(route) === name || this.#moreOfRoute.get(route)?.has(name) === true;
  }

  /** Lets the requests go that wait for the answer to the first one of their route, also if there is none. */
  #endProbe(route: string): void {
    this.#probes.get(route)?.end();
    this.#probes.delete(route);
  }

  /** Holds the requests of the bucket that has refused one back for `ms` milliseconds. If the refusal names another bucket, the route's own bucket is held. */
  block(route: string, path: string, headers: Headers, ms: number): void {
    const name = readBucketName(headers);
    const held = name && this.#has(route, name) ? name : this.#bucketOfRoute.get(route);
    if (held) this.#find(held, path).block(ms);
  }
}

/** The channel, interaction or other object that a path begins with. */
export const toObject = (path: string): string => path.split('/').slice(0, 4).join('/');
