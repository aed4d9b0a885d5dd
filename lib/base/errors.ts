/** One refusal the service can answer: its HTTP status, the text for people, and whether the spec or the house chose it. */
interface Entry {
  status: number;
  text: string;
  from: 'spec' | 'house';
}

/** Every refusal the service can answer (decisions 1). Holes in a text are the keys that `refuse` asks for. */
export const catalogue = {
  invalid_request: { status: 400, text: 'The request is not valid: {reason}.', from: 'house' },
  too_many_reactions: { status: 400, text: 'A message holds at most {limit}. Remove one first.', from: 'house' },
  too_many_pins: { status: 400, text: 'A channel holds at most {limit} pins. Unpin one first.', from: 'house' },
  too_many_webhooks: { status: 400, text: 'A channel has at most {limit} webhooks. Delete one first.', from: 'house' },
  too_many_followers: { status: 400, text: 'A channel has at most {limit} followers.', from: 'house' },
  already_crossposted: { status: 400, text: 'This message was crossposted already.', from: 'house' },
  thread_exists: {
    status: 400,
    text: 'This message has a thread already: look for it among the channel’s threads, where archived ones are listed too.',
    from: 'house',
  },
  too_many_servers: { status: 400, text: 'An account can be in at most {limit} servers.', from: 'spec' },
  too_many_channels: { status: 400, text: 'A server holds at most {limit} channels. Delete one first.', from: 'house' },
  too_many_roles: { status: 400, text: 'A server holds at most {limit} roles. Delete one first.', from: 'house' },
  too_many_applications: { status: 400, text: 'An account owns at most {limit} applications. Delete one first.', from: 'house' },
  too_many_invites: { status: 400, text: 'A server holds at most {limit} live invites. Delete one first.', from: 'house' },
  not_answered: {
    status: 400,
    text: 'This interaction has no answer yet: answer it by its callback first, or by a follow-up if it is deferred.',
    from: 'house',
  },
  endpoint_unverified: { status: 400, text: 'The URL was not saved, as it did not pass its ping: {reason}.', from: 'house' },
  not_public: { status: 400, text: 'Only an application whose bot is public can be listed. Make it public first.', from: 'spec' },
  team_server: { status: 400, text: 'Staff and developer servers are never listed in Discovery.', from: 'spec' },
  invalid_options: { status: 400, text: 'The options of this command are not right: {reason}.', from: 'house' },
  unauthorized: { status: 401, text: 'This needs a valid credential: {hint}.', from: 'house' },
  missing_permission: { status: 403, text: 'This needs the permission {permissions}.', from: 'house' },
  not_author: { status: 403, text: 'Only the author can edit a message.', from: 'house' },
  no_shared_server: { status: 403, text: 'You share no server with this account.', from: 'house' },
  role_hierarchy: { status: 403, text: 'The target stands as high as your highest role, or higher.', from: 'house' },
  bots_not_allowed: { status: 403, text: 'Bots cannot use this route; log in as a person.', from: 'house' },
  not_owner: { status: 403, text: 'Only the owner can do this.', from: 'house' },
  banned: { status: 403, text: 'You are banned from this server.', from: 'spec' },
  invites_paused: { status: 403, text: 'This server has paused its invites.', from: 'spec' },
  not_found: { status: 404, text: 'There is no such {what}, or you may not know of it.', from: 'house' },
  method_not_allowed: { status: 405, text: 'This path takes {allowed}.', from: 'house' },
  payload_too_large: { status: 413, text: 'The body is larger than {limit}.', from: 'house' },
  unsupported_media_type: { status: 415, text: 'Send the body as {expected}.', from: 'house' },
  body_too_slow: {
    status: 408,
    text: 'The body came too slowly: it must come at {rate} bytes a second at least. Send it again.',
    from: 'house',
  },
  already_answered: { status: 409, text: 'This interaction was already answered; use a follow-up.', from: 'spec' },
  bot_offline: { status: 409, text: 'The bot is offline, so the command was not sent.', from: 'house' },
  username_taken: { status: 409, text: 'That username is taken.', from: 'house' },
  secret_unreadable: {
    status: 409,
    text: 'The application’s signing secret cannot be decrypted, because the server’s key was replaced. Reset the signing secret first.',
    from: 'house',
  },
  idempotency_conflict: { status: 409, text: 'This Idempotency-Key {reason}.', from: 'house' },
  interaction_expired: { status: 410, text: 'The time to answer this interaction is over.', from: 'spec' },
  rate_limited: { status: 429, text: 'Too many requests. Wait {seconds} s.', from: 'house' },
  images_waiting: {
    status: 429,
    text: 'Too many of your images wait to be converted: at most {limit} megapixels may. Wait {seconds} s.',
    from: 'house',
  },
  slowmode: { status: 429, text: 'Slow mode is on in this channel. Wait {seconds} s.', from: 'house' },
  unavailable: {
    status: 503,
    text: 'The service cannot reach what it needs, or is not done with it yet. Try again; a write with its Idempotency-Key, as it may have been stored.',
    from: 'house',
  },
} as const satisfies Record<string, Entry>;

/** A code of the catalogue. */
export type ErrorCode = keyof typeof catalogue;
type Holes<T extends string> = T extends `${string}{${infer K}}${infer R}` ? K | Holes<R> : never;
type Fill<C extends ErrorCode> = Holes<(typeof catalogue)[C]['text']>;

/** One thing that is wrong in a body: `path` is a JSON pointer (`/embeds/0/title`), or an option's name. */
export interface FieldError {
  path: string;
  message: string;
  /** Of an endpoint that did not pass its ping: the step that failed, the HTTP status if one came, and the milliseconds it took. */
  step?: string;
  status?: number | null;
  ms?: number;
}

/** What a refusal may add to the error body (decisions 1). `retryAfter` is in seconds. */
export interface RefusalExtra {
  errors?: FieldError[];
  missing?: string[];
  retryAfter?: number;
  /** Values of the `Allow` header of a 405. */
  allow?: string[];
  /** The error body holds no `code`: joining what is not listed in Discovery (spec, Errors). */
  codeless?: true;
}

/** A refusal on its way to the caller. Told apart by `code`, never by message. */
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

type Rest<C extends ErrorCode> = [Fill<C>] extends [never]
  ? [fill?: undefined, extra?: RefusalExtra]
  : [fill: Record<Fill<C>, string | number>, extra?: RefusalExtra];

/** The refusal `code`, for who hands it on instead of throwing it. The holes of the text are the keys of `fill`; `extra` joins the error body. */
export function newRefusal<C extends ErrorCode>(code: C, ...rest: Rest<C>): Refusal {
  const [fill, extra] = rest;
  const values = (fill ?? {}) as Record<string, string | number>;
  const text = catalogue[code].text.replace(/\{(\w+)\}/g, (_, key: string) => String(values[key]));
  return new Refusal(code, text, extra ?? {});
}

/** Throws the refusal `code`: `refuse('too_many_roles', { limit: 250 })`. */
export function refuse<C extends ErrorCode>(code: C, ...rest: Rest<C>): never {
  throw newRefusal(code, ...rest);
}

/** Throws `invalid_request` for one field: `refuseField('/replyTo', 'is not a message of this channel')`. */
export function refuseField(path: string, message: string): never {
  return refuse('invalid_request', { reason: `${path} ${message}` }, { errors: [{ path, message }] });
}
