import type { Readable } from 'node:stream';
import { type Static, type TArray, type TObject, type TSchema, Type } from 'typebox';
import type { ErrorCode } from '../../lib/base/errors.ts';
import { limits } from '../../lib/base/limits.ts';
import type { Actor } from '../../lib/domain/access/checks.ts';
import type { Client } from '../../lib/domain/accounts/sessions.ts';
import type { MessagePreflight } from '../../lib/domain/messages/pages.ts';
import type { ApiPlatform } from '../../lib/store/platform.ts';
import type { CountedRate } from '../../lib/store/redis/preflight.ts';
import type { BodyReader } from './bodies/reader.ts';
import type { Tag } from './documents/openapi-tags.ts';

/** The HTTP methods that routes use. */
export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Who may call: any account, people only, or everyone (`none`). With `none`, a credential may be in the path, such as an interaction's token. */
export type Auth = 'account' | 'person' | 'none';

/** The rate limit bucket of a route: the caller's (without a caller, the address's), the strict bucket of logins, or none. */
export type RateLimit = 'caller' | 'login' | 'none';

type PathParams<P extends string> = P extends `${string}{${infer K}}${infer R}` ? K | PathParams<R> : never;

/** A body that is already serialized as JSON. `gzip`, of a document that is the same for everyone: the same bytes compressed. */
export class SerializedBody {
  readonly json: Buffer;
  readonly gzip: Buffer | null;
  constructor(json: Buffer, gzip: Buffer | null = null) {
    this.json = json;
    this.gzip = gzip;
  }
}

/** A body that is a file of `bytes` bytes, which browsers save under `filename`. Its type is the `file` of the route's reply. */
export class FileBody {
  readonly stream: Readable;
  readonly bytes: number;
  readonly filename: string;
  constructor(stream: Readable, bytes: number, filename: string) {
    this.stream = stream;
    this.bytes = bytes;
    this.filename = filename;
  }
}

/** What a reply has besides its body. */
interface ReplyParts {
  /** The status of the route's alternative reply, instead of the usual one. */
  status?: number;
  /** The query parameters of the next page that differ from the caller's; null on the last page. */
  next?: Record<string, string> | null;
  /** The new token in the session cookie; null clears it. */
  sessionCookie?: string | null;
  /** The cookie with the pending sign-in is cleared. */
  signInTicket?: null;
}

/** A reply that is more than a body with the usual status. */
export class Reply<T = unknown> {
  readonly body: T;
  readonly parts: ReplyParts;
  constructor(body: T, parts: ReplyParts = {}) {
    this.body = body;
    this.parts = parts;
  }
}

/** A body of a reply with the schema `R`. */
type Body<R extends TSchema> = Static<R> | SerializedBody | FileBody;

/** What the stage `admit` of a route returns: the buckets that it has counted the request in, and what `run` needs of what it has read. */
export interface Admission<F = undefined> {
  rates: readonly CountedRate[];
  found: F;
}

/** The input of a route, besides the platform and the actor. */
export interface RouteInput<P extends string, Q, B, F = undefined> {
  params: Record<PathParams<P>, string>;
  query: Q;
  body: B;
  /** The id for the resource that a route creates, or for the creation of a message. It is the same if the request is run again after a crash. */
  newId: string;
  /** Whether the request has an Idempotency-Key, so that it may be run again with the same `newId`. */
  isRepeatable: boolean;
  /** For a list of messages: what was read with and beside the preflight. */
  page: MessagePreflight;
  address: string;
  /** The address and user agent of the request, for a session that it opens. */
  client: Client;
  /** The cookie with a sign-in by OpenID Connect that belongs to no account yet; null without it. */
  signInTicket: string | null;
  /** The token id of the caller's credential, for logging out. */
  tokenId: string | null;
  /** What the route's `admit` has found. */
  found: F;
}

