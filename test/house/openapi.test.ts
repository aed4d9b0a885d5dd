import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import { renderOpenApi } from '../../apps/api/documents/openapi.ts';
import { createSchemaWriter } from '../../apps/api/documents/openapi-schemas.ts';
import { routes } from '../../apps/api/routes/index.ts';
import { events } from '../../lib/contract/events.ts';

type Json = Record<string, unknown>;
interface Parameter {
  $ref?: string;
  name: string;
  in: string;
  description: string;
  schema: Json;
}
interface Operation {
  operationId: string;
  summary: string;
  description: string;
  tags: string[];
  security: Json[];
  parameters: Parameter[];
  requestBody?: { content: Json };
  responses: Record<string, Json>;
}
type Document = {
  webhooks: Record<string, { post: Operation }>;

  openapi: string;
  tags: { name: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: Record<string, Record<string, Json>>;
};

const methods = new Set(['get', 'put', 'post', 'delete', 'patch']);

/** All objects within `value` with their JSON pointers. */
function* partsOf(value: unknown, pointer = '#'): Generator<[string, Json]> {
  if (typeof value !== 'object' || value === null) return;
  yield [pointer, value as Json];
  for (const [key, inner] of Object.entries(value)) yield* partsOf(inner, `${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`);
}

/** The value at `pointer` in `document`; undefined if there is none. */
const resolve = (document: unknown, pointer: string): unknown =>
  pointer
    .split('/')
    .slice(1)
    .reduce<unknown>((at, key) => (at as Json | undefined)?.[key.replaceAll('~1', '/').replaceAll('~0', '~')], document);

/** All errors of an OpenAPI document, one line each. */
function errorsOf(document: Document): string[] {
  const errors: string[] = [];
  for (const [pointer, part] of partsOf(document))
    if (typeof part.$ref === 'string' && resolve(document, part.$ref) === undefined) errors.push(`${pointer}: ${part.$ref} does not exist`);
  const seen = new Set<string>();
  const shapes = new Map<string, string>();
  for (const [path, item] of Object.entries(document.paths)) {
    const shape = path.replace(/\{\w+\}/g, '{}');
    if (shapes.has(shape)) errors.push(`${path}: the same as ${shapes.get(shape)}`);
    shapes.set(shape, path);
    for (const [method, operation] of Object.entries(item)) {
      const at = `${method} ${path}`;
      if (!methods.has(method)) errors.push(`${at}: unknown method`);
      if (seen.has(operation.operationId)) errors.push(`${at}: ${operation.operationId} is not unique`);
      seen.add(operation.operationId);
      if (!/^[a-z][A-Za-z0-9]+$/.test(operation.operationId)) errors.push(`${at}: operationId ${operation.operationId}`);
      for (const tag of operation.tags)
        if (!document.tags.some((one) => one.name === tag)) errors.push(`${at}: tag ${tag} is not declared`);
      const placeholders = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const declared = operation.parameters.filter((one) => one.in === 'path').map((one) => one.name);
      if (placeholders.join() !== declared.join())
        errors.push(`${at}: path has ${placeholders.join()}, but parameters declare ${declared.join()}`);
      if (!Object.keys(operation.responses).some((status) => status.startsWith('2'))) errors.push(`${at}: has no success response`);
      for (const scheme of operation.security.flatMap(Object.keys))
        if (!document.components.securitySchemes?.[scheme]) errors.push(`${at}: ${scheme} is not a security scheme`);
      for (const [status, answer] of Object.entries(operation.responses))
        if (answer.$ref === undefined && typeof answer.description !== 'string') errors.push(`${at}: ${status} has no description`);
    }
  }
  return errors;
}

const render = (): Document => JSON.parse(JSON.stringify(renderOpenApi(routes, 'http://localhost:8080')));
const operationOf = (document: Document, method: string, path: string): Operation => document.paths[path]?.[method] as Operation;

describe('OpenAPI document', () => {
  it('is valid', () => expect(errorsOf(render())).to.deep.equal([]));

  it('contains every route once', () => {
    const operations = Object.values(render().paths).flatMap((item) => Object.keys(item));
    expect(operations).to.have.length(routes.length);
  });

  it('has schemas that compile as JSON Schema 2020-12', () => {
    const document = render();
    const ajv = new Ajv2020({ strict: false, formats: { 'date-time': true } });
    ajv.addSchema({ $id: 'api', components: document.components });
    for (const name of Object.keys(document.components.schemas ?? {}))
      expect(() => ajv.compile({ $ref: `api#/components/schemas/${name}` }), name).not.to.throw();
    expect(Object.keys(document.components.schemas ?? {})).to.include.members([
      'Error',
      'ErrorCode',
      'Message',
      'MessageInput',
      'Interaction',
      'GatewayEvent',
      'PresenceChange',
    ]);
  });

  it('has the payload of every event as a named schema', () => {
    const { schemas = {} } = render().components;
    for (const [name, { data }] of Object.entries(events)) {
      const { $ref } = createSchemaWriter().write(data);
      expect($ref, name).to.be.a('string');
      expect(Object.keys(schemas), name).to.include(String($ref).split('/').at(-1));
    }
    expect(Object.keys(schemas)).to.include.members(['MessageDeleted', 'ReactionChange', 'Interaction', 'ReadUpdate', 'PublicUser']);
  });

  it('describes a schema in its place without siblings of a reference', () => {
    const { schemas = {} } = render().components;
    const { author } = (schemas.Message as { properties: Json }).properties;
    expect(author).to.include.keys('allOf', 'description').and.not.to.include.keys('$ref');
    expect(schemas.Channel?.discriminator).to.deep.include({ propertyName: 'kind' });
    expect(schemas.Channel).to.have.nested.property('discriminator.mapping.thread', '#/components/schemas/ThreadChannel');
    expect(schemas.CallbackInput?.oneOf).to.deep.equal(
      ['MessageAnswer', 'DeferAnswer'].map((name) => ({ $ref: `#/components/schemas/${name}` })),
    );
  });

  it('describes the body, idempotency key, headers and all error statuses of creating a message', () => {
    const { requestBody, parameters, responses, security } = operationOf(render(), 'post', '/api/channels/{channelId}/messages');
    const schema = { $ref: '#/components/schemas/MessageInput' };
    expect(requestBody?.content['application/json']).to.deep.include({ schema });
    const form = requestBody?.content['multipart/form-data'] as { schema: { properties: Json } };
    expect(form.schema.properties.payload_json).to.deep.equal(schema);
    expect(form.schema.properties.files).to.include({ type: 'array', maxItems: 10 });
    expect(parameters.map((one) => one.$ref)).to.include('#/components/parameters/IdempotencyKey');
    expect(Object.keys(responses)).to.include.members(['201', '400', '401', '403', '404', '409', '413', '415', '429', '503', 'default']);
    expect(Object.keys(responses['201']?.headers as Json)).to.include.members(['X-RateLimit-Remaining', 'X-Request-Id']);
    expect(JSON.stringify(responses['403'])).to.contain('missing_permission');
    expect(security).to.deep.equal([{ Bot: [] }, { Bearer: [] }, { Cookie: [] }]);
  });

  it('describes every operation and parameter, and gives an example of every JSON body', () => {
    const document = render();
    for (const [path, item] of [...Object.entries(document.paths), ...Object.entries(document.webhooks)])
      for (const [method, { summary, description, parameters, requestBody, responses }] of Object.entries(item)) {
        const at = `${method} ${path}`;
        expect(summary, at).to.have.length.within(5, 120);
        expect(description, at).to.have.length.above(10);
        for (const one of parameters) if (!one.$ref) expect(one.description, `${at} ${one.name}`).to.have.length.above(10);
        const successes = Object.entries(responses).flatMap(([status, response]) => (status.startsWith('2') ? [response] : []));
        for (const body of [requestBody, ...successes] as ({ content?: Record<string, Json> } | undefined)[])
          if (body?.content?.['application/json']) expect(body.content['application/json'], at).to.have.any.keys('example', 'examples');
      }
  });

  it('describes the requests to Interactions Endpoints with the headers that sign them', () => {
    const { post } = render().webhooks.interactionsEndpoint as { post: Operation };
    expect(post.parameters.map(({ name }) => name)).to.deep.equal(['X-Service-Timestamp', 'X-Service-Signature']);
    expect(JSON.stringify(post.requestBody)).to.contain('#/components/schemas/InteractionRequest"');
  });

  it('describes the limits of query parameters', () => {
    const { parameters } = operationOf(render(), 'get', '/api/channels/{channelId}/messages');
    const limit = parameters.find((one) => one.name === 'limit');
    expect(limit).to.include({ in: 'query', required: false });
    expect(limit?.schema).to.include({ type: 'integer', minimum: 1, maximum: 100 });
  });

  const cases: [what: string, change: (document: Document) => void, error: RegExp][] = [
    ['a broken reference', (all) => delete all.components.schemas?.Message, /schemas\/Message does not exist/],
    [
      'an undeclared path parameter',
      (all) => operationOf(all, 'get', '/api/channels/{channelId}/messages').parameters.shift(),
      /path has channelId, but/,
    ],
    [
      'a duplicate operationId',
      (all) => {
        operationOf(all, 'get', '/api/gateway').operationId = operationOf(all, 'get', '/api/openapi.json').operationId;
      },
      /is not unique/,
    ],
    ['a tag that is not declared', (all) => all.tags.shift(), /tag Messages is not declared/],
    [
      'two paths that differ only in the names of their parameters',
      (all) => {
        all.paths['/api/channels/{id}'] = {};
      },
      /the same as/,
    ],
    ['an unknown security scheme', (all) => delete all.components.securitySchemes?.Bot, /Bot is not a security scheme/],
  ];
  for (const [what, change, error] of cases)
    it(`the check detects ${what}`, () => {
      const document = render();
      change(document);
      expect(errorsOf(document).join('\n')).to.match(error);
    });
});
