import { type Static, type TArray, type TObject, type TSchema, Type } from 'typebox';
import type { ErrorCode } from '../../lib/base/errors.ts';
import { limits } from '../../lib/base/limits.ts';
import type { Client } from '../../lib/domain/accounts/sessions.ts';
import type { ReceivedFile } from '../../lib/domain/files/attachments.ts';
import type { Actor } from '../../lib/domain/members/access.ts';
import type { PageStart } from '../../lib/domain/messages/message-pages.ts';
import type { ApiPlatform } from '../../lib/store/platform.ts';
import type { Verdict } from '../../lib/store/redis/throttle.ts';

/** The HTTP methods that routes use. */
export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Who may call: any account, people only, or everyone (`none`). With `none`, a credential may be in the path, such as an interaction's token. */
export type Auth = 'account' | 'person' | 'none';

/** The rate limit bucket of a route: the caller's (without a caller, the address's), the strict bucket of logins, or none. */
export type RateLimit = 'caller' | 'login' | 'none';

type Holes<P extends string> = P extends `${string}{${infer K}}${infer R}` ? K | Holes<R> : never;

/** A reply with the status of the route's `orElse` instead of its usual status, with or without a body. */
export class OrElse {
  readonly body: unknown;
  constructor(body?: unknown) {
    this.body = body;
  }
}

/** A reply whose body is already serialized as JSON. */
export class Prepared {
  readonly json: Buffer;
  constructor(json: Buffer) {
    this.json = json;
  }
}

/** The input of a route, besides the platform and the actor. */
export interface Input<P extends string, Q, B> {
  params: Record<Holes<P>, string>;
  query: Q;
  body: B;
  /** The files of the body in their order; empty for a route without files. */
  files: readonly ReceivedFile[];
  /** The id for the resource that a route creates, or for the creation of a message. It is the same if the request is run again after a crash. */
  newId: string;
  /** Whether the request has an Idempotency-Key, so that it may be run again with the same `newId`. */
  isRepeatable: boolean;
  /** For a list of messages: what was read with and beside the preflight. */
  page: PageStart;
  address: string;
  /** The address and user agent of the request, for a session that it opens. */
  client: Client;
  /**
   * Counts a login attempt for a username, by username and address and by username alone. Waits when many addresses try the same username. Refuses
   * `rate_limited`.
   */
  takeLogin: (username: string) => Promise<void>;
  /** Sets the rate limit headers for a bucket of the route's own. Refuses `rate_limited` if the verdict says so (docs/behavior/requests.md#rate-limits). */
  tellRate: (bucket: string, verdict: Verdict) => void;
  /** Sets `X-Has-More`, and `Link` to the next page. `next` holds the query parameters that differ from the caller's; null on the last page. */
  setNext: (next: Record<string, string> | null) => void;
  /** Sets the session cookie to a new token, or clears it (null). */
  setSession: (token: string | null) => void;
  /** The token id of the caller's credential, for logging out. */
  tokenId: string | null;
}

/** One route. The router, validation, the OpenAPI document and tests of the route table use this entry (docs/behavior/requests.md#requests). */
export interface Route<
  P extends string = string,
  Q extends TObject = TObject,
  B extends TSchema = TSchema,
  R extends TSchema = TSchema,
  A extends Auth = Auth,
> {
  method: Method;
  /** The path as it is documented, with its parameters in braces (docs/behavior/requests.md#paths). */
  path: P;
  auth: A;
  about: string;
  query?: Q;
  body?: B;
  /**
   * Makes the route also accept `multipart/form-data`: the body in the part `payload_json`, and files. Called before any of such a body is read; refuses
   * callers who may not post. `keyed`: the request has an Idempotency-Key, so it may repeat an earlier post. The returned function is called before each file
   * is read, and refuses callers who may post but may not attach files.
   */
  admitUpload?: (platform: ApiPlatform, actor: Actor, params: Record<Holes<P>, string>, keyed: boolean) => Promise<() => void>;
  /**
   * Makes the route accept one raw image as its body, which becomes the only file. Called before any of it is read; refuses callers who may not send it.
   */
  admitPicture?: (platform: ApiPlatform, actor: Actor, params: Record<Holes<P>, string>) => Promise<unknown>;
  /**
   * The body is a delivery of a code host; `run` receives it as an `Arrival`. The route's `checkPath` must return the webhook's server.
   */
  takesDelivery?: true;
  /**
   * Checks the id and the token in the path, which are the credential, before any of the body is read. Refuses `not_found` for a wrong pair, which is charged
   * to the address's rate limit bucket. A correct pair is not charged, and works even while that bucket is empty.
   */
  checkPath?: (platform: ApiPlatform, params: Record<Holes<P>, string>) => Promise<{ serverId: string } | void>;
  /** Whether the body may be missing. */
  bodyOptional?: true;
  reply: { status: 200 | 201 | 202 | 204; body?: R };
  /** The answer has the headers `X-Has-More` and `Link`, which say whether there is another page. */
  paged?: true;
  /** The route reads so much that only a few requests run at once, shared fairly among callers. */
  costly?: true;
  /** The answer has a strong ETag. A request with that ETag in `If-None-Match` gets 304 while the answer is the same. */
  hasEtag?: true;
  orElse?: { status: 200 | 201 | 204; about: string };
  /** The route creates a resource, so it accepts an Idempotency-Key. `secret`: its answer contains a secret. */
  creates?: 'resource' | 'secret';
  /** The id of what the route creates comes from the clock of Redis, so that it is ordered with ids of other nodes. */
  takesClockId?: true;
  /** The route lists the messages of its `{channelId}`. */
  readsMessages?: true;
  /**
   * The route writes a server's roles, members, channels, overwrites, webhooks, threads, invites or settings, so it runs in `manageServer`. `true` if the path
   * contains `{serverId}` or `{channelId}`. Otherwise a function that returns the server's id, or null if there is no server.
   */
  manages?: true | ((platform: ApiPlatform, params: Record<Holes<P>, string>, body: Static<B>) => Promise<string | null>);
  rateLimit?: RateLimit;
  errors: readonly ErrorCode[];
  run: (
    platform: ApiPlatform,
    actor: A extends 'none' ? null : Actor,
    input: Input<P, Static<Q>, Static<B>>,
  ) => Promise<(R extends TSchema ? Static<R> : void) | OrElse | Prepared>;
}

/** Declares a route. `params` are typed by the path's parameters; query, body and reply by their schemas. `errors` are codes of `catalogue`. */
export const route = <
  const P extends string,
  const A extends Auth,
  Q extends TObject = TObject<Record<never, never>>,
  B extends TSchema = ReturnType<typeof Type.Object<Record<never, never>>>,
  R extends TSchema = ReturnType<typeof Type.Void>,
>(
  entry: Route<P, Q, B, R, A>,
): Route => entry;

/** An array of `schema` with at most as many items as the limit named `most`. */
export const List = <S extends TSchema>(schema: S, most: keyof typeof limits): TArray<S> =>
  Type.Array(schema, { maxItems: limits[most] as number });