/** What a route answers with. */
interface RouteReply<R extends TSchema> {
  status: 200 | 201 | 202 | 204;
  body?: R;
  /** The media type of a file instead of a body; the route returns a `FileBody`. */
  file?: string;
  /** The answer has the headers `X-Has-More` and `Link`, which say whether there is another page. */
  isPaged?: true;
  /** The answer has a strong ETag. A request with that ETag in `If-None-Match` gets 304 while the answer is the same. */
  hasEtag?: true;
  /** Another status that the route may answer with, with the same body. */
  alternative?: { status: 200 | 201 | 204; description: string };
}

/** One route. The router, validation, the OpenAPI document and tests of the route table use this entry (docs/behavior/requests.md#requests). */
export interface Route<
  P extends string = string,
  Q extends TObject = TObject,
  B = unknown,
  R extends TSchema = TSchema,
  A extends Auth = Auth,
  F = unknown,
> {
  /** The unique name of the operation: a verb and its object. Client libraries name their methods after it. */
  operationId: string;
  tag: Tag;
  method: Method;
  /** The path as it is documented, with its parameters in braces (docs/behavior/requests.md#paths). */
  path: P;
  auth: A;
  summary: string;
  query?: Q;
  /** How the body is read, if the route has one. */
  body?: BodyReader<B, Record<PathParams<P>, string>>;
  /**
   * Checks the id and the token in the path, which are the credential, before any of the body is read. Refuses `not_found` for a wrong pair. A wrong pair,
   * and a request that is refused otherwise, is charged to the address's rate limit bucket. What succeeds is not charged, and works even while that bucket is
   * empty.
   */
  checkPath?: (platform: ApiPlatform, params: Record<PathParams<P>, string>) => Promise<{ serverId: string } | void>;
  reply: RouteReply<R>;
  /** The route reads so much that only a few requests run at once, shared fairly among callers. */
  isCostly?: true;
  /** The route creates a resource, so it accepts an Idempotency-Key. `secret`: its answer contains a secret. */
  creates?: 'resource' | 'secret';
  /** The id of what the route creates comes from the clock of Redis, so that it is ordered with ids of other nodes. */
  usesClockId?: true;
  /** The route lists the messages of its `{channelId}`. */
  readsMessages?: true;
  /**
   * The route writes a server's roles, members, channels, overwrites, webhooks, threads, invites or settings, so it runs in `runManagementWrite`. `true` if the
   * path contains `{serverId}` or `{channelId}`. Otherwise a function that returns the server's id, or null if there is no server.
   */
  manages?: true | ((platform: ApiPlatform, params: Record<PathParams<P>, string>, body: B) => Promise<string | null>);
  rateLimit?: RateLimit;
  errors: readonly ErrorCode[];
  /**
   * Runs before `run` when the body is valid, but not for the repeat of an answered request: counts the request in buckets of the route's own. The last of them
   * is in the headers of the answer, also of a refusal by `run`, and the first that is empty refuses `rate_limited` (docs/behavior/requests.md#rate-limits).
   */
  admit?: (platform: ApiPlatform, actor: A extends 'none' ? null : Actor, input: RouteInput<P, Static<Q>, B>) => Promise<Admission<F>>;
  run: (
    platform: ApiPlatform,
    actor: A extends 'none' ? null : Actor,
    input: RouteInput<P, Static<Q>, B, F>,
  ) => Promise<Body<R> | Reply<Body<R> | undefined>>;
}

/** Declares a route. `params` are typed by the path's parameters; query, body and reply by their schemas. `errors` are codes of `catalogue`. */
export const route = <
  const P extends string,
  const A extends Auth,
  Q extends TObject = TObject<Record<never, never>>,
  B = undefined,
  R extends TSchema = ReturnType<typeof Type.Void>,
  F = undefined,
>(
  entry: Route<P, Q, B, R, A, F>,
): Route => entry as unknown as Route; // in a list of routes, the types of their inputs are not known

/** An array of `schema` with at most as many items as the limit `limitName`. */
export const List = <S extends TSchema>(schema: S, limitName: keyof typeof limits): TArray<S> =>
  Type.Array(schema, { maxItems: limits[limitName] as number });
