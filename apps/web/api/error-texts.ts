import { catalogue, type ErrorCode } from '../../../lib/base/errors.ts';

/** The parts of an error response that its text for people depends on, and the request that it answers. */
export interface Refused {
  status: number;
  code: string;
  message: string | undefined;
  errors: readonly { path: string; message: string }[];
  /** The permissions that the caller lacks. */
  missing: readonly string[];
  request: RequestLine;
}

/** The request that a response answers. */
export interface RequestLine {
  method: string;
  path: string;
  /** Whether its body is a picture. */
  isPicture: boolean;
}

/** The routes that check a password or code. Their 401 says what is wrong with it; that of other routes speaks of headers. */
const credentialRoutes = /^\/api\/auth\/(login|code|codes\/preview|password-reset|oidc)(\/|$|\?)/;

/** The texts for codes whose message describes a request, which the user of a page did not write. */
const texts: Partial<Record<ErrorCode | 'internal_error', string>> = {
  idempotency_conflict: 'This is already being sent. Wait a moment, then try again.',
  payload_too_large: 'This is too large to be sent.',
  unsupported_media_type: 'This kind of file isn’t supported here.',
  body_too_slow: 'Your connection is too slow for this. Try again later.',
  method_not_allowed: 'This page is out of date. Reload it and try again.',
  bots_not_allowed: 'Only people can do this.',
  missing_permission: 'You don’t have permission to do this.',
  internal_error: 'Something went wrong on the server. Try again later.',
};

const capitalize = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** Returns the name of a field in the words of a form: `/displayName` is `Display name`. The name of a command's option is kept. */
export function toFieldLabel(path: string): string {
  if (!path.startsWith('/')) return path;
  const words = path.slice(1).replaceAll(/([a-z])([A-Z])/g, (_, end: string, start: string) => `${end} ${start.toLowerCase()}`);
  return capitalize(words.replaceAll('/', ', '));
}

const describeFields = (errors: Refused['errors']): string =>
  errors.map(({ path, message }) => `${toFieldLabel(path)}: ${message}`).join(' ');

function describeInvalid({ request: { method, isPicture }, errors, message }: Refused): string {
  if (isPicture) return 'This picture can’t be read. Choose a PNG, JPEG, WebP or GIF file.';
  if (method === 'GET') return 'This link or search isn’t valid.';
  if (errors.length > 0) return describeFields(errors);
  const [introduction = ''] = catalogue.invalid_request.text.split('{');
  return message?.startsWith(introduction) ? capitalize(message.slice(introduction.length)) : (message ?? 'This isn’t possible.');
}

function describe(refused: Refused): string {
  const { status, code, message, missing, request } = refused;
  if (code === 'invalid_request') return describeInvalid(refused);
  if (code === 'invalid_options' && refused.errors.length > 0) return describeFields(refused.errors);
  if (code === 'unauthorized' && !credentialRoutes.test(request.path)) return 'You have been logged out. Log in again.';
  if (code === 'missing_permission' && missing.length === 0) return message ?? '';
  return texts[code as ErrorCode] ?? message ?? `Something went wrong (HTTP status ${status}). Try again later.`;
}

/**
 * Returns what a page says about a refused request. Messages of the API that speak of requests, headers and fields are replaced by their code, and sizes are
 * written as elsewhere in the pages.
 */
export const describeRefusal = (refused: Refused): string =>
  describe(refused).replaceAll(/\b([KMG])iB\b/g, (_, unit: string) => `${unit === 'K' ? 'k' : unit}B`);
