import { type Static, Type } from 'typebox';
import { Id, Nullable, Timestamp } from './shared.ts';

/** How far a request to an Interactions Endpoint can come, in the order of its steps (decisions 1, `endpoint_unverified`). */
export const EndpointStep = Type.Union([
  Type.Literal('url'),
  Type.Literal('dns'),
  Type.Literal('connect'),
  Type.Literal('tls'),
  Type.Literal('status'),
  Type.Literal('body'),
]);
export type EndpointStep = Static<typeof EndpointStep>;

/**
 * What became of a ping (decisions 3): `status` is the HTTP status, null when there was no answer; `step` and `reason` say where and why it failed, null when it
 * passed; `steps` says how long each took, the failed one last. Times in milliseconds.
 */
export const EndpointTest = Type.Object({
  ok: Type.Boolean(),
  status: Nullable(Type.Integer()),
  ms: Type.Integer(),
  step: Nullable(EndpointStep),
  reason: Nullable(Type.String()),
  steps: Type.Array(Type.Object({ step: EndpointStep, ok: Type.Boolean(), ms: Type.Integer() })),
});
export type EndpointTest = Static<typeof EndpointTest>;

/** What an endpoint made of an interaction: answered or deferred it, left it to the callback route, or did not answer as it must. */
export const DeliveryOutcome = Type.Union([
  Type.Literal('answered'),
  Type.Literal('deferred'),
  Type.Literal('empty'),
  Type.Literal('failed'),
]);
export type DeliveryOutcome = Static<typeof DeliveryOutcome>;

/** One interaction that was sent to the endpoint (decisions 3). `reason` says why it failed, else null; `id` is the interaction's, as each is sent once. */
export const Delivery = Type.Object({
  id: Id,
  interactionId: Id,
  at: Timestamp,
  status: Nullable(Type.Integer()),
  ms: Type.Integer(),
  outcome: DeliveryOutcome,
  reason: Nullable(Type.String()),
});
export type Delivery = Static<typeof Delivery>;

/** `GET /api/applications/{id}/deliveries`: newest first. */
export const DeliveryPage = Type.Object({ items: Type.Array(Delivery), hasMore: Type.Boolean() });
export type DeliveryPage = Static<typeof DeliveryPage>;
