import { password } from '../../harness/factories.ts';
import type { Caller } from '../../harness/requests.ts';
import { pngOf } from '../../images/fixtures.ts';
import type { MatrixFixture } from './fixture.ts';
import { account, members, needs, ownsApplication, peopleOnly, type Rule, refuseAll } from './roles.ts';
import { applicationCall, type Call, type Row, row, serverCall, withBody } from './row.ts';
import { protectedTargets } from './rows-servers.ts';

const ban = '/api/servers/{serverId}/bans/{userId}';
const banning = [...members, needs('Ban Members')];

/** A call with a banned person. */
async function bannedCall(fixture: MatrixFixture): Promise<Call> {
  const { id } = await fixture.makeMember();
  await fixture.api.call('PUT', `/api/servers/${fixture.serverId}/bans/${id}`, { as: fixture.owner.as });
  return { params: [fixture.serverId, id] };
}

/** A call with a person outside of the server. */
const strangerCall = async (fixture: MatrixFixture): Promise<Call> => ({ params: [fixture.serverId, (await fixture.makePerson()).id] });
/** Bans (docs/behavior/servers.md#bans). */
const banRows: readonly Row[] = [
  row('GET /api/servers/{serverId}/bans', banning, 200, serverCall),
  row(`PUT ${ban}`, banning, 204, async (fixture) => ({ params: [fixture.serverId, (await fixture.makeMember()).id] })),
  row(`PUT ${ban}`, banning, 204, strangerCall, 'of a person outside of the server'),
  ...protectedTargets('Ban Members', `PUT ${ban}`),
  row(`DELETE ${ban}`, banning, 204, bannedCall),
];

/** Presence and profiles (docs/behavior/accounts.md#profiles). */
const profileRows: readonly Row[] = [
  row('PATCH /api/users/@me/presence', account, 200, () => ({ body: { status: 'idle' } })),
  row('GET /api/users/{userId}/profile', members, 200, ({ author }) => ({ params: [author.id] })),
  row('PATCH /api/users/@me', account, 200, () => ({ body: { pronouns: 'they' } })),
];

const perCaller = { perCaller: true } as const;
const refusedHere = [...peopleOnly, refuseAll('400 invalid_request')];
const notFoundHere = [...peopleOnly, refuseAll('404 not_found')];
const wrongPassword = { password: 'not the password' };
const newPassword = { currentPassword: 'not the password', newPassword: 'a new password' };
const ownSessionCall = async (fixture: MatrixFixture, caller: Caller): Promise<Call> => ({
  params: [(await fixture.makeSession(caller)).split('.')[0] as string],
});

/** The sessions of people, and their password. */
const sessionRows: readonly Row[] = [
  row('GET /api/users/@me/sessions', peopleOnly, 200, () => ({})),
  row('DELETE /api/users/@me/sessions', peopleOnly, 204, () => ({}), perCaller),
  row('DELETE /api/users/@me/sessions/{sessionId}', peopleOnly, 204, ownSessionCall, perCaller),
  row('PUT /api/users/@me/password', refusedHere, 204, () => ({ body: newPassword }), 'with a wrong password'),
];

/** A call of a caller whose export is waiting, if it may have one. */
async function exportCall({ api }: MatrixFixture, { as }: Caller): Promise<Call> {
  await api.call('POST', '/api/users/@me/export', { as, body: { password } });
  return {};
}

/** The export of a person's data. */
const exportRows: readonly Row[] = [
  row('POST /api/users/@me/export', peopleOnly, 202, () => ({ body: { password } }), perCaller),
  row('GET /api/users/@me/export', peopleOnly, 200, () => ({})),
  row('GET /api/users/@me/export/file', notFoundHere, 200, () => ({})),
  row('DELETE /api/users/@me/export', peopleOnly, 204, exportCall, perCaller),
];

const wrongFactors = { ...wrongPassword, code: '000000' };
/** The two-factor authentication of people. */
const twoFactorRows: readonly Row[] = [
  row('GET /api/users/@me/two-factor', peopleOnly, 200, () => ({})),
  row('POST /api/users/@me/two-factor', refusedHere, 200, () => ({ body: wrongFactors }), 'with a wrong password'),
  row('PUT /api/users/@me/two-factor', refusedHere, 200, () => ({ body: { code: '000000' } }), 'without a setup'),
  row('POST /api/users/@me/two-factor/disable', refusedHere, 204, () => ({ body: wrongFactors }), 'with a wrong password'),
  row('POST /api/users/@me/two-factor/recovery-codes', refusedHere, 200, () => ({ body: wrongFactors }), 'with a wrong password'),
];

