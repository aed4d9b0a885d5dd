import { type Static, Type } from 'typebox';
import { limits } from '../base/limits.ts';
import { Interaction } from './interaction.ts';
import { DeferAnswer, MessageAnswer } from './message.ts';
import { ObjectOf, OneOf } from './schemas.ts';

/** The headers of each request to an Interactions Endpoint (docs/behavior/interactions.md#signatures). */
export const endpointHeaders = {
  timestamp: 'X-Service-Timestamp',
  signature: 'X-Service-Signature',
} as const;

/** What the headers of `endpointHeaders` are, for documents and kits. */
export const EndpointRequestHeaders = ObjectOf(
  {
    [endpointHeaders.timestamp]: Type.String({
      pattern: '^[0-9]+$',
      description: `The Unix time of sending in whole seconds. Reject a request whose time differs by more than ${limits.signatureAgeSecs} seconds from yours.`,
      examples: ['1795599000'],
    }),
    [endpointHeaders.signature]: Type.String({
      pattern: '^[0-9a-f]{64}$',
      description:
        'The HMAC-SHA256 of the timestamp, a dot and the exact bytes of the body, with the signing secret of the application as the key, in lowercase hex.',
      examples: ['6f0e5c2a9a1d4b7c8e3f2a1b0c9d8e7f6a5b4c3d2e1f00112233445566778899'],
    }),
  },
  'The headers of a request to an Interactions Endpoint. Check them before anything else.',
);

/** The request that tests an endpoint (docs/behavior/interactions.md#saving-a-url). */
export const PingRequest = ObjectOf(
  { type: Type.Literal('ping', { description: 'A test of the endpoint.' }) },
  'A test. Answer with a pong.',
);

/** A body that an Interactions Endpoint receives. */
export const InteractionRequest = OneOf(
  'type',
  [Interaction, PingRequest],
  'The body of a request to an Interactions Endpoint: a test, or the use of a command.',
);
export type InteractionRequest = Static<typeof InteractionRequest>;

/** The answer to a ping. */
export const PongResponse = ObjectOf({ type: Type.Literal('pong', { description: 'Answers a ping.' }) }, 'The answer to a ping.');

/** A body that an Interactions Endpoint answers with (docs/behavior/interactions.md#endpoint-answers). An empty one leaves the answer to the callback route. */
export const InteractionResponse = OneOf(
  'type',
  [MessageAnswer, DeferAnswer, PongResponse],
  'The answer of an Interactions Endpoint, with status 200 within 3 seconds: a pong to a ping, a message or a defer to a command. An empty body leaves the answer to the callback route.',
);
