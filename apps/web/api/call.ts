/** An error of the API with its message (docs/behavior/requests.md#errors). If the API could not be reached, `status` is 0 and `code` is `unreachable`. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  /** What is wrong with which field, by JSON pointer or option name. */
  readonly errors: readonly { path: string; message: string }[];
  /** The permissions that the caller lacks. */
  readonly missing: readonly string[];
  /** After how many seconds to try again; null when the answer does not say. */
  readonly retryAfter: number | null;

  constructor(status: number, body: Partial<Pick<ApiError, 'code' | 'message' | 'errors' | 'missing' | 'retryAfter'>>) {
    super(body.message ?? `The service answered ${status}.`);
    this.status = status;
    this.code = body.code ?? '';
    this.errors = body.errors ?? [];
    this.missing = body.missing ?? [];
    this.retryAfter = body.retryAfter ?? null;
  }

  /** What is wrong with one field; undefined when nothing is. */
  at(path: string): string | undefined {
    return this.errors.find((one) => one.path === path)?.message;
  }
}

/** What an `ApiError` is when no answer came. */
export const unreachable = (): ApiError =>
  new ApiError(0, { code: 'unreachable', message: 'Parlance cannot be reached. Check the connection, then try again.' });

/** Any fault as an `ApiError`, so that every refusal is shown in the same way. */
export const asApiError = (fault: unknown): ApiError =>
  fault instanceof ApiError
    ? fault
    : new ApiError(0, { code: 'client_fault', message: fault instanceof Error ? fault.message : String(fault) });

/** Reads an answer's body: JSON, or undefined when it is empty. */
export function readAnswer<T>(status: number, text: string): T {
  let body: unknown;
  try {
    body = text === '' ? undefined : JSON.parse(text);
  } catch {
    throw new ApiError(status, {});
  }
  if (status >= 200 && status < 300) return body as T;
  throw new ApiError(status, body ?? {});
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** What a call may carry besides its body. */
export interface CallOptions {
  /** `Idempotency-Key` of a create: the same key gives the same answer, and nothing is made twice. */
  key?: string;
  signal?: AbortSignal;
  /** Whether the call outlives the page that makes it. */
  keepalive?: boolean;
}

const pause = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));
/** How often a read is tried again by itself when the service says "later", and the longest it waits for that, in seconds. */
const readAgain = { times: 2, mostSecs: 5 };

async function once<T>(method: Method, path: string, body: unknown, { key, signal, keepalive = false }: CallOptions): Promise<T> {
  const raw = body instanceof Blob;
  let response: Response;
  let text: string;
  try {
    response = await fetch(path, {
      method,
      credentials: 'same-origin',
      keepalive,
      headers: {
        ...(body !== undefined && { 'Content-Type': raw ? body.type : 'application/json' }),
        ...(key !== undefined && { 'Idempotency-Key': key }),
      },
      ...(body !== undefined && { body: raw ? body : JSON.stringify(body) }),
      ...(signal && { signal }),
    });
    text = await response.text();
  } catch (fault) {
    if (signal?.aborted) throw fault;
    throw unreachable();
  }
  return readAnswer<T>(response.status, text);
}

/**
 * One call of the public HTTP API, by the session's cookie. `body` is sent as JSON, a Blob as it is. Throws `ApiError`; a read that is
 * told to come later (429, 503) comes again twice by itself.
 */
export async function call<T = void>(method: Method, path: string, body?: unknown, options: CallOptions = {}): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await once<T>(method, path, body, options);
    } catch (fault) {
      const later = fault instanceof ApiError && (fault.status === 429 || fault.status === 503) ? (fault.retryAfter ?? 1) : null;
      if (method !== 'GET' || later === null || later > readAgain.mostSecs || tries >= readAgain.times) throw fault;
      await pause(later * 1000);
    }
  }
}

/** A path with each hole filled in, encoded: ``path`/api/channels/${id}` ``. */
export const path = (strings: TemplateStringsArray, ...holes: (string | number)[]): string =>
  String.raw(strings, ...holes.map((hole) => encodeURIComponent(hole)));

/** `?a=1&b=2` of what is given; empty when nothing is. */
export function query(values: Record<string, string | number | undefined>): string {
  const given = Object.entries(values).filter((entry): entry is [string, string | number] => entry[1] !== undefined && entry[1] !== '');
  return given.length ? `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}` : '';
}
