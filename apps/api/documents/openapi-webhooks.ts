import type { TSchema } from 'typebox';
import { limits } from '../../../lib/base/limits.ts';
import { Interaction } from '../../../lib/contract/interaction.ts';
import {
  EndpointRequestHeaders,
  InteractionRequest,
  InteractionResponse,
  PingRequest,
  PongResponse,
} from '../../../lib/contract/interactions-endpoint.ts';
import { MessageAnswer } from '../../../lib/contract/message.ts';
import { createExample } from './examples.ts';
import type { Json, SchemaWriter } from './openapi-schemas.ts';

const toContent = (schema: TSchema, examples: Record<string, TSchema>, schemas: SchemaWriter): Json => ({
  'application/json': {
    schema: schemas.write(schema),
    examples: Object.fromEntries(Object.entries(examples).map(([name, example]) => [name, { value: createExample(example) }])),
  },
});

const toHeaderParameters = (schemas: SchemaWriter): Json[] =>
  Object.entries<TSchema>(EndpointRequestHeaders.properties).map(([name, schema]) => {
    const written = schemas.write(schema);
    return { name, in: 'header', required: true, description: written.description, schema: written };
  });

/** The request that the service sends to the Interactions Endpoint of an application (docs/behavior/interactions.md#signatures). */
export const renderWebhooks = (schemas: SchemaWriter): Json => ({
  interactionsEndpoint: {
    post: {
      operationId: 'receiveInteraction',
      summary: 'Receives the use of a command at an Interactions Endpoint',
      description: [
        `The service sends it to the saved URL of the application instead of the gateway, and a ping when the URL is saved or tested. The first answer must arrive within ${limits.answerWindowMs / 1000} seconds.`,
        `To verify a request, take its raw body before parsing it, refuse a timestamp that differs by more than ${limits.signatureAgeSecs} seconds from the current time, compute the signature with the application’s \`signingSecret\`, and compare it in constant time. Answer 401 if it differs.`,
      ].join('\n\n'),
      tags: ['Interactions'],
      security: [],
      parameters: toHeaderParameters(schemas),
      requestBody: { required: true, content: toContent(InteractionRequest, { ping: PingRequest, command: Interaction }, schemas) },
      responses: {
        200: {
          description:
            'A pong to a ping; the first answer or a defer to a command. An empty body leaves the answer to `answerInteraction`.',
          content: toContent(InteractionResponse, { pong: PongResponse, message: MessageAnswer }, schemas),
        },
        401: { description: 'The signature is wrong, or the timestamp is too old.' },
      },
    },
  },
});
