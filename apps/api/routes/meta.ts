import { Type } from 'typebox';
import { Instance } from '../../../lib/contract/auth.ts';
import { renderAsyncApi } from '../asyncapi.ts';
import { renderOpenApi } from '../openapi.ts';
import { type Route, route } from '../route.ts';

/** The routes that describe the API itself. `otherRoutes` are all other routes. */
export function metaRoutes(otherRoutes: readonly Route[]): readonly Route[] {
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
      },
      errors: [],
      run: async ({ config }) =>
        renderOpenApi([...otherRoutes, ...routes], config.baseUrl) as { openapi: string; paths: Record<string, unknown> },
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
      },
      errors: [],
      run: async ({ config }) => renderAsyncApi(config.gatewayUrl) as { asyncapi: string; channels: Record<string, unknown> },
    }),
  ];
  return routes;
}
