import { expect } from 'chai';
import type { TObject, TSchema } from 'typebox';
import { routes } from '../../apps/api/routes/index.ts';

interface ArraySchema {
  type?: string;
  maxItems?: number;
  properties?: Record<string, ArraySchema>;
}

/** The arrays of a reply: the reply itself, and those directly in it. */
function arraysOf(reply: TSchema): [name: string, schema: ArraySchema][] {
  const schema = reply as ArraySchema;
  if (schema.type === 'array') return [['the reply', schema]];
  return Object.entries(schema.properties ?? {}).filter(([, property]) => property.type === 'array');
}

/** The most that the `limit` of a page can be; undefined where there is none. */
function pageMostOf(query: TObject | undefined): number | undefined {
  const limit: (TSchema & { maximum?: number }) | undefined = query?.properties.limit;
  return limit?.maximum;
}

describe('lists of the API', () => {
  const lists = routes.flatMap(({ method, path, query, reply }) =>
    method === 'GET' && reply.body ? arraysOf(reply.body).map(([name, schema]) => ({ path, query, name, schema })) : [],
  );

  it('are found in the route table', () => {
    expect(lists.map(({ path }) => path)).to.include.members([
      '/api/servers/{serverId}/members',
      '/api/servers/{serverId}',
      '/api/servers',
    ]);
  });

  for (const { path, query, name, schema } of lists)
    it(`GET ${path}: ${name} has a bound`, () => {
      expect(
        pageMostOf(query) ?? schema.maxItems,
        'declare `limit` with a maximum in the query, or the most that the list holds',
      ).to.be.within(1, 2_000);
    });
});
