/**
 * One kind of error response (docs/behavior/requests.md#error-codes): its HTTP status and its text for people. `from` is `spec` if the code is
 * from the specification, and `house` if it was chosen by this project.
 */
interface ErrorDefinition {
  status: number;
  text: string;
  from: 'spec' | 'house';
}

/** Every error code of the service (docs/behavior/requests.md#error-codes). `refuse` takes the values for the placeholders in braces. */
export const catalogue = {
  invalid_request: { status: 400, text: 'The request is not valid: {reason}.', from: 'house' },
  too_many_reactions: { status: 400, text: 'A message can have at most {limit}. Remove one first.', from: 'house' },
  too_many_pins: { status: 400, text: 'A channel can have at most {limit} pinned messages. Unpin one first.', from: 'house' },
  too_many_webhooks: { status: 400, text: 'A channel can have at most {limit} webhooks. Delete one first.', from: 'house' },
  too_many_followers: { status: 400, text: 'At most {limit} channels can follow an announcement channel.', from: 'house' },
  already_crossposted: { status: 400, text: 'This message has already been published.', from: 'house' },
  thread_exists: {
    status: 400,
    text: 'This message already has a thread. Open the channel’s thread list to find it; archived threads are listed there too.',
    from: 'house',
  },
  too_many_servers: { status: 400, text: 'An account can be in at most {limit} servers. Leave one first.', from: 'spec' },
  too_many_channels: { status: 400, text: 'A server can have at most {limit} channels. Delete one first.', from: 'house' },
  too_many_overwrites: { status: 400, text: 'A channel can have at most {limit} permission overwrites. Remove one first.', from: 'house' },
  too_many_roles: { status: 400, text: 'A server can have at most {limit} roles. Delete one first.', from: 'house' },
  too_many_applications: { status: 400, text: 'An account can own at most {limit} applications. Delete one first.', from: 'house' },
  too_many_invites: { status: 400, text: 'A server can have at most {limit} active invites. Delete one first.', from: 'house' },
  not_answered: {
    status: 400,
    text: 'This interaction has not been answered yet. Send the first answer to its callback URL.',
    from: 'house',
  },
  storage_full: {
    status: 400,
    text: 'Storage is full: {owner} can store at most {limit} MiB of files. Delete messages with files first.',
    from: 'house',
  },
  endpoint_unverified: { status: 400, text: 'The URL was not saved because the test request failed: {reason}.', from: 'house' },
  not_public: { status: 400, text: 'Only an application with a public bot can be listed. Make the bot public first.', from: 'spec' },
  team_server: { status: 400, text: 'Staff and developer servers cannot be listed in Discovery.', from: 'spec' },
  invalid_options: { status: 400, text: 'The command’s options are not valid: {reason}.', from: 'house' },
  owns_servers: { status: 400, text: 'This account owns servers: {servers}. Transfer or delete them first.', from: 'house' },
  unauthorized: { status: 401, text: '{hint}.', from: 'house' },
  two_factor_required: {
    status: 401,
    text: 'This account needs a code from its authenticator app or a recovery code as well.',
    from: 'house',
  },
  two_factor_invalid: { status: 401, text: 'This code is wrong or was already used.', from: 'house' },
  account_suspended: { status: 403, text: 'This account is suspended. Ask an operator of this installation.', from: 'house' },
  registration_closed: { status: 403, text: 'Registration is closed. Ask an operator of this installation for an account.', from: 'house' },
  invite_required: { status: 403, text: 'An invite is required to create an account. Open an invite link first.', from: 'house' },
  server_creation_restricted: { status: 403, text: 'Only operators of this installation can create servers.', from: 'house' },
  missing_permission: { status: 403, text: 'Missing permission: {permissions}.', from: 'house' },
  not_author: { status: 403, text: 'Only the author can edit this message.', from: 'house' },
  no_shared_server: { status: 403, text: 'You don’t share a server with this account.', from: 'house' },
  role_hierarchy: { status: 403, text: 'You can manage only roles and members below your highest role.', from: 'house' },
  bots_not_allowed: { status: 403, text: 'Bots cannot use this endpoint. Log in as a person.', from: 'house' },
  not_owner: { status: 403, text: 'Only the owner can do this.', from: 'house' },
  banned: { status: 403, text: 'You are banned from this server.', from: 'spec' },
  invites_paused: { status: 403, text: 'Invites to this server are paused.', from: 'spec' },
  not_found: { status: 404, text: 'This {what} doesn’t exist or you don’t have access.', from: 'house' },
  method_not_allowed: { status: 405, text: 'This path accepts only {allowed}.', from: 'house' },
  payload_too_large: { status: 413, text: 'The request body is larger than {limit}.', from: 'house' },
  unsupported_media_type: { status: 415, text: 'Unsupported content type. Send the body as {expected}.', from: 'house' },
  body_too_slow: {
    status: 408,
    text: 'The request body arrived too slowly. Send at least {rate} bytes per second.',
    from: 'house',
  },
  already_answered: { status: 409, text: 'This interaction has already been answered. Send a follow-up instead.', from: 'spec' },
  bot_offline: { status: 409, text: 'The bot is offline, so the command was not sent.', from: 'house' },
  already_linked: { status: 409, text: '{reason}.', from: 'house' },
  username_taken: { status: 409, text: 'This username is taken.', from: 'house' },
  secret_unreadable: {
    status: 409,
    text: 'The application’s signing secret cannot be decrypted because the platform’s encryption key was replaced. Reset the signing secret first.',
    from: 'house',
  },
  idempotency_conflict: { status: 409, text: 'This Idempotency-Key {reason}.', from: 'house' },
  interaction_expired: { status: 410, text: 'This interaction has expired.', from: 'spec' },
  rate_limited: { status: 429, text: 'Too many requests. Try again in {seconds} s.', from: 'house' },
  two_factor_locked: {
    status: 429,
    text: 'Too many wrong codes. Use a recovery code, or try again in {minutes} minutes.',
    from: 'house',
  },
  images_waiting: {
    status: 429,
    text: 'Too many of your images are waiting to be converted (limit: {limit} megapixels). Try again in {seconds} s.',
    from: 'house',
  },
  exported_recently: { status: 429, text: 'You can request your data once in 24 hours. Try again in {hours} h.', from: 'house' },
  slowmode: { status: 429, text: 'Slow mode is on in this channel. You can post again in {seconds} s.', from: 'house' },
  unavailable: {
    status: 503,
    text: 'The service is temporarily unavailable. Try again in a moment.',
    from: 'house',
  },
} as const satisfies Record<string, ErrorDefinition>;

