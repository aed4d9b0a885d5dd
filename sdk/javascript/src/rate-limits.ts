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
  take(...signals: readonly AbortSignal[]): Promise<void> {
    const turn = this.#queue.then(() => this.#takeNext(signals));
    this.#queue = turn.catch(() => undefined);
    return turn;
  }

  async #takeNext(signals: readonly AbortSignal[]): Promise<void> {
    for (;;) {
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
    if (limit > remaining && resetAfterMs > 0) this.#refillMs = resetAfterMs / (limit - remaining);
    this.#tokens = Math.min(this.#tokens, remaining);
  }

  block(ms: number): void {
    this.#blockedUntil = Math.max(this.#blockedUntil, performance.now() + ms);
  }
}

/** The first request of a route. Its answer tells which bucket the route has. */
interface Probe {
  ended: Promise<void>;
  end: () => void;
}

/** Buckets that all requests of the caller share. The others are for one interaction, webhook or channel each. */
const sharedBuckets: readonly string[] = ['caller', 'address', 'login', 'application'];
const bucketsKept = 1_000;
/** For this long other requests of a route wait for the answer to its first one. */
const probeMs = 2_000;

/** Delays requests so that the API need not refuse them. It learns the bucket of each route from the headers of the responses. */
export class RateLimits {
  /** The name of the bucket of each route; null if it has none. */
  readonly #bucketOfRoute = new Map<string, string | null>();
  readonly #buckets = new Map<string, Bucket>();
  readonly #probes = new Map<string, Probe>();

  #find(route: string, path: string): Bucket | undefined {
    const name = this.#bucketOfRoute.get(route);
    if (!name) return undefined;
    const key = sharedBuckets.includes(name) ? name : `${name} ${path.split('/').slice(0, 4).join('/')}`;
    const bucket = this.#buckets.get(key) ?? new Bucket();
    this.#buckets.delete(key);
    this.#buckets.set(key, bucket); // last, so that the buckets unused for longest are first
    const [oldest] = this.#buckets.keys();
    if (this.#buckets.size > bucketsKept && oldest !== undefined) this.#buckets.delete(oldest);
    return bucket;
  }

  /** Resolves when a request of this route may be sent. The answer to the first one tells the limit, so the others wait for it, unless they are urgent. */
  async take(route: string, path: string, isUrgent: boolean, ...signals: readonly AbortSignal[]): Promise<void> {
    if (!this.#bucketOfRoute.has(route) && !isUrgent) {
      const probe = this.#probes.get(route);
      if (!probe) return this.#startProbe(route);
      await waitFor(probe.ended, probeMs, ...signals);
    }
    await this.#find(route, path)?.take(...signals);
  }

  #startProbe(route: string): void {
    let end = (): void => undefined;
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    this.#probes.set(route, { ended, end });
  }

  /** Reads the headers of a response. */
  update(route: string, path: string, headers: Headers): void {
    const name = headers.get('x-ratelimit-bucket');
    if (name) this.#bucketOfRoute.set(route, name);
    else if (!this.#bucketOfRoute.has(route)) this.#bucketOfRoute.set(route, null);
    if (name) {
      const [limit, remaining, resetAfter] = ['limit', 'remaining', 'reset-after'].map((one) => Number(headers.get(`x-ratelimit-${one}`)));
      if (limit) this.#find(route, path)?.update(limit, remaining ?? 0, (resetAfter ?? 0) * 1000);
    }
    this.endProbe(route);
  }

  /** Lets the requests go that wait for the answer to the first one of their route, also if there is none. */
  endProbe(route: string): void {
    this.#probes.get(route)?.end();
    this.#probes.delete(route);
  }

  /** Holds the requests of the route's bucket back for `ms` milliseconds. */
  block(route: string, path: string, ms: number): void {
    this.#find(route, path)?.block(ms);
  }
}
