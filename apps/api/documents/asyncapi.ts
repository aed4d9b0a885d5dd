import type { TSchema } from 'typebox';
import { closeCodes } from '../../../lib/contract/close-codes.ts';
import { type EventName, events, getEventDefinition } from '../../../lib/contract/events.ts';
import { getOpcode, type OpcodeName, opcodes, Position, sessionDispatches } from '../../../lib/contract/gateway.ts';
import { cookieName } from '../session-cookie.ts';
import { describeEvent, gatewayDescription, toBotRule, toPermission } from './asyncapi-description.ts';
import { createExample } from './examples.ts';
import { createSchemaWriter, type Json, type SchemaWriter } from './openapi-schemas.ts';

/** A message of the document, and the direction of its frame. */
interface MessageEntry {
  /** The key of the message, for example `MESSAGE_CREATE` or `identify`. */
  key: string;
  sentBy: 'client' | 'gateway';
  message: Json;
  /** The keys of the messages that answer it. */
  replies?: readonly string[];
}

const toMessage = (
  name: string,
  code: number,
  texts: { summary: string; description?: string },
  data: TSchema,
  schemas: SchemaWriter,
): Json => ({
  name,
  title: name,
  ...texts,
  contentType: 'application/json',
  payload: {
    type: 'object',
    required: ['op', 'd'],
    properties: { op: { type: 'integer', const: code }, d: schemas.write(data) },
  },
  examples: [{ name, summary: texts.summary, payload: { op: code, d: createExample(data) } }],
});

/** A message of op 0: it also has its name and a position. */
function toDispatch(name: string, texts: { summary: string; description?: string }, data: TSchema, schemas: SchemaWriter): Json {
  const { code } = opcodes.dispatch;
  const properties = {
    op: { type: 'integer', const: code },
    t: { type: 'string', const: name },
    s: schemas.write(Position),
    d: schemas.write(data),
  };
  return {
    ...toMessage(name, code, texts, data, schemas),
    payload: { type: 'object', required: ['op', 't', 's', 'd'], properties },
    examples: [{ name, summary: texts.summary, payload: { op: code, t: name, s: createExample(Position), d: createExample(data) } }],
  };
}

function toEventEntry(name: EventName, schemas: SchemaWriter): MessageEntry {
  const { summary, data, audience, place } = getEventDefinition(name);
  const message = {
    ...toDispatch(name, { summary, description: describeEvent(name) }, data, schemas),
    'x-audience': audience,
    'x-permission': toPermission(name),
    'x-bots': toBotRule(name),
    'x-log': place,
  };
  return { key: name, sentBy: 'gateway', message };
}

const replies: Partial<Record<OpcodeName, readonly string[]>> = {
  heartbeat: ['ack'],
  identify: ['READY'],
  watch: ['watchAnswer'],
  resume: ['RESUMED', 'invalid'],
};

/** The messages of an opcode: that of clients, and that of the gateway. */
function toOpcodeEntries(name: OpcodeName, schemas: SchemaWriter): MessageEntry[] {
  const { code, summary, fromClient, fromGateway } = getOpcode(name);
  const answer = fromClient ? `${name}Answer` : name;
  return [
    ...(fromClient
      ? [
          {
            key: name,
            sentBy: 'client' as const,
            message: { ...toMessage(name, code, { summary }, fromClient, schemas), 'x-op': code },
            replies: replies[name] ?? [],
          },
        ]
      : []),
    ...(fromGateway
      ? [
          {
            key: answer,
            sentBy: 'gateway' as const,
            message: { ...toMessage(answer, code, { summary }, fromGateway, schemas), 'x-op': code },
          },
        ]
      : []),
  ];
}

