import { type Static, Type } from 'typebox';
import { limits } from '../base/limits.ts';
import { Choice, Described, ObjectOf } from './schemas.ts';
import { HasMore, IdOf, Nullable, PageLimit, Timestamp } from './shared.ts';
import { UserSummary } from './user.ts';

/** The steps of a request to an Interactions Endpoint, in order (docs/behavior/interactions.md#saving-a-url). */
export const EndpointStep = Choice(['url', 'dns', 'connect', 'tls', 'status', 'body'], {
  description:
    'A step of a request to an endpoint. `url`: the address is allowed. `dns`: the host has a public address. `connect`: a connection. `tls`: a valid certificate. `status`: 200 in time. `body`: the expected JSON.',
});
export type EndpointStep = Static<typeof EndpointStep>;

const status = Described(Nullable(Type.Integer()), 'The HTTP status of the endpoint; null without a response.', 200);
const ms = (description: string) => Type.Integer({ description, examples: [84] });

/** One step of a test of an endpoint. */
export const EndpointStepResult = ObjectOf(
  {
    step: EndpointStep,
    ok: Type.Boolean({ description: 'Whether the step succeeded.', examples: [true] }),
    ms: ms('How long the step took, in milliseconds.'),
  },
  'One step of a test of an Interactions Endpoint.',
);

/**
 * The result of a ping (docs/behavior/interactions.md#endpoint-test). `status` is the HTTP status, or null without a response. `step` and `reason` say
 * where and why it failed, and are null if it passed. `steps` has the duration of each step in milliseconds, the failed one last.
 */
export const EndpointTest = ObjectOf(
  {
    ok: Type.Boolean({ description: 'Whether the endpoint answered the ping as it should.', examples: [true] }),
    status,
    ms: ms('How long the ping took, in milliseconds.'),
    step: Nullable(EndpointStep, 'The step that failed; null if the test passed.'),
    reason: Described(Nullable(Type.String()), 'Why it failed, in words; null if the test passed.', 'is 404; only 200 is accepted'),
    steps: Type.Array(EndpointStepResult, { description: 'The steps in their order. The failed one is the last.' }),
  },
  'The result of a ping of an Interactions Endpoint.',
  { step: null, reason: null },
);
export type EndpointTest = Static<typeof EndpointTest>;

/**
 * How an endpoint responded to an interaction. `answered` and `deferred`: by its response. `empty`: the application answers by the callback route instead.
 * `failed`: no valid response.
 */
export const EndpointDeliveryOutcome = Choice(['answered', 'deferred', 'empty', 'failed'], {
  description:
    'How the endpoint responded. `answered` and `deferred`: by its response. `empty`: with an empty body, so that the callback route answers. `failed`: not validly.',
});
export type EndpointDeliveryOutcome = Static<typeof EndpointDeliveryOutcome>;

/**
 * One interaction that was sent to the endpoint, with the interaction's id (docs/behavior/interactions.md#delivery-log). `reason` is null unless it failed.
 * `messageId` is the message of the first answer, however it was given; null while there is none, and if it is ephemeral.
 */
export const EndpointDelivery = ObjectOf(
  {
    id: IdOf('interaction', 'The id of the entry, the same as `interactionId`.'),
    interactionId: IdOf('interaction', 'The interaction that was sent.'),
    command: Type.String({ description: 'The name of the command that was used.', examples: ['weather'] }),
    user: Nullable(UserSummary, 'The person who used it; null if the account is deleted.'),
    at: Described(Timestamp, 'When it was sent.'),
    status,
    ms: ms('How long the request took, in milliseconds.'),
    outcome: EndpointDeliveryOutcome,
    reason: Described(Nullable(Type.String()), 'Why it failed, in words; null unless it failed.', 'is 404; only 200 is accepted'),
    messageId: Nullable(
      IdOf('message', 'The message of the first answer.'),
      'The message of the first answer, however it was given; null while there is none, and for an ephemeral answer.',
    ),
  },
  'An interaction that was sent to an Interactions Endpoint.',
  { reason: null },
);
export type EndpointDelivery = Static<typeof EndpointDelivery>;

/** `GET /api/applications/{id}/deliveries`: newest first. */
export const EndpointDeliveryPage = ObjectOf(
  { items: Type.Array(EndpointDelivery, { description: 'The entries of the last 7 days, newest first.' }), hasMore: HasMore },
  'A page of the delivery log of an Interactions Endpoint.',
);
export type EndpointDeliveryPage = Static<typeof EndpointDeliveryPage>;

/** The query of `GET /api/applications/{id}/deliveries`. */
export const EndpointDeliveriesQuery = ObjectOf(
  {
    before: Type.Optional(IdOf('interaction', 'Only entries older than this one.')),
    limit: Type.Optional(PageLimit(limits.interactionDeliveriesListed, limits.pageDefault)),
  },
  'The query of a page of the delivery log.',
);
