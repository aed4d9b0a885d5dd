/** The recent response times of one application's endpoint. */
export interface EndpointTime {
  applicationId: string;
  /** The number of requests, and how many of them got no valid response. */
  posts: number;
  failed: number;
  meanMs: number;
  p95Ms: number;
}

/** The recent requests of one process to endpoints. */
export interface EndpointTimes {
  /** Records one request to the endpoint of an application: its duration, and whether it got a valid response. */
  record(applicationId: string, ms: number, ok: boolean): void;
  /** The 10 slowest endpoints of the last 5 minutes by 95th percentile, slowest first. */
  slowest(): EndpointTime[];
}

/** The age up to which requests count, in milliseconds. */
const windowMs = 5 * 60_000;
/** How many requests are kept for each application, and for how many applications. */
const postsMax = 50;
const applicationsMax = 500;
/** How many applications are reported. The number is small because each one is a label value of a metric. */
const reportedMax = 10;

interface RequestRecord {
  at: number;
  ms: number;
  ok: boolean;
}

function summarize(applicationId: string, posts: readonly RequestRecord[]): EndpointTime {
  const sorted = posts.map(({ ms }) => ms).sort((one, other) => one - other);
  return {
    applicationId,
    posts: posts.length,
    failed: posts.filter(({ ok }) => !ok).length,
    meanMs: sorted.reduce((sum, ms) => sum + ms, 0) / sorted.length,
    p95Ms: sorted[Math.ceil(sorted.length * 0.95) - 1] ?? 0,
  };
}

/**
 * Records requests to endpoints within fixed bounds. When there are too many applications, the one whose last request is the oldest is dropped. `now` is a
 * monotonic clock in milliseconds.
 */
export function createEndpointTimes(now: () => number = () => performance.now()): EndpointTimes {
  const postsByApplication = new Map<string, RequestRecord[]>();
  return {
    record(applicationId, ms, ok) {
      const posts = postsByApplication.get(applicationId) ?? [];
      posts.push({ at: now(), ms, ok });
      if (posts.length > postsMax) posts.shift();
      postsByApplication.delete(applicationId); // moves it to the end of the map, whose first entry is dropped below
      postsByApplication.set(applicationId, posts);
      const [oldest] = postsByApplication.keys();
      if (postsByApplication.size > applicationsMax && oldest !== undefined) postsByApplication.delete(oldest);
    },
    slowest() {
      const since = now() - windowMs;
      for (const [applicationId, posts] of postsByApplication) {
        const recent = posts.filter(({ at }) => at >= since);
        if (recent.length === 0) postsByApplication.delete(applicationId);
        else postsByApplication.set(applicationId, recent);
      }
      return [...postsByApplication]
        .map(([applicationId, posts]) => summarize(applicationId, posts))
        .sort((one, other) => other.p95Ms - one.p95Ms)
        .slice(0, reportedMax);
    },
  };
}