function listMessages(schemas: SchemaWriter): MessageEntry[] {
  return [
    ...(Object.keys(opcodes) as OpcodeName[]).flatMap((name) => toOpcodeEntries(name, schemas)),
    ...Object.entries(sessionDispatches).map(([name, data]) => ({
      key: name,
      sentBy: 'gateway' as const,
      message: toDispatch(name, { summary: String((data as TSchema & { description?: string }).description) }, data, schemas),
    })),
    ...(Object.keys(events) as EventName[]).map((name) => toEventEntry(name, schemas)),
  ];
}

const channelRef = { $ref: '#/channels/gateway' };
const toMessageRef = (key: string): Json => ({ $ref: `#/channels/gateway/messages/${key}` });

/** `MESSAGE_CREATE` as `sendMessageCreate`, `identify` as `receiveIdentify`. */
function toOperationName({ key, sentBy }: MessageEntry): string {
  const words = key.includes('_') || key === key.toUpperCase() ? key.toLowerCase().split('_') : [key];
  return (sentBy === 'client' ? 'receive' : 'send') + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}

const toOperation = ({ key, sentBy, message, replies: answers }: MessageEntry): Json => ({
  action: sentBy === 'client' ? 'receive' : 'send',
  channel: channelRef,
  summary: message.summary,
  messages: [toMessageRef(key)],
  ...(answers && answers.length > 0 ? { reply: { channel: channelRef, messages: answers.map(toMessageRef) } } : {}),
});

const securitySchemes: Json = {
  token: {
    type: 'apiKey',
    in: 'password',
    description: 'The token of a bot or the session token of a person, as `token` in identify and resume.',
  },
  cookie: {
    type: 'httpApiKey',
    in: 'cookie',
    name: cookieName,
    description: 'The session of a person, for web pages whose `Origin` is Parlance’s own. Identify and resume then have no `token`.',
  },
};

/** The named schemas. In AsyncAPI a discriminator is the name of its property. */
const listSchemas = (schemas: SchemaWriter): Json =>
  Object.fromEntries(
    Object.entries(schemas.listNamed()).map(([name, value]) => {
      const { discriminator, ...schema } = value as { discriminator?: { propertyName: string } };
      return [name, discriminator ? { ...schema, discriminator: discriminator.propertyName } : schema];
    }),
  );

/** Renders the AsyncAPI 3 document of the gateway at `gatewayUrl`. It is never committed. */
export function renderAsyncApi(gatewayUrl: string): { asyncapi: string } & Json {
  const schemas = createSchemaWriter();
  const entries = listMessages(schemas);
  const { protocol, host, pathname } = new URL(gatewayUrl);
  return {
    asyncapi: '3.0.0',
    info: { title: 'Parlance gateway', version: '1', description: gatewayDescription },
    defaultContentType: 'application/json',
    servers: {
      gateway: {
        host,
        pathname,
        protocol: protocol.replace(':', ''),
        description:
          'The gateway. `GET /api/gateway` returns its address. Operations with the action `send` are frames that the gateway sends, and those with `receive` are frames that a client sends.',
        security: Object.keys(securitySchemes).map((name) => ({ $ref: `#/components/securitySchemes/${name}` })),
      },
    },
    channels: {
      gateway: {
        address: '/',
        title: 'Gateway',
        summary: 'All frames of one socket.',
        messages: Object.fromEntries(entries.map(({ key }) => [key, { $ref: `#/components/messages/${key}` }])),
        bindings: {
          ws: {
            method: 'GET',
            query: {
              type: 'object',
              properties: { v: { type: 'string', enum: ['1'], default: '1', description: 'The version of the protocol.' } },
            },
            bindingVersion: '0.1.0',
          },
        },
      },
    },
    operations: Object.fromEntries(entries.map((entry) => [toOperationName(entry), toOperation(entry)])),
    components: {
      messages: Object.fromEntries(entries.map(({ key, message }) => [key, message])),
      schemas: listSchemas(schemas),
      securitySchemes,
    },
    'x-close-codes': Object.entries(closeCodes).map(([name, closeCode]) => ({ name, ...closeCode })),
  };
}
