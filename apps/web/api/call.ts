import { describeRefusal, type RequestLine } from './error-texts.ts';
import { reportRefusedCredential, shownAccountHeaders } from './shown-account.ts';

/** An error of the API with its message (docs/behavior/requests.md#errors). If the API could not be reached, `status` is 0 and `code` is `unreachable`. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  /** What is wrong with each field. `path` is a JSON pointer or an option name. */
  readonly errors: readonly { path: string; message: string }[];
  /** The permissions that the caller lacks. */
  readonly missing: readonly string[];
  /** The number of seconds to wait before trying again; null when the response does not contain it. */
  readonly retryAfter: number | null;

  constructor(status: number, body: Partial<Pick<ApiError, 'code' | 'message' | 'errors' | 'missing' | 'retryAfter'>>) {
    super(body.message ?? `Something went wrong (HTTP status ${status}). Try again later.`);
    this.status = status;
    this.code = body.code ?? '';
    this.errors = body.errors ?? [];
    this.missing = body.missing ?? [];
    this.retryAfter = body.retryAfter ?? null;
  }

  /** Returns what is wrong with one field; undefined when the field has no error. */
  at(path: string): string | undefined {
    return this.errors.find((one) => one.path === path)?.message;
  }
}

/** Creates the `ApiError` for a request that got no response. */
export const unreachable = (): ApiError =>
  new ApiError(0, { code: 'unreachable', message: 'Can’t connect to Parlance. Check your connection and try again.' });

/** Converts any thrown value into an `ApiError`, so that every error is shown in the same way. */
export const asApiError = (fault: unknown): ApiError =>
  fault instanceof ApiError
    ? fault
    : new ApiError(0, { code: 'client_fault', message: 'Something went wrong on this page. Reload it and try again.' });

/**
 * Reads the body of a response to `request`: JSON, or undefined when it is empty. Throws `ApiError`, whose message is for people, for a status outside
 * 200–299 and for invalid JSON. Reports a refused credential.
 */
export function parseResponse<T>(status: number, text: string, request: RequestLine): T {
  let body: unknown;
  try {
    body = text === '' ? undefined : JSON.parse(text);
  } catch {
    throw new ApiError(status, {});
  }
  if (status >= 200 && status < 300) return body as T;
  // The fields of a GET are parts of its URL, which the page has composed.
  const error = new ApiError(status, { ...(body as Partial<ApiError> | undefined), ...(request.method === 'GET' && { errors: [] }) });
  const { code, errors, missing } = error;
  error.message = describeRefusal({ status, code, errors, missing, message: (body as { message?: string } | undefined)?.message, request });
  if (error.code === 'unauthorized') reportRefusedCredential();
  throw error;
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Options of a call, besides its body. */
export interface CallOptions {
  /** The `Idempotency-Key` of a create request: a repeated request with the same key gets the same response, and nothing is created twice. */
  key?: string;
  signal?: AbortSignal;
  /** Whether the request continues after the page that made it is closed. */
  keepalive?: boolean;
  /** Whether the request is for whatever account is logged in, and not only for the one that the page shows. */
  anyAccount?: boolean;
}

const pause = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));
/** How many times a GET is retried automatically after 429 or 503, and the longest `retryAfter` that is waited for, in seconds. */
const readRetries = { times: 2, maxSecs: 5 };

async function sendOnce<T>(
  method: Method,
  path: string,
  body: unknown,
  { key, signal, keepalive = false, anyAccount = false }: CallOptions,
): Promise<T> {
  const raw = body instanceof Blob;
  let response: Response;
  let text: string;
  try {
    response = await fetch(path, {
      method,
      credentials: 'same-origin',
      keepalive,
      headers: {
        ...(!anyAccount && shownAccountHeaders()),
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
  return parseResponse<T>(response.status, text, { method, path, isPicture: raw });
}

/**
 * Calls the public HTTP API with the session cookie. `body` is sent as JSON; a Blob is sent unchanged. Throws `ApiError`. A GET that gets 429 or 503 is
 * retried automatically, at most twice.
 */
export async function call<T = void>(method: Method, path: string, body?: unknown, options: CallOptions = {}): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await sendOnce<T>(method, path, body, options);
    } catch (fault) {
      const retryAfterSecs = fault instanceof ApiError && (fault.status === 429 || fault.status === 503) ? (fault.retryAfter ?? 1) : null;
      if (method !== 'GET' || retryAfterSecs === null || retryAfterSecs > readRetries.maxSecs || tries >= readRetries.times) throw fault;
      await pause(retryAfterSecs * 1000);
    }
  }
}

/** Builds a path and URL-encodes each inserted value: ``path`/api/channels/${id}` ``. */
export const path = (strings: TemplateStringsArray, ...values: (string | number)[]): string =>
  String.raw(strings, ...values.map((value) => encodeURIComponent(value)));

/** Builds the query string `?a=1&b=2` from the values that are defined and not empty; returns an empty string when there are none. */
export function query(values: Record<string, string | number | undefined>): string {
  const given = Object.entries(values).filter((entry): entry is [string, string | number] => entry[1] !== undefined && entry[1] !== '');
  return given.length ? `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}` : '';
}
