/** A JSON Schema of the documents, as far as the pages read it. */
export interface Schema {
  $ref?: string;
  type?: string | readonly string[];
  description?: string;
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  additionalProperties?: boolean | Schema;
  items?: Schema;
  enum?: readonly unknown[];
  const?: unknown;
  allOf?: readonly Schema[];
  anyOf?: readonly Schema[];
  oneOf?: readonly Schema[];
  discriminator?: { propertyName: string; mapping?: Readonly<Record<string, string>> };
  title?: string;
  default?: unknown;
  examples?: readonly unknown[];
  format?: string;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  uniqueItems?: boolean;
  deprecated?: boolean;
  contentEncoding?: string;
}

/** A parameter of an operation in its path, query or headers. */
export interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header' | 'cookie';
  required?: boolean;
  description?: string;
  schema: Schema;
  example?: unknown;
  examples?: Readonly<Record<string, { value?: unknown }>>;
}

/** A body in one media type. */
export interface MediaType {
  schema?: Schema;
  example?: unknown;
  examples?: Readonly<Record<string, { summary?: string; value?: unknown }>>;
}

/** The answer of an operation with one status. */
export interface Answer {
  $ref?: string;
  description: string;
  headers?: Readonly<Record<string, { $ref?: string; description?: string; schema?: Schema }>>;
  content?: Readonly<Record<string, MediaType>>;
}

/** An operation as the OpenAPI document describes it. */
export interface OperationObject {
  operationId: string;
  summary: string;
  description?: string;
  tags?: readonly string[];
  deprecated?: boolean;
  security?: readonly Readonly<Record<string, unknown>>[];
  parameters?: readonly (Parameter & { $ref?: string })[];
  requestBody?: { required?: boolean; description?: string; content: Readonly<Record<string, MediaType>> };
  responses: Readonly<Record<string, Answer>>;
}

/** The OpenAPI document, as far as the pages read it. */
export interface OpenApi {
  info: { title: string; version: string; description?: string };
  servers: readonly { url: string }[];
  tags?: readonly { name: string; description?: string }[];
  paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  components: {
    schemas: Readonly<Record<string, Schema>>;
    parameters?: Readonly<Record<string, Parameter>>;
    headers?: Readonly<Record<string, { description?: string; schema?: Schema }>>;
    responses?: Readonly<Record<string, Answer>>;
  };
}

/** A frame of the gateway: an event, or a frame of another opcode (`x-op`). */
export interface GatewayMessage {
  name: string;
  summary?: string;
  description?: string;
  payload: Schema;
  examples?: readonly { payload?: unknown }[];
  'x-audience'?: string;
  'x-permission'?: string | null;
  /** How a bot gets the event: `always`, `on request` or `never`. */
  'x-bots'?: string;
  'x-op'?: number;
}

/** Why the gateway closes a socket, and what the client does. */
export interface CloseCode {
  name: string;
  code: number;
  cause: string;
  advice: string;
}

/** The AsyncAPI document of the gateway, as far as the pages read it. */
export interface AsyncApi {
  info: { description?: string };
  components: { messages: Readonly<Record<string, GatewayMessage>>; schemas: Readonly<Record<string, Schema>> };
  'x-close-codes'?: readonly CloseCode[];
}
