import { account, members, needs, ownsApplication, peopleOnly, type Rule, refuseAll } from './roles.ts';
import { type Call, type Row, row } from './row.ts';
import { hardTargets } from './rows-servers.ts';
import type { Stage } from './stage.ts';

const here = ({ serverId }: Stage): { at: string[] } => ({ at: [serverId] });
const ban = '/api/servers/{serverId}/bans/{userId}';
const banning = [...members, needs('Ban Members')];

/** Someone who is banned. */
async function banned(stage: Stage): Promise<Call> {
  const { id } = await stage.member();
  await stage.api.call('PUT', `/api/servers/${stage.serverId}/bans/${id}`, { as: stage.owner.as });
  return { at: [stage.serverId, id] };
}

/** Bans (docs/behavior/servers.md#bans). */
const banRows: readonly Row[] = [
  row('GET /api/servers/{serverId}/bans', banning, 200, here),
  row(`PUT ${ban}`, banning, 204, async (stage) => ({ at: [stage.serverId, (await stage.member()).id] })),
  row(`PUT ${ban}`, banning, 204, async (stage) => ({ at: [stage.serverId, (await stage.person()).id] }), { case: 'of who is not in' }),
  ...hardTargets('Ban Members', `PUT ${ban}`),
  row(`DELETE ${ban}`, banning, 204, banned),
];

/** Presence and profiles (docs/behavior/accounts.md#profiles). */
const profileRows: readonly Row[] = [
  row('PATCH /api/users/@me/presence', account, 200, () => ({ body: { status: 'idle' } })),
  row('GET /api/users/{userId}/profile', members, 200, ({ author }) => ({ at: [author.id] })),
  row('PATCH /api/users/@me', account, 200, () => ({ body: { pronouns: 'they' } })),
];

/** Where people are logged in, and their password. */
const sessionRows: readonly Row[] = [
  row('GET /api/users/@me/sessions', peopleOnly, 200, () => ({})),
  row('DELETE /api/users/@me/sessions', peopleOnly, 204, () => ({}), { own: true }),
  row(
    'DELETE /api/users/@me/sessions/{id}',
    peopleOnly,
    204,
    async (stage, caller) => ({ at: [(await stage.session(caller)).split('.')[0] as string] }),
    { own: true },
  ),
  row(
    'PUT /api/users/@me/password',
    [...peopleOnly, refuseAll('400 invalid_request')],
    204,
    () => ({ body: { currentPassword: 'not the password', newPassword: 'a new password' } }),
    { case: 'with a wrong one' },
  ),
];

/** A new server of the owner's that is listed in Discovery. */
async function listed(stage: Stage): Promise<Call> {
  const id = await stage.server();
  const on = { enabled: true, rulesChannelId: 'new', updatesChannelId: 'new' };
  await stage.api.call('PUT', `/api/servers/${id}/community`, { as: stage.owner.as, body: on });
  const shown = { listed: true, category: 'gaming', description: 'A place to play', tags: [] };
  await stage.api.call('PUT', `/api/servers/${id}/discovery`, { as: stage.owner.as, body: shown });
  return { at: [id] };
}

const managing = [...members, needs('Manage Server')];
/** An id in a body that the caller may not know of is 400 (docs/behavior/requests.md#validation). */
const seesOr400: Rule = ({ holds }) => (holds.includes('View Channel') ? null : '400 invalid_request');
const join = 'POST /api/discovery/servers/{serverId}/join';
/** Community and Discovery (docs/behavior/community.md#settings). */
const communityRows: readonly Row[] = [
  row('GET /api/servers/{serverId}/community', managing, 200, here),
  row('PUT /api/servers/{serverId}/community', [...managing, seesOr400], 200, async (stage) => ({
    ...here(stage),
    body: { enabled: true, rulesChannelId: stage.channelId, updatesChannelId: await stage.channel() },
  })),
  row('PUT /api/servers/{serverId}/community', managing, 200, (stage) => ({ ...here(stage), body: { enabled: false } }), { case: 'off' }),
  row('PUT /api/servers/{serverId}/discovery', managing, 200, (stage) => ({ ...here(stage), body: { listed: false } })),
  row('GET /api/discovery/servers', account, 200, () => ({})),
  row('GET /api/discovery/apps', account, 200, () => ({})),
  row(join, peopleOnly, 200, listed),
  row(join, [...peopleOnly, refuseAll('404 (no code)')], 200, async (stage) => ({ at: [await stage.server()] }), { case: 'not listed' }),
];

/** A picture of one pixel. */
const pixel = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');
const sent = { body: pixel, headers: { 'Content-Type': 'image/png' } };
const portal = [...peopleOnly, ownsApplication(false)];
const itsOwn = ({ application: { applicationId } }: Stage): { at: string[] } => ({ at: [applicationId] });

/** Avatars and icons (docs/behavior/accounts.md#pictures). */
const pictureRows: readonly Row[] = [
  row('PUT /api/users/@me/avatar', account, 200, () => sent),
  row('DELETE /api/users/@me/avatar', account, 204, () => ({})),
  row('PUT /api/servers/{id}/icon', managing, 200, (stage) => ({ ...here(stage), ...sent })),
  row('DELETE /api/servers/{id}/icon', managing, 204, here),
  row('PUT /api/applications/{id}/icon', portal, 200, (stage) => ({ ...itsOwn(stage), ...sent })),
  row('DELETE /api/applications/{id}/icon', portal, 204, itsOwn),
];

/** The rows of bans, people, Community, Discovery and pictures. */
export const peopleRows: readonly Row[] = [...banRows, ...profileRows, ...sessionRows, ...communityRows, ...pictureRows];
