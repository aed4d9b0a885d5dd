import { gzipSync } from 'node:zlib';
import { Type } from 'typebox';
import type { Config } from '../../../config/index.ts';
import { Instance } from '../../../lib/contract/auth.ts';
import { renderAsyncApi } from '../documents/asyncapi.ts';
import { renderOpenApi } from '../documents/openapi.ts';
import { type Route, route, SerializedBody } from '../route.ts';

/** Renders a document about the API at the first request for it, because that takes a while, and keeps it for the settings of this process. */
function keepDocument(render: (config: Config) => unknown): (config: Config) => SerializedBody {
  const kept = new WeakMap<Config, SerializedBody>();
  return (config) => {
    const known = kept.get(config);
    if (known) return known;
    const json = Buffer.from(JSON.stringify(render(config)));
    const reply = new SerializedBody(json, gzipSync(json));
    kept.set(config, reply);
    return reply;
  };
}

/** The routes that describe the API itself. `otherRoutes` are all other routes. */
export function metaRoutes(otherRoutes: readonly Route[]): readonly Route[] {
  const openApi = keepDocument(({ baseUrl }) => renderOpenApi([...otherRoutes, ...routes], baseUrl));
  const asyncApi = keepDocument(({ gatewayUrl }) => renderAsyncApi(gatewayUrl));
  const routes: readonly Route[] = [
    route({
      operationId: 'getInstance',
      tag: 'Installation',
      method: 'GET',
      path: '/api/instance',
      auth: 'none',
      summary: 'Returns who can create accounts and servers on this installation.',
      reply: { status: 200, body: Instance },
      errors: ['rate_limited'],
      run: async ({ config: { REGISTRATION, SERVER_CREATION, OIDC_ISSUER, OIDC_NAME, OIDC_ACCOUNTS } }) => ({
        registration: REGISTRATION,
        serverCreation: SERVER_CREATION,
        signIn: OIDC_ISSUER === '' ? null : { name: OIDC_NAME, canCreate: OIDC_ACCOUNTS === 'create' },
      }),
    }),
    route({
      operationId: 'getOpenApi',
      tag: 'Installation',
      method: 'GET',
      path: '/api/openapi.json',
      auth: 'none',
      summary: 'Returns this API as an OpenAPI 3.1 document.',
      reply: {
        status: 200,
        body: Type.Object({ openapi: Type.String(), paths: Type.Record(Type.String(), Type.Unknown()) }, { additionalProperties: true }),
        hasEtag: true,
      },
      errors: [],
      run: async ({ config }) => openApi(config),
    }),
    route({
      operationId: 'getAsyncApi',
      tag: 'Installation',
      method: 'GET',
      path: '/api/asyncapi.json',
      auth: 'none',
      summary: 'Returns the gateway as an AsyncAPI 3 document.',
      reply: {
        status: 200,
        body: Type.Object(
          { asyncapi: Type.String(), channels: Type.Record(Type.String(), Type.Unknown()) },
          { additionalProperties: true },
        ),
        hasEtag: true,
      },
      errors: [],
      run: async ({ config }) => asyncApi(config),
    }),
  ];
  return routes;
}
