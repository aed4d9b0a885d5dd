import { Picture } from '../../../lib/contract/shared.ts';
import { ownApplication } from '../../../lib/domain/applications/applications-owned.ts';
import type { ReceivedFile } from '../../../lib/domain/files/attachments.ts';
import {
  admitServerIcon,
  clearApplicationIcon,
  clearAvatar,
  clearServerIcon,
  setApplicationIcon,
  setAvatar,
  setServerIcon,
} from '../../../lib/domain/files/pictures.ts';
import { type Route, route } from '../route.ts';

const sent = (files: readonly ReceivedFile[]): ReceivedFile => files[0] as ReceivedFile;
const what = 'One PNG, JPEG, WebP or GIF image of up to 2 MiB as the body; it is cropped to a square WebP of 256 pixels.';
const refusals = [
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
    method: 'PUT',
    path: '/api/users/@me/avatar',
    auth: 'account',
    about: `Sets the caller’s avatar. ${what} The change is sent as USER_UPDATE.`,
    admitPicture: () => Promise.resolve(),
    reply: { status: 200, body: Picture },
    errors: refusals,
    run: (platform, actor, { files }) => setAvatar(platform, actor, sent(files)),
  }),
  route({
    method: 'DELETE',
    path: '/api/users/@me/avatar',
    auth: 'account',
    about: 'Removes the caller’s avatar.',
    reply: { status: 204 },
    errors: ['unauthorized', 'rate_limited'],
    run: (platform, actor) => clearAvatar(platform, actor),
  }),
  route({
    method: 'PUT',
    path: '/api/servers/{id}/icon',
    auth: 'account',
    about: `Sets a server’s icon. Needs Manage Server. ${what}`,
    admitPicture: (platform, actor, { id }) => admitServerIcon(platform, actor, id),
    reply: { status: 200, body: Picture },
    errors: [...refusals, 'missing_permission', 'not_found'],
    run: (platform, actor, { params, files }) => setServerIcon(platform, actor, params.id, sent(files)),
  }),
  route({
    method: 'DELETE',
    path: '/api/servers/{id}/icon',
    auth: 'account',
    manages: (_platform, { id }) => Promise.resolve(id),
    about: 'Removes a server’s icon. Needs Manage Server.',
    reply: { status: 204 },
    errors: ['unauthorized', 'missing_permission', 'not_found', 'rate_limited'],
    run: (platform, actor, { params }) => clearServerIcon(platform, actor, params.id),
  }),
  route({
    method: 'PUT',
    path: '/api/applications/{id}/icon',
    auth: 'person',
    about: `Sets an application’s icon, which is also its bot’s avatar. Only the owner can. ${what}`,
    admitPicture: (platform, actor, { id }) => ownApplication(platform, actor, id),
    reply: { status: 200, body: Picture },
    errors: [...refusals, 'bots_not_allowed', 'not_owner', 'not_found'],
    run: (platform, actor, { params, files }) => setApplicationIcon(platform, actor, params.id, sent(files)),
  }),
  route({
    method: 'DELETE',
    path: '/api/applications/{id}/icon',
    auth: 'person',
    about: 'Removes an application’s icon and its bot’s avatar. Only the owner can.',
    reply: { status: 204 },
    errors: ['unauthorized', 'bots_not_allowed', 'not_owner', 'not_found', 'rate_limited'],
    run: (platform, actor, { params }) => clearApplicationIcon(platform, actor, params.id),
  }),
];
