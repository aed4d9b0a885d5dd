import { type Static, Type } from 'typebox';
import { Choice, Id, Nullable, Timestamp } from './shared.ts';

/** The steps of a request to an Interactions Endpoint, in order (docs/behavior/interactions.md#saving-a-url). */
export const EndpointStep = Choice(['url', 'dns', 'connect', 'tls', 'status', 'body']);
export type EndpointStep = Static<typeof EndpointStep>;

/**
 * The result of a ping (docs/behavior/interactions.md#endpoint-test). `status` is the HTTP status, or null without a response. `step` and `reason` say
 * where and why it failed, and are null if it passed. `steps` has the duration of each step in milliseconds, the failed one last.
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

/**
 * How an endpoint responded to an interaction. `answered` and `deferred`: by its response. `empty`: the application answers by the callback route instead.
 * `failed`: no valid response.
 */
export const EndpointDeliveryOutcome = Choice(['answered', 'deferred', 'empty', 'failed']);
export type EndpointDeliveryOutcome = Static<typeof EndpointDeliveryOutcome>;

/**
 * One interaction that was sent to the endpoint, with the interaction's id (docs/behavior/interactions.md#delivery-log). `reason` is null unless it failed.
 * `messageId` is the message of the first answer, however it was given; null while there is none, and if it is ephemeral.
 */
export const EndpointDelivery = Type.Object({
  id: Id,
  interactionId: Id,
  at: Timestamp,
  status: Nullable(Type.Integer()),
  ms: Type.Integer(),
  outcome: EndpointDeliveryOutcome,
  reason: Nullable(Type.String()),
  messageId: Nullable(Id),
});
export type EndpointDelivery = Static<typeof EndpointDelivery>;

/** `GET /api/applications/{id}/deliveries`: newest first. */
export const EndpointDeliveryPage = Type.Object({ items: Type.Array(EndpointDelivery), hasMore: Type.Boolean() });
export type EndpointDeliveryPage = Static<typeof EndpointDeliveryPage>;
