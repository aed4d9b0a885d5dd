import { Type } from 'typebox';
import { renderOpenApi } from '../openapi.ts';
import { type Route, route } from '../route.ts';

/** The routes that describe the API itself. `others` are all other routes. */
export function metaRoutes(others: readonly Route[]): readonly Route[] {
  const about: readonly Route[] = [
    route({
      method: 'GET',
      path: '/api/openapi.json',
      auth: 'none',
      about: 'Returns this API as an OpenAPI 3.1 document.',
      reply: { status: 200, body: Type.Object({ openapi: Type.String(), paths: Type.Record(Type.String(), Type.Unknown()) }) },
      errors: [],
      run: async ({ config }) =>
        renderOpenApi([...others, ...about], config.baseUrl) as { openapi: string; paths: Record<string, unknown> },
    }),
  ];
  return about;
}
