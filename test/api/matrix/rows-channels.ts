import { permissionBits } from '../../../lib/base/permissions.ts';
import { makeChannel } from '../../harness/factories.ts';
import type { MatrixFixture } from './fixture.ts';
import { account, members, needs, ownerOnly, peopleOnly, viewers, viewingPeople } from './roles.ts';
import { atTop, channelCall, type Row, row, withBody } from './row.ts';

const channel = '/api/channels/{channelId}';

/** Channels, threads, typing and read marks (docs/behavior/servers.md#channels). */
const basicRows: readonly Row[] = [
  row(`POST /api/servers/{serverId}/channels`, [...members, needs('Manage Channels')], 201, ({ serverId }) => ({
    params: [serverId],
    body: { name: 'new', kind: 'text' },
  })),
  row(`GET ${channel}`, viewers, 200, channelCall),
  row(`PATCH ${channel}`, [...viewers, needs('Manage Channels')], 200, withBody(channelCall, { topic: 'changed' })),
  row(`DELETE ${channel}`, [...viewers, needs('Manage Channels')], 204, async (fixture) => ({ params: [await fixture.makeChannel()] })),
  row(`GET ${channel}/threads`, viewers, 200, channelCall),
  row(`POST ${channel}/threads`, [...viewers, needs('Send Messages')], 201, withBody(channelCall, { name: 'thread' })),
  row(`POST ${channel}/typing`, [...viewers, needs('Send Messages')], 204, channelCall),
  row(`PUT ${channel}/read`, viewingPeople, 204, async (fixture) => ({
    ...channelCall(fixture),
    body: { messageId: await fixture.makeMessage() },
  })),
  row('GET /api/users/@me/reads', peopleOnly, 200, () => ({})),
  row('GET /api/users/@me/sync', account, 200, () => ({})),
];

const overwrite = `${channel}/overwrites/{roleOrUserId}`;
const overwriteRows: readonly Row[] = [
  row(`PUT ${overwrite}`, [...viewers, needs('Manage Roles')], 200, async (fixture) => ({
    params: [fixture.channelId, await fixture.makeRole()],
    body: { allow: permissionBits['View Channel'], deny: 0 },
  })),
  row(
    `PUT ${overwrite}`,
    [...viewers, needs('Manage Roles'), needs('Ban Members')],
    200,
    async (fixture) => ({ params: [fixture.channelId, await fixture.makeRole()], body: { allow: permissionBits['Ban Members'], deny: 0 } }),
    'with a permission that the caller may lack',
  ),
  row(
    `PUT ${overwrite}`,
    [...viewers, needs('Manage Roles'), ownerOnly('403 role_hierarchy')],
    200,
    async (fixture) => ({ params: [fixture.channelId, await fixture.makeRole(atTop)], body: { allow: 1, deny: 0 } }),
    'for a role above all others',
  ),
  row(
    `PUT ${overwrite}`,
    [...viewers, needs('Manage Roles')],
    200,
    (fixture) => ({ params: [fixture.channelId, fixture.owner.id], body: { allow: 1, deny: 0 } }),
    'for the owner',
  ),
  row(`POST ${channel}/sync-overwrites`, [...viewers, needs('Manage Roles')], 200, async (fixture) => {
    const { id: parentId } = await makeChannel(fixture.api, fixture.owner, fixture.serverId, { kind: 'category' });
    const { id } = await makeChannel(fixture.api, fixture.owner, fixture.serverId, { parentId });
    return { params: [id] };
  }),
  row(`DELETE ${overwrite}`, [...viewers, needs('Manage Roles')], 204, (fixture) => overwriteCall(fixture, {})),
  row(
    `DELETE ${overwrite}`,
    [...viewers, needs('Manage Roles'), ownerOnly('403 role_hierarchy')],
    204,
    (fixture) => overwriteCall(fixture, atTop),
    'for a role above all others',
  ),
];

/** A call with an overwrite of a new role. */
async function overwriteCall(fixture: MatrixFixture, input: { position?: number }): Promise<{ params: string[] }> {
  const roleId = await fixture.makeRole(input);
  const path = `/api/channels/${fixture.channelId}/overwrites/${roleId}`;
  await fixture.api.call('PUT', path, { as: fixture.owner.as, body: { allow: 0, deny: permissionBits['View Channel'] } });
  return { params: [fixture.channelId, roleId] };
}

const followers = '/api/channels/{channelId}/followers';
const followRows: readonly Row[] = [
  row(`GET ${followers}`, viewers, 200, ({ newsId }) => ({ params: [newsId] })),
  row(`POST ${followers}`, [...viewers, needs('Manage Webhooks')], 201, async (fixture) => ({
    params: [fixture.newsId],
    body: { channelId: await fixture.makeChannel() },
  })),
  row(
    `POST ${followers}`,
    [...viewers, ownerOnly('400 invalid_request')],
    201,
    async (fixture) => {
      const elsewhere = await fixture.makeServer();
      const { body } = await fixture.api.call<{ channels: { id: string }[] }>('GET', `/api/servers/${elsewhere}`, { as: fixture.owner.as });
      return { params: [fixture.newsId], body: { channelId: body.channels[0]?.id } };
    },
    'into a server that only the owner is in',
  ),
  row(`DELETE ${followers}/{targetId}`, [...viewers, needs('Manage Webhooks')], 204, async (fixture) => {
    const channelId = await fixture.makeChannel();
    await fixture.api.call('POST', `/api/channels/${fixture.newsId}/followers`, { as: fixture.owner.as, body: { channelId } });
    return { params: [fixture.newsId, channelId] };
  }),
];

/** The rows of channels. */
export const channelRows: readonly Row[] = [...basicRows, ...overwriteRows, ...followRows];
