import { permissionBits } from '../../../lib/base/permissions.ts';
import { account, members, needs, notTheOwner, peopleOnly, refuseAll, viewers, viewingPeople } from './roles.ts';
import { type Row, row } from './row.ts';
import type { Stage } from './stage.ts';

const channel = '/api/channels/{channelId}';
const here = ({ channelId }: Stage): { at: string[] } => ({ at: [channelId] });
/** Position above every role of the matrix. */
const atTop = { position: 250 };

/** Channels, threads, typing and read marks (docs/behavior/servers.md#channels). */
const placeRows: readonly Row[] = [
  row(`POST /api/servers/{serverId}/channels`, [...members, needs('Manage Channels')], 201, ({ serverId }) => ({
    at: [serverId],
    body: { name: 'new', kind: 'text' },
  })),
  row(`GET ${channel}`, viewers, 200, here),
  row(`PATCH ${channel}`, [...viewers, needs('Manage Channels')], 200, (stage) => ({ ...here(stage), body: { topic: 'changed' } })),
  row(`DELETE ${channel}`, [...viewers, needs('Manage Channels')], 204, async (stage) => ({ at: [await stage.channel()] })),
  row(`GET ${channel}/threads`, viewers, 200, here),
  row(`POST ${channel}/threads`, [...viewers, needs('Send Messages')], 201, (stage) => ({ ...here(stage), body: { name: 'thread' } })),
  row(`POST ${channel}/typing`, [...viewers, needs('Send Messages')], 204, here),
  row(`PUT ${channel}/read`, viewingPeople, 204, async (stage) => ({ ...here(stage), body: { messageId: await stage.message() } })),
  row('GET /api/users/@me/reads', peopleOnly, 200, () => ({})),
  row('GET /api/users/@me/sync', account, 200, () => ({})),
];

const overwrite = `${channel}/overwrites/{roleOrUserId}`;
const overwriteRows: readonly Row[] = [
  row(`PUT ${overwrite}`, [...viewers, needs('Manage Roles')], 200, async (stage) => ({
    at: [stage.channelId, await stage.role()],
    body: { allow: permissionBits['View Channel'], deny: 0 },
  })),
  row(
    `PUT ${overwrite}`,
    [...viewers, needs('Manage Roles'), needs('Ban Members')],
    200,
    async (stage) => ({ at: [stage.channelId, await stage.role()], body: { allow: permissionBits['Ban Members'], deny: 0 } }),
    { case: 'with a bit that the caller may lack' },
  ),
  row(
    `PUT ${overwrite}`,
    [...viewers, needs('Manage Roles'), (role) => (role.owner ? null : '403 role_hierarchy')],
    200,
    async (stage) => ({ at: [stage.channelId, await stage.role(atTop)], body: { allow: 1, deny: 0 } }),
    { case: 'for a role above all others' },
  ),
  row(
    `PUT ${overwrite}`,
    [...viewers, needs('Manage Roles'), notTheOwner('403 role_hierarchy'), refuseAll('403 role_hierarchy')],
    200,
    (stage) => ({ at: [stage.channelId, stage.owner.id], body: { allow: 1, deny: 0 } }),
    { case: 'for the owner' },
  ),
  row(`DELETE ${overwrite}`, [...viewers, needs('Manage Roles')], 204, (stage) => overwritten(stage, {})),
  row(
    `DELETE ${overwrite}`,
    [...viewers, needs('Manage Roles'), (role) => (role.owner ? null : '403 role_hierarchy')],
    204,
    (stage) => overwritten(stage, atTop),
    { case: 'for a role above all others' },
  ),
];

/** A channel that changes something for a new role. */
async function overwritten(stage: Stage, input: { position?: number }): Promise<{ at: string[] }> {
  const roleId = await stage.role(input);
  const path = `/api/channels/${stage.channelId}/overwrites/${roleId}`;
  await stage.api.call('PUT', path, { as: stage.owner.as, body: { allow: 0, deny: permissionBits['View Channel'] } });
  return { at: [stage.channelId, roleId] };
}

const followers = '/api/channels/{id}/followers';
const followRows: readonly Row[] = [
  row(`GET ${followers}`, viewers, 200, ({ newsId }) => ({ at: [newsId] })),
  row(`POST ${followers}`, [...viewers, needs('Manage Webhooks')], 201, async (stage) => ({
    at: [stage.newsId],
    body: { channelId: await stage.channel() },
  })),
  row(
    `POST ${followers}`,
    [...viewers, (role) => (role.owner ? null : '400 invalid_request')],
    201,
    async (stage) => {
      const elsewhere = await stage.server();
      const { body } = await stage.api.call<{ channels: { id: string }[] }>('GET', `/api/servers/${elsewhere}`, { as: stage.owner.as });
      return { at: [stage.newsId], body: { channelId: body.channels[0]?.id } };
    },
    { case: 'into a server that only the owner is in' },
  ),
  row(`DELETE ${followers}/{targetId}`, [...viewers, needs('Manage Webhooks')], 204, async (stage) => {
    const channelId = await stage.channel();
    await stage.api.call('POST', `/api/channels/${stage.newsId}/followers`, { as: stage.owner.as, body: { channelId } });
    return { at: [stage.newsId, channelId] };
  }),
];

/** The rows of channels themselves. */
export const channelRows: readonly Row[] = [...placeRows, ...overwriteRows, ...followRows];
