import { setTimeout as pause } from 'node:timers/promises';

/** Thrown for a response with an error status. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string | undefined;
  /** What the API says about the error, in words. Unlike `message` it does not contain the path, which may have a token in it. */
  readonly reason: string;
  /** How long to wait before a retry, in seconds, if the API says so. */
  readonly retryAfter: number | undefined;
  constructor(call: string, status: number, body: unknown) {
    const details = (typeof body === 'object' && body !== null ? body : {}) as { code?: string; message?: string; retryAfter?: number };
    super(`${call} failed with status ${status} ${details.code ?? ''} ${details.message ?? ''}`.trimEnd());
    this.status = status;
    this.code = details.code;
    this.reason = details.message ?? '';
    this.retryAfter = details.retryAfter;
  }
}

/** Calls one API: `call<Server>('POST', '/api/servers', { name })`. Returns the JSON body, or undefined for a 204; throws `ApiError` for an error status. */
export type Call = <T = unknown>(method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>) => Promise<T>;

/**
 * Makes a client for the API at `baseUrl`. `credential` is the Authorization header, such as `Bot …` or `Bearer …`; without it, requests are unauthenticated.
 */
export const apiClient =
  (baseUrl: string, credential?: string): Call =>
  async <T>(method: string, path: string, body?: unknown, headers: Readonly<Record<string, string>> = {}): Promise<T> => {
    const response = await fetch(baseUrl + path, {
      method,
      headers: {
        ...(credential && { authorization: credential }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(15_000),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json') === true;
    const value: unknown = text && isJson ? JSON.parse(text) : undefined;
    if (!response.ok) throw new ApiError(`${method} ${path}`, response.status, value);
    return value as T;
  };

/** Longer than the 30 s for which a request of a killed process reserves its Idempotency-Key (docs/behavior/requests.md#idempotency). */
const retryForMs = 40_000;

/** Wraps `call`: retries for up to 40 s while the API responds with `rate_limited` or `idempotency_conflict`. */
export const withRetries =
  (call: Call): Call =>
  async <T>(...request: Parameters<Call>): Promise<T> => {
    for (const until = performance.now() + retryForMs; ; ) {
      try {
        return await call<T>(...request);
      } catch (error) {
        const isTemporary = error instanceof ApiError && (error.code === 'rate_limited' || error.code === 'idempotency_conflict');
        if (!isTemporary || performance.now() > until) throw error;
        await pause((error.retryAfter ?? 1) * 1000);
      }
    }
  };
