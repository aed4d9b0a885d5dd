import { expect } from 'chai';
import type { TObject, TSchema } from 'typebox';
import { routes } from '../../apps/api/routes/index.ts';

interface ArraySchema {
  type?: string;
  maxItems?: number;
  properties?: Record<string, ArraySchema>;
}

/** The arrays of a reply: the reply itself or its properties. */
function arraysOf(reply: TSchema): [name: string, schema: ArraySchema][] {
  const schema = reply as ArraySchema;
  if (schema.type === 'array') return [['the reply', schema]];
  return Object.entries(schema.properties ?? {}).filter(([, property]) => property.type === 'array');
}

/** The maximum of the query parameter `limit`; undefined if there is none. */
function maxLimitOf(query: TObject | undefined): number | undefined {
  const limit: (TSchema & { maximum?: number }) | undefined = query?.properties.limit;
  return limit?.maximum;
}

describe('API lists', () => {
  const lists = routes.flatMap(({ method, path, query, reply }) =>
    method === 'GET' && reply.body ? arraysOf(reply.body).map(([name, schema]) => ({ path, query, name, schema })) : [],
  );

  it('finds the lists of the route table', () => {
    expect(lists.map(({ path }) => path)).to.include.members([
      '/api/servers/{serverId}/members',
      '/api/servers/{serverId}',
      '/api/servers',
    ]);
  });

  for (const { path, query, name, schema } of lists)
    it(`GET ${path}: ${name} has a maximum length`, () => {
      expect(maxLimitOf(query) ?? schema.maxItems, 'declare `limit` with a maximum in the query, or maxItems of the list').to.be.within(
        1,
        2_000,
      );
    });
});
