/** How the endpoint of one application replied lately. */
export interface EndpointTime {
  applicationId: string;
  /** Requests that were looked at, and how many of them got no good reply. */
  posts: number;
  failed: number;
  meanMs: number;
  p95Ms: number;
}

/** What a process remembers of the requests it made to endpoints. */
export interface EndpointTimes {
  /** Notes one request: whose endpoint, how long it took, and whether its reply was one. */
  note(applicationId: string, ms: number, ok: boolean): void;
  /** The slowest endpoints of the last 5 minutes, slowest first, by the time that 95 of 100 requests kept to. */
  slowest(): EndpointTime[];
}

/** How far back it looks, in milliseconds. */
const windowMs = 5 * 60_000;
/** How many requests of an application are remembered, of how many applications, and how many of these are told: each is a label of a metric. */
const postsMax = 50;
const applicationsMax = 500;
const toldMax = 10;

interface Post {
  at: number;
  ms: number;
  ok: boolean;
}

function summary(applicationId: string, posts: readonly Post[]): EndpointTime {
  const sorted = posts.map(({ ms }) => ms).sort((one, other) => one - other);
  return {
    applicationId,
    posts: posts.length,
    failed: posts.filter(({ ok }) => !ok).length,
    meanMs: sorted.reduce((sum, ms) => sum + ms, 0) / sorted.length,
    p95Ms: sorted[Math.ceil(sorted.length * 0.95) - 1] ?? 0,
  };
}

/** Remembers requests to endpoints, within fixed bounds: past them the application that was asked longest ago is forgotten. `now` is monotonic, in milliseconds. */
export function createEndpointTimes(now: () => number = () => performance.now()): EndpointTimes {
  const known = new Map<string, Post[]>();
  return {
    note(applicationId, ms, ok) {
      const posts = known.get(applicationId) ?? [];
      posts.push({ at: now(), ms, ok });
      if (posts.length > postsMax) posts.shift();
      known.delete(applicationId); // last in the order of the map: the first is forgotten
      known.set(applicationId, posts);
      const [oldest] = known.keys();
      if (known.size > applicationsMax && oldest !== undefined) known.delete(oldest);
    },
    slowest() {
      const since = now() - windowMs;
      for (const [applicationId, posts] of known) {
        const recent = posts.filter(({ at }) => at >= since);
        if (recent.length === 0) known.delete(applicationId);
        else known.set(applicationId, recent);
      }
      return [...known]
        .map(([applicationId, posts]) => summary(applicationId, posts))
        .sort((one, other) => other.p95Ms - one.p95Ms)
        .slice(0, toldMax);
    },
  };
}
