import type { ErrorCode } from './generated/types.ts';

/** A faulty field of a request. */
export interface FieldFault {
  /** A JSON pointer such as `/embeds/0/title`, or the name of a command's option. */
  path: string;
  /** What is wrong, for people. */
  message: string;
}

/** The body of a response as an object. Something in front of the API may send anything. */
const toFields = (body: unknown): Record<string, unknown> => (typeof body === 'object' && body !== null ? { ...body } : {});
const isText = (value: unknown): value is string => typeof value === 'string';
const toList = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

function isFault(value: unknown): value is FieldFault {
  const { path, message } = toFields(value);
  return isText(path) && isText(message);
}

/** Whether the body of a response is a refusal of the API, which always names its code and the request. Those of a proxy do not. */
export function isApiRefusal(body: unknown): boolean {
  const { code, requestId } = toFields(body);
  return isText(code) && isText(requestId);
}

/** The API refused a request. Tell errors apart by `code`; texts may change. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** The HTTP status. */
  readonly status: number;
  /** The stable name of the error. Undefined if something in front of the API answered, such as a proxy. */
  readonly code: ErrorCode | undefined;
  /** The faulty fields of the request. */
  readonly fields: readonly FieldFault[];
  /** The names of the permissions that the bot lacks. */
  readonly missing: readonly string[];
  /** How long to wait before another try, in seconds, if the API says so. */
  readonly retryAfter: number | undefined;
  /** The id of the request, which the log of the service has too. */
  readonly requestId: string | undefined;

  constructor(request: string, status: number, body: unknown, headers: Headers) {
    const { code, message, requestId, errors, missing, retryAfter } = toFields(body);
    const name = isText(code) ? (code as ErrorCode) : undefined;
    const fields = toList(errors).filter(isFault);
    super(`${request}: ${status}${name ? ` ${name}` : ''}. ${describe(isText(message) ? message : undefined, fields)}`);
    this.status = status;
    this.code = name;
    this.fields = fields;
    this.missing = toList(missing).filter(isText);
    this.retryAfter = typeof retryAfter === 'number' ? retryAfter : readRetryAfter(headers);
    this.requestId = isText(requestId) ? requestId : (headers.get('x-request-id') ?? undefined);
  }
}

/** What the API says about a refusal. Its text names the fields, so they are listed only where it does not say what is wrong with them. */
function describe(message: string | undefined, errors: readonly FieldFault[]): string {
  if (message === undefined) return 'The answer is not from the API.';
  if (errors.every((fault) => message.includes(fault.message.replace(/\.$/, '')))) return message;
  const start = message.replace(/: check [^:]*$/, ':');
  return `${start} ${errors.map((fault) => `${fault.path}: ${fault.message}`).join(' ')}`;
}

/** The header `Retry-After`, in seconds: a number, or a date. */
function readRetryAfter(headers: Headers): number | undefined {
  const text = headers.get('retry-after')?.trim() ?? '';
  if (/^\d+(?:\.\d+)?$/.test(text)) return Number(text);
  const now = Date.parse(headers.get('date') ?? '');
  const until = Date.parse(text);
  return Number.isNaN(until) ? undefined : Math.max(0, (until - (Number.isNaN(now) ? Date.now() : now)) / 1000);
}

/** A request got no answer: the network failed, or the time was over. `cause` is the last failure. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
}

/** The gateway refused the bot for good: another attempt cannot succeed. */
export class GatewayError extends Error {
  override readonly name = 'GatewayError';
  /** The close code of the gateway (4002, 4004 or 4012). */
  readonly closeCode: number;

  constructor(closeCode: number, reason: string) {
    super(`The gateway refused the connection: ${reason}`);
    this.closeCode = closeCode;
  }
}
