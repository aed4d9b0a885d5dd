import { permissionBits } from '../../../lib/base/permissions.ts';
import { makeServer, setOverwrite } from '../../harness/factories.ts';
import type { MatrixFixture } from './fixture.ts';
import { account, members, needs, ownerOnly, peopleOnly, viewers, viewingPeople } from './roles.ts';
import { atTop, type Call, channelCall, type Row, row, withBody } from './row.ts';

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
/** A call with the overwrite of a new role, and a body. */
const newRoleCall =
  (body: object, input = {}): Row['call'] =>
  async (fixture) => ({ params: [fixture.channelId, await fixture.makeRole(input)], body });
/** A call with an overwrite that a new role has. */
const overwriteCall =
  (input = {}): Row['call'] =>
  async (fixture) => {
    const roleId = await fixture.makeRole(input);
    await setOverwrite(fixture.api, fixture.owner, fixture.channelId, roleId, 0, permissionBits['View Channel']);
    return { params: [fixture.channelId, roleId] };
  };
const managingRoles = [...viewers, needs('Manage Roles')];
const aboveTop = [...managingRoles, ownerOnly('403 role_hierarchy')];
const view = { allow: permissionBits['View Channel'], deny: 0 };
const ban = { allow: permissionBits['Ban Members'], deny: 0 };
const overwriteRows: readonly Row[] = [
  row(`PUT ${overwrite}`, managingRoles, 200, newRoleCall(view)),
  row(`PUT ${overwrite}`, [...managingRoles, needs('Ban Members')], 200, newRoleCall(ban), 'with a permission that the caller may lack'),
  row(`PUT ${overwrite}`, aboveTop, 200, newRoleCall(view, atTop), 'for a role above all others'),
  row(`PUT ${overwrite}`, managingRoles, 200, ({ channelId, owner }) => ({ params: [channelId, owner.id], body: view }), 'for the owner'),
  row(`POST ${channel}/sync-overwrites`, managingRoles, 200, async (fixture) => {
    const parentId = await fixture.makeChannel({ kind: 'category' });
    return { params: [await fixture.makeChannel({ parentId })] };
  }),
  row(`DELETE ${overwrite}`, managingRoles, 204, overwriteCall()),
  row(`DELETE ${overwrite}`, aboveTop, 204, overwriteCall(atTop), 'for a role above all others'),
];

const followers = '/api/channels/{channelId}/followers';
/** A call with a channel of another server of the owner. */
const elsewhereCall = async ({ api, owner, newsId }: MatrixFixture): Promise<Call> => ({
  params: [newsId],
  body: { channelId: (await makeServer(api, owner)).general },
});
const followRows: readonly Row[] = [
  row(`GET ${followers}`, viewers, 200, ({ newsId }) => ({ params: [newsId] })),
  row(`POST ${followers}`, [...viewers, needs('Manage Webhooks')], 201, async (fixture) => ({
    params: [fixture.newsId],
    body: { channelId: await fixture.makeChannel() },
  })),
  row(`POST ${followers}`, [...viewers, ownerOnly('400 invalid_request')], 201, elsewhereCall, 'into a server that only the owner is in'),
  row(`DELETE ${followers}/{targetId}`, [...viewers, needs('Manage Webhooks')], 204, async (fixture) => {
    const channelId = await fixture.makeChannel();
    await fixture.api.call('POST', `/api/channels/${fixture.newsId}/followers`, { as: fixture.owner.as, body: { channelId } });
    return { params: [fixture.newsId, channelId] };
  }),
];

/** The rows of channels. */
export const channelRows: readonly Row[] = [...basicRows, ...overwriteRows, ...followRows];
