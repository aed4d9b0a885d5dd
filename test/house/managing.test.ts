import { expect } from 'chai';
import { routes } from '../../apps/api/routes/index.ts';

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
