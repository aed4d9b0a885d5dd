/** An answer of the API that is no success. */
export class ApiFault extends Error {
  readonly status: number;
  readonly code: string | undefined;
  constructor(call: string, status: number, body: unknown) {
    const { code, message } = (typeof body === 'object' && body !== null ? body : {}) as { code?: string; message?: string };
    super(`${call} answered ${status} ${code ?? ''} ${message ?? ''}`.trimEnd());
    this.status = status;
    this.code = code;
  }
}

/** Calls one API: `call<Server>('POST', '/api/servers', { name })`. Answers the JSON body, undefined for a 204; throws `ApiFault` for a refusal. */
export type Call = <T = unknown>(method: string, path: string, body?: unknown) => Promise<T>;

/** Calls of the API at `baseUrl` with one credential, such as `Bot …`, `Bearer …` or none. */
export const apiClient =
  (baseUrl: string, credential?: string): Call =>
  async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const answer = await fetch(baseUrl + path, {
      method,
      headers: {
        ...(credential && { authorization: credential }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(15_000),
    });
    const text = await answer.text();
    const isJson = answer.headers.get('content-type')?.includes('json') === true;
    const value: unknown = text && isJson ? JSON.parse(text) : undefined;
    if (!answer.ok) throw new ApiFault(`${method} ${path}`, answer.status, value);
    return value as T;
  };
