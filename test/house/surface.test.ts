import { expect } from 'chai';
import type { TObject, TSchema } from 'typebox';
import { routes } from '../../apps/api/routes/index.ts';

/** The endpoints of the specification: each path with its methods. */
const specified = `
  /api/channels/{channelId}/messages GET POST
  /api/channels/{channelId}/messages/{messageId} PATCH DELETE
  /api/channels/{channelId}/typing POST
  /api/channels/{channelId}/pins GET
  /api/channels/{channelId}/messages/{messageId}/reactions/{emoji} PUT DELETE GET
  /api/channels/{channelId}/pins/{messageId} PUT DELETE
  /api/channels/{channelId}/messages/{messageId}/crosspost POST
  /api/channels/{channelId}/threads POST GET
  /api/interactions/{interactionId}/{interactionToken}/callback POST
  /api/interactions/{interactionId}/{interactionToken}/followup POST
  /api/applications/{applicationId}/commands GET PUT
  /api/applications/{applicationId}/servers/{serverId}/commands GET PUT
  /api/applications/{applicationId}/commands/{commandId} DELETE
  /api/auth/me GET
  /api/users/@me/channels POST GET
  /api/users/@me/presence PATCH
  /api/users/{userId}/profile GET
  /api/servers GET
  /api/servers/{serverId} GET
  /api/servers/{serverId}/members GET
  /api/servers/{serverId}/channels POST
  /api/channels/{channelId} PATCH DELETE
  /api/servers/{serverId}/members/{userId}/roles/{roleId} PUT DELETE
  /api/users/@me/servers/{serverId} DELETE
  /api/servers/{serverId}/members/{userId} DELETE
  /api/servers/{serverId}/bans/{userId} PUT DELETE
  /api/servers/{serverId}/bans GET
  /api/servers/{serverId}/community GET PUT
  /api/servers/{serverId}/discovery PUT
  /api/discovery/servers GET
  /api/discovery/servers/{serverId}/join POST
  /api/discovery/apps GET
  /api/applications/{applicationId}/authorize POST
  /api/applications/{applicationId} PATCH
  /api/channels/{channelId}/webhooks POST GET
  /api/webhooks/{webhookId} PATCH DELETE
  /api/webhooks/{webhookId}/{webhookToken} POST
  /api/webhooks/{webhookId}/{webhookToken}/codehost POST
`;

/** The key of an endpoint, without the names of path parameters, which are not compared. */
const keyOf = (endpoint: string): string => endpoint.replace(/\{\w+\}/g, '{}');
const built = routes.map(({ method, path }) => keyOf(`${method} ${path}`));

describe('API surface', () => {
  it('has every endpoint of the specification, and each endpoint once', () => {
    const listed = specified
      .trim()
      .split('\n')
      .flatMap((line) => {
        const [path = '', ...methods] = line.trim().split(' ');
        return methods.map((method) => keyOf(`${method} ${path}`));
      });
    expect(built).to.include.members(listed);
    expect(built.filter((key, at) => built.indexOf(key) !== at)).to.deep.equal([]);
  });

  it('every path is under /api, has no trailing slash and no duplicate parameter', () => {
    for (const { path } of routes) {
      expect(path).to.match(/^\/api(\/([a-z0-9@.-]+|\{\w+\}))+$/);
      const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
      expect(new Set(names).size, path).to.equal(names.length);
    }
  });
});

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

/** Routes of servers, channels, webhooks and invites that need no `manages`, because they do not conflict with calls that have it, and the reason. */
const exceptions: Record<string, string> = {
  'POST /api/discovery/servers/{serverId}/join': 'joins, which needs no permission; every join checks for a ban afterwards',
  'POST /api/invites/{code}': 'joins, which needs no permission; every join checks for a ban afterwards',
  'PUT /api/servers/{serverId}/icon': 'is checked again in `manageServer` after the conversion of the image',
  'PUT /api/channels/{channelId}/read': 'writes what the caller has read',
};
const isOfMessages = (path: string): boolean =>
  /^\/api\/channels\/\{channelId\}\/(messages|pins|typing|commands)\b/.test(path) ||
  path.startsWith('/api/webhooks/{webhookId}/{webhookToken}');

describe('routes that manage servers', () => {
  for (const { method, path, manages } of routes) {
    const name = `${method} ${path}`;
    const isOfServer = path.includes('{serverId}') || /^\/api\/(servers|channels|webhooks|invites)\/\{/.test(path);
    if (method === 'GET' || !isOfServer || isOfMessages(path)) continue;
    it(`${name} ${name in exceptions ? 'has no `manages`' : 'has `manages`'}`, () => {
      expect(manages !== undefined).to.equal(!(name in exceptions));
      if (manages === true) expect(path).to.match(/\{(serverId|channelId)\}/);
    });
  }

  it('every exception is a route', () => {
    expect(routes.map(({ method, path }) => `${method} ${path}`)).to.include.members(Object.keys(exceptions));
  });
});
