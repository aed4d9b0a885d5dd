import { formatMib, limits } from '../../../lib/base/limits.ts';
import { Picture } from '../../../lib/contract/shared.ts';
import { requireOwnApplication } from '../../../lib/domain/access/application-ownership.ts';
import {
  clearApplicationIcon,
  clearAvatar,
  clearServerIcon,
  requireServerIconAccess,
  setApplicationIcon,
  setAvatar,
  setServerIcon,
} from '../../../lib/domain/files/pictures.ts';
import { picture } from '../bodies/picture.ts';
import { type Route, route } from '../route.ts';

const imageDescription = `One PNG, JPEG, WebP or GIF image of up to ${formatMib(limits.pictureBytes)} as the body; it is cropped to a square WebP of ${limits.pictureSide} pixels.`;
const pictureErrors = [
  'invalid_request',
  'unauthorized',
  'payload_too_large',
  'unsupported_media_type',
  'rate_limited',
  'images_waiting',
  'unavailable',
] as const;

/** The routes of avatars of accounts, and of icons of servers and applications (docs/behavior/accounts.md#pictures). */
export const picturesRoutes: readonly Route[] = [
  route({
    operationId: 'setAvatar',
    tag: 'Account',
    method: 'PUT',
    path: '/api/users/@me/avatar',
    auth: 'account',
    summary: `Sets the caller’s avatar. ${imageDescription} The change is sent as USER_UPDATE.`,
    body: picture(() => undefined),
    reply: { status: 200, body: Picture },
    errors: pictureErrors,
    run: (platform, actor, { body }) => setAvatar(platform, actor, body),
  }),
  route({
    operationId: 'removeAvatar',
    tag: 'Account',
    method: 'DELETE',
    path: '/api/users/@me/avatar',
    auth: 'account',
    summary: 'Removes the caller’s avatar.',
    reply: { status: 204 },
    errors: ['unauthorized', 'rate_limited'],
    run: (platform, actor) => clearAvatar(platform, actor),
  }),
  route({
    operationId: 'setServerIcon',
    tag: 'Servers',
    method: 'PUT',
    path: '/api/servers/{serverId}/icon',
    auth: 'account',
    summary: `Sets a server’s icon. Needs Manage Server. ${imageDescription}`,
    body: picture((platform, actor, { serverId }: { serverId: string }) => requireServerIconAccess(platform, actor, serverId)),
    reply: { status: 200, body: Picture },
    errors: [...pictureErrors, 'missing_permission', 'not_found'],
    run: (platform, actor, { params, body }) => setServerIcon(platform, actor, params.serverId, body),
  }),
  route({
    operationId: 'removeServerIcon',
    tag: 'Servers',
    method: 'DELETE',
    path: '/api/servers/{serverId}/icon',
    auth: 'account',
    manages: true,
    summary: 'Removes a server’s icon. Needs Manage Server.',
    reply: { status: 204 },
    errors: ['unauthorized', 'missing_permission', 'not_found', 'rate_limited'],
    run: (platform, actor, { params }) => clearServerIcon(platform, actor, params.serverId),
  }),
  route({
    operationId: 'setApplicationIcon',
    tag: 'Applications',
    method: 'PUT',
    path: '/api/applications/{applicationId}/icon',
    auth: 'person',
    summary: `Sets an application’s icon, which is also its bot’s avatar. Only the owner can. ${imageDescription}`,
    body: picture((platform, actor, { applicationId }: { applicationId: string }) => requireOwnApplication(platform, actor, applicationId)),
    reply: { status: 200, body: Picture },
    errors: [...pictureErrors, 'bots_not_allowed', 'not_owner', 'not_found'],
    run: (platform, actor, { params, body }) => setApplicationIcon(platform, actor, params.applicationId, body),
  }),
  route({
    operationId: 'removeApplicationIcon',
    tag: 'Applications',
    method: 'DELETE',
    path: '/api/applications/{applicationId}/icon',
    auth: 'person',
    summary: 'Removes an application’s icon and its bot’s avatar. Only the owner can.',
    reply: { status: 204 },
    errors: ['unauthorized', 'bots_not_allowed', 'not_owner', 'not_found', 'rate_limited'],
    run: (platform, actor, { params }) => clearApplicationIcon(platform, actor, params.applicationId),
  }),
];