/** Sign-in by OpenID Connect, where no provider is configured. */
const signInRows: readonly Row[] = [
  row('GET /api/auth/oidc/pending', [refuseAll('404 not_found')], 200, () => ({})),
  row('POST /api/auth/oidc/account', [refuseAll('404 not_found')], 201, () => ({ body: { username: 'someone' } })),
  row('POST /api/auth/oidc/link', [refuseAll('404 not_found')], 200, () => ({ body: { username: 'someone', password: 'a password' } })),
  row('GET /api/users/@me/sign-in', peopleOnly, 200, () => ({})),
  row('PUT /api/users/@me/sign-in', notFoundHere, 204, () => ({ body: { password: 'a password' } })),
  row('DELETE /api/users/@me/sign-in', refusedHere, 204, () => ({ body: wrongPassword }), 'with a wrong password'),
];

/** The deletion of one's account. */
const deletionRows: readonly Row[] = [
  row('GET /api/users/@me/deletion', peopleOnly, 200, () => ({})),
  row('DELETE /api/users/@me/deletion', peopleOnly, 204, () => ({})),
  row('POST /api/users/@me/deletion', refusedHere, 200, () => ({ body: { ...wrongPassword, messages: 'keep' } }), 'with a wrong password'),
];

/** A call with a new server of the owner that is listed in Discovery. */
async function listedCall(fixture: MatrixFixture): Promise<Call> {
  const id = await fixture.makeServer();
  const on = { enabled: true, rulesChannelId: 'new', updatesChannelId: 'new' };
  await fixture.api.call('PUT', `/api/servers/${id}/community`, { as: fixture.owner.as, body: on });
  const shown = { listed: true, category: 'gaming', description: 'A place to play', tags: [] };
  await fixture.api.call('PUT', `/api/servers/${id}/discovery`, { as: fixture.owner.as, body: shown });
  return { params: [id] };
}

const managing = [...members, needs('Manage Server')];
/** An id in a body that the caller may not know of is 400 (docs/behavior/requests.md#validation). */
const canViewOr400: Rule = ({ holds }) => (holds.includes('View Channel') ? null : '400 invalid_request');
const join = 'POST /api/discovery/servers/{serverId}/join';
/** Community and Discovery (docs/behavior/community.md#settings). */
const communityRows: readonly Row[] = [
  row('GET /api/servers/{serverId}/community', managing, 200, serverCall),
  row('PUT /api/servers/{serverId}/community', [...managing, canViewOr400], 200, async (fixture) => ({
    ...serverCall(fixture),
    body: { enabled: true, rulesChannelId: fixture.channelId, updatesChannelId: await fixture.makeChannel() },
  })),
  row('PUT /api/servers/{serverId}/community', managing, 200, withBody(serverCall, { enabled: false }), 'turning it off'),
  row('PUT /api/servers/{serverId}/discovery', managing, 200, withBody(serverCall, { listed: false })),
  row('GET /api/discovery/servers', account, 200, () => ({})),
  row('GET /api/discovery/apps', account, 200, () => ({})),
  row(join, peopleOnly, 200, listedCall),
  row(join, [...peopleOnly, refuseAll('404 (no code)')], 200, async (fixture) => ({ params: [await fixture.makeServer()] }), 'not listed'),
];

const upload = { body: pngOf({ width: 1, height: 1 }, 2), headers: { 'Content-Type': 'image/png' } };
const portal = [...peopleOnly, ownsApplication(false)];

/** Avatars and icons (docs/behavior/accounts.md#pictures). */
const pictureRows: readonly Row[] = [
  row('PUT /api/users/@me/avatar', account, 200, () => upload),
  row('DELETE /api/users/@me/avatar', account, 204, () => ({})),
  row('PUT /api/servers/{serverId}/icon', managing, 200, (fixture) => ({ ...serverCall(fixture), ...upload })),
  row('DELETE /api/servers/{serverId}/icon', managing, 204, serverCall),
  row('PUT /api/applications/{applicationId}/icon', portal, 200, (fixture) => ({ ...applicationCall(fixture), ...upload })),
  row('DELETE /api/applications/{applicationId}/icon', portal, 204, applicationCall),
];

/** The rows of bans, people, Community, Discovery and pictures. */
export const peopleRows: readonly Row[] = [
  ...banRows,
  ...profileRows,
  ...sessionRows,
  ...deletionRows,
  ...exportRows,
  ...twoFactorRows,
  ...signInRows,
  ...communityRows,
  ...pictureRows,
];
