import { type Static, type TArray, type TObject, type TSchema, Type } from 'typebox';
import type { ErrorCode } from '../../lib/base/errors.ts';
import { limits } from '../../lib/base/limits.ts';
import type { Actor } from '../../lib/domain/access.ts';
import type { ReceivedFile } from '../../lib/domain/attachments.ts';
import type { PageStart } from '../../lib/domain/message-pages.ts';
import type { Client } from '../../lib/domain/sessions.ts';
import type { ApiPlatform } from '../../lib/store/platform.ts';
import type { Verdict } from '../../lib/store/throttle.ts';

/** HTTP methods that routes use. */
export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Who may call: any account, people only, or whoever holds what the path names (an interaction's token, an invite's code). */
export type Auth = 'account' | 'person' | 'none';

/** Which bucket a route is counted in: its caller's (or address', without one), the strict one of log-ins, or none. */
export type RateLimit = 'caller' | 'login' | 'none';

type Holes<P extends string> = P extends `${string}{${infer K}}${infer R}` ? K | Holes<R> : never;

/** A reply other than the route's usual one: the status of `orElse`, with or without a body. */
export class OrElse {
  readonly body: unknown;
  constructor(body?: unknown) {
    this.body = body;
  }
}

/** A reply whose body is JSON already. */
export class Prepared {
  readonly json: Buffer;
  constructor(json: Buffer) {
    this.json = json;
  }
}

/** What a route is given beside the platform and the actor. */
export interface Input<P extends string, Q, B> {
  params: Record<Holes<P>, string>;
  query: Q;
  body: B;
  /** The files of a multipart body, in their order; none where the route takes none. */
  files: readonly ReceivedFile[];
  /** The id that a create gives to its resource, or that names the create of a message; the same again when the request is run again after a crash. */
  newId: string;
  /** Whether the request may be run again under the same id: it came with an Idempotency-Key. */
  isRepeatable: boolean;
  /** What a list of messages begins with. */
  page: PageStart;
  address: string;
  /** Where the request comes from, for a session that it opens. */
  client: Client;
  /** Counts a try of a username's password: by username and address, beside the address; and slows down when many addresses try it. Refuses `rate_limited`. */
  takeLogin: (username: string) => Promise<void>;
  /** Sets the headers of a bucket that the route itself counts in, by the bucket's name. Refuses `rate_limited` (docs/behavior/requests.md#rate-limits). */
  tellRate: (bucket: string, verdict: Verdict) => void;
  /** Says on the answer by `X-Has-More` whether there is another page, and by `Link` where: `next` is what its query has instead of the caller's. */
  setNext: (next: Record<string, string> | null) => void;
  /** Sets the cookie of a fresh session, or clears it. */
  setSession: (token: string | null) => void;
  /** The credential's token id, for logging out. */
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
   * It also takes `multipart/form-data`: the body in the part `payload_json`, and files. Called before any of such a body is read; refuses who may not post.
   * `keyed`: it may repeat a post that was made, under its Idempotency-Key. What it answers is called before each file is taken in, and refuses who may post
   * but no files.
   */
  admitUpload?: (platform: ApiPlatform, actor: Actor, params: Record<Holes<P>, string>, keyed: boolean) => Promise<() => void>;
  /**
   * Its body is one image, raw, which comes as the only file. Called before any of it is read; refuses who may not send it.
   */
  admitPicture?: (platform: ApiPlatform, actor: Actor, params: Record<Holes<P>, string>) => Promise<unknown>;
  /**
   * Its body is a delivery of a code host, and comes to `run` as the `Arrival` that it was read as.
   * `checkPath` answers its webhook's server.
   */
  takesDelivery?: true;
  /**
   * Checks the id and the token in the path, which are the credential, before any of the body is read. Refuses `not_found` for a wrong pair, which is charged to
   * the address; a right one is never charged or refused for that.
   */
  checkPath?: (platform: ApiPlatform, params: Record<Holes<P>, string>) => Promise<{ serverId: string } | void>;
  /** Whether the body may be left out altogether. */
  bodyOptional?: true;
  reply: { status: 200 | 201 | 202 | 204; body?: R };
  /** Its answer says whether there is another page, by `X-Has-More` and `Link`. */
  paged?: true;
  /** It reads so much that only a few run at once, shared fairly among callers. */
  costly?: true;
  /** Its answer has a strong ETag: who sends that back in `If-None-Match` gets 304 while the answer is still the same. */
  hasEtag?: true;
  orElse?: { status: 200 | 201 | 204; about: string };
  /** It makes something, so it takes an Idempotency-Key. `secret`: its answer holds one. */
  creates?: 'resource' | 'secret';
  /** It makes something that is compared by time with what other nodes make: its id comes from the clock of Redis. */
  takesClockId?: true;
  /** It reads the messages of its `{channelId}` as a list. */
  readsMessages?: true;
  /**
   * It writes a server's roles, members, channels, overwrites, webhooks, threads, invites or settings, so it runs in `manageServer`. `true` where the path names the
   * server or one of its channels by `{serverId}` or `{channelId}`; else it answers the server's id, null when there is none.
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

/** Declares a route. The holes of the path type the params, the schemas type query, body and reply, `errors` are catalogue codes. */
export const route = <
  const P extends string,
  const A extends Auth,
  Q extends TObject = TObject<Record<never, never>>,
  B extends TSchema = ReturnType<typeof Type.Object<Record<never, never>>>,
  R extends TSchema = ReturnType<typeof Type.Void>,
>(
  entry: Route<P, Q, B, R, A>,
): Route => entry;

/** A list of `schema`, of at most so many as the limit says. */
export const List = <S extends TSchema>(schema: S, most: keyof typeof limits): TArray<S> =>
  Type.Array(schema, { maxItems: limits[most] as number });
