import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { type RulesetDefinition, Spectral } from '@stoplight/spectral-core';
import { oas } from '@stoplight/spectral-rulesets';
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
  paths: Record<string, Record<string, Operation>>;
  components: Record<string, Record<string, Json>>;
};

const render = (): Document => JSON.parse(JSON.stringify(renderOpenApi(routes, 'http://localhost:8080')));
const operationOf = (document: Document, method: string, path: string): Operation => document.paths[path]?.[method] as Operation;

describe('OpenAPI document', () => {
  it('contains every route once, by a name that generators can use', () => {
    const operations = Object.values(render().paths).flatMap((item) => Object.values(item));
    expect(operations).to.have.length(routes.length);
    for (const { operationId } of operations) expect(operationId).to.match(/^[a-z][A-Za-z0-9]+$/);
  });

  it('has schemas that compile as JSON Schema 2020-12', () => {
    const document = render();
    const ajv = new Ajv2020({ strict: false, formats: { 'date-time': true } });
    ajv.addSchema({ $id: 'api', components: document.components });
    for (const name of Object.keys(document.components.schemas ?? {}))
      expect(() => ajv.compile({ $ref: `api#/components/schemas/${name}` }), name).not.to.throw();
    expect(document.components.schemas).to.include.keys('Error', 'ErrorCode', 'MessageInput', 'GatewayEvent', 'PresenceChange');
  });

  it('has the payload of every event as a named schema', () => {
    const { schemas = {} } = render().components;
    for (const [name, { data }] of Object.entries(events)) {
      const { $ref } = createSchemaWriter().write(data);
      expect($ref, name).to.be.a('string');
      expect(Object.keys(schemas), name).to.include(String($ref).split('/').at(-1));
    }
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
});

const source = JSON.stringify(renderOpenApi(routes, 'https://chat.test'));

/** The problems that the recommended rules of Redocly find, one line each. */
async function lintByRedocly(document: string): Promise<string[]> {
  const config = await createConfig({ extends: ['recommended'], telemetry: 'off' });
  const problems = await lintFromString({ source: document, config, absoluteRef: '/openapi.json' });
  return problems.map(
    ({ severity, ruleId, message, location }) => `${severity} ${ruleId} ${location.map(({ pointer }) => pointer).join()}: ${message}`,
  );
}

/** The problems that the recommended rules of Spectral find, one line each. */
async function lintBySpectral(document: string): Promise<string[]> {
  const spectral = new Spectral();
  spectral.setRuleset({ extends: [[oas as RulesetDefinition, 'recommended']] });
  const problems = await spectral.run(JSON.parse(document) as Record<string, unknown>);
  return problems.map(({ severity, code, message, path }) => `${severity} ${code} ${path.join('/')}: ${message}`);
}

/** A document with faults that both linters find. */
const operation = { operationId: 'getThing', responses: { 200: { description: 'OK.' } } };
const faulty = JSON.stringify({
  openapi: '3.1.0',
  info: { title: 'Faulty', version: '1' },
  paths: { '/a': { get: operation }, '/b': { get: operation } },
});

describe('OpenAPI document: linters', () => {
  for (const [name, lint] of [
    ['Redocly', lintByRedocly],
    ['Spectral', lintBySpectral],
  ] as const) {
    it(`${name} finds neither errors nor warnings`, async () => expect(await lint(source)).to.deep.equal([]));

    it(`${name} finds a duplicate operationId`, async () => expect((await lint(faulty)).join('\n')).to.match(/unique/i));
  }
});

/** A program that uses the generated client. The lines below `@ts-expect-error` must not compile. */
const program = `
import { ok } from '@oazapfts/runtime';
import { addReaction, createMessage, defaults, type ErrorCode, listMessages, type Message } from './api.ts';
defaults.headers = { Authorization: 'Bot token' };
const channelId = '1234567890123456789';
const { id, content }: Message = await ok(createMessage(channelId, { content: 'Hello!' }, { idempotencyKey: 'a' }));
await addReaction(channelId, id, encodeURIComponent(content));
const refused = await createMessage(channelId, {});
if (refused.status === 403) {
  const code: ErrorCode | undefined = refused.data.code;
  console.error(code);
}
await listMessages(channelId, { limit: 50 });
// @ts-expect-error: not a field of a message
await createMessage(channelId, { text: 'Hello!' });
// @ts-expect-error: not one of the error codes
const unknown: ErrorCode = 'no_such_code';
`;

describe('OpenAPI document: a generated client', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parlance-client-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const run = (...args: string[]): string => {
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' });
    return status === 0 ? '' : stdout + stderr;
  };

  it('is generated, and compiles with a program that uses it', () => {
    symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    writeFileSync(join(folder, 'openapi.json'), JSON.stringify(renderOpenApi(routes, 'https://chat.test')));
    writeFileSync(join(folder, 'program.ts'), program);
    expect(run(resolve('node_modules/oazapfts/dist/cli.js'), 'openapi.json', 'api.ts')).to.equal('');
    const compilerOptions = { strict: true, noEmit: true, target: 'es2022', module: 'nodenext', allowImportingTsExtensions: true };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));
    expect(run(resolve('node_modules/typescript/bin/tsc'))).to.equal('');
  });
});
