import { wait } from './wait.ts';

/** The client's copy of one bucket of the API. Requests take its tokens in the order in which they came. */
class Bucket {
  #tokens = Number.POSITIVE_INFINITY;
  #limit = Number.POSITIVE_INFINITY;
  #refillMs = 0;
  #countedAt = performance.now();
  #blockedUntil = 0;
  #queue: Promise<void> = Promise.resolve();

  /** Resolves when a request may be sent. */
  take(signal?: AbortSignal): Promise<void> {
    const turn = this.#queue.then(() => this.#takeNext(signal));
    this.#queue = turn.catch(() => undefined);
    return turn;
  }

  async #takeNext(signal?: AbortSignal): Promise<void> {
    for (;;) {
      this.#refill();
      const now = performance.now();
      const waitMs = Math.max(this.#blockedUntil - now, this.#tokens < 1 ? (1 - this.#tokens) * this.#refillMs : 0);
      if (waitMs <= 0) break;
      await wait(Math.ceil(waitMs), signal);
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
    if (limit > remaining && resetAfterMs > 0) this.#refillMs = resetAfterMs / (limit - remaining);
    this.#tokens = Math.min(this.#tokens, remaining);
  }

  block(ms: number): void {
    this.#blockedUntil = Math.max(this.#blockedUntil, performance.now() + ms);
  }
}

/** Buckets that are for one interaction or webhook each. */
const isForOnePath = (bucket: string): boolean => bucket === 'interaction' || bucket === 'webhook';
const bucketsKept = 1_000;

/** Delays requests so that the API need not refuse them. It learns the bucket of each route from the headers of the responses. */
export class RateLimits {
  readonly #bucketOfRoute = new Map<string, string>();
  readonly #buckets = new Map<string, Bucket>();

  #find(route: string, path: string): Bucket | undefined {
    const name = this.#bucketOfRoute.get(route);
    if (name === undefined) return undefined;
    const key = isForOnePath(name) ? `${name} ${path.split('/').slice(0, 4).join('/')}` : name;
    const bucket = this.#buckets.get(key) ?? new Bucket();
    this.#buckets.delete(key);
    this.#buckets.set(key, bucket); // last, so that the buckets unused for longest are first
    const [oldest] = this.#buckets.keys();
    if (this.#buckets.size > bucketsKept && oldest !== undefined) this.#buckets.delete(oldest);
    return bucket;
  }

  /** Resolves when a request of this route may be sent. */
  async take(route: string, path: string, signal?: AbortSignal): Promise<void> {
    await this.#find(route, path)?.take(signal);
  }

  /** Reads the headers of a response. */
  update(route: string, path: string, headers: Headers): void {
    const name = headers.get('x-ratelimit-bucket');
    if (!name) return;
    this.#bucketOfRoute.set(route, name);
    const [limit, remaining, resetAfter] = ['limit', 'remaining', 'reset-after'].map((one) => Number(headers.get(`x-ratelimit-${one}`)));
    if (limit) this.#find(route, path)?.update(limit, remaining ?? 0, (resetAfter ?? 0) * 1000);
  }

  /** Holds the requests of the route's bucket back for `ms` milliseconds. */
  block(route: string, path: string, ms: number): void {
    this.#find(route, path)?.block(ms);
  }
}