/** A code of the catalogue. */
export type ErrorCode = keyof typeof catalogue;
type PlaceholderNames<T extends string> = T extends `${string}{${infer K}}${infer R}` ? K | PlaceholderNames<R> : never;
type Placeholders<C extends ErrorCode> = PlaceholderNames<(typeof catalogue)[C]['text']>;

/** One error in a body or in the options of a command. `path` is a JSON pointer (`/embeds/0/title`), or the name of an option. */
export interface FieldError {
  path: string;
  message: string;
  /** Set if an endpoint failed its ping: the failed step, the HTTP status (null without a response), and the duration in milliseconds. */
  step?: string;
  status?: number | null;
  ms?: number;
}

/** The optional fields of an error body (docs/behavior/requests.md#errors). `retryAfter` is in seconds. */
export interface RefusalExtra {
  errors?: FieldError[];
  missing?: string[];
  retryAfter?: number;
  /** Values of the `Allow` header of a 405. */
  allow?: string[];
  /** Leaves `code` out of the error body. Used when joining a server that Discovery does not list (docs/behavior/community.md#joining). */
  codeless?: true;
}

/** The error of a refused request. Identify it by `code`, never by its message. */
export class Refusal extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly extra: RefusalExtra;
  constructor(code: ErrorCode, message: string, extra: RefusalExtra) {
    super(message);
    this.name = `Refusal[${code}]`;
    this.code = code;
    this.status = catalogue[code].status;
    this.extra = extra;
  }
}

type RefuseArguments<C extends ErrorCode> = [Placeholders<C>] extends [never]
  ? [placeholders?: undefined, extra?: RefusalExtra]
  : [placeholders: Record<Placeholders<C>, string | number>, extra?: RefusalExtra];

/** Creates the refusal `code` without throwing it. `placeholders` has the values for the keys in braces of the text. `extra` is added to the error body. */
export function newRefusal<C extends ErrorCode>(code: C, ...rest: RefuseArguments<C>): Refusal {
  const [placeholders, extra] = rest;
  const values = (placeholders ?? {}) as Record<string, string | number>;
  const text = catalogue[code].text.replace(/\{(\w+)\}/g, (_, key: string) => String(values[key]));
  return new Refusal(code, text, extra ?? {});
}

/** Throws the refusal `code`: `refuse('too_many_roles', { limit: 250 })`. */
export function refuse<C extends ErrorCode>(code: C, ...rest: RefuseArguments<C>): never {
  throw newRefusal(code, ...rest);
}

/** The name of a field in a sentence, such as `embeds.0.title`. The path `/` becomes `the` and `part`, such as `the body`. */
const fieldName = (path: string, part: string): string => (path === '/' ? `the ${part}` : path.replace(/^\//, '').replaceAll('/', '.'));

/** The reason of an `invalid_request`: the names of the fields. If there is only one field, also its error. */
export function describeErrors(errors: readonly FieldError[], part: string): string {
  const [first, ...others] = errors;
  if (!first) return `check the ${part}`;
  if (others.length === 0) return `check ${fieldName(first.path, part)} (${first.message.replace(/\.$/, '')})`;
  return `check ${errors.map(({ path }) => fieldName(path, part)).join(', ')}`;
}

/** How many invalid fields an error response lists. */
const listedErrorsMax = 20;

/** Throws `invalid_request` with the first 20 of `errors`. `where` is the part of the request that was checked. */
export function refuseFields(errors: readonly FieldError[], where: 'body' | 'query' = 'body'): never {
  const listed = errors.slice(0, listedErrorsMax);
  return refuse('invalid_request', { reason: describeErrors(listed, where) }, { errors: listed });
}

/** Throws `invalid_request` if there are `errors`. A rule collects all errors of the fields that it checks first. */
export function requireNoErrors(errors: readonly FieldError[]): void {
  if (errors.length > 0) refuseFields(errors);
}

/** Throws `invalid_request` for one field, with a sentence: `refuseField('/parentId', 'Choose a category of this server.')`. */
export const refuseField = (path: string, message: string): never => refuseFields([{ path, message }]);
