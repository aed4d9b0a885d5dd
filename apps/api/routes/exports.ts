import { Export, ExportInput } from '../../../lib/contract/auth.ts';
import { Nullable } from '../../../lib/contract/shared.ts';
import { deleteExport, getExport, openExport, requestExport } from '../../../lib/domain/exports/exports.ts';
import { json } from '../bodies/json.ts';
import { admitLogin } from '../limits/logins.ts';
import { FileBody, type Route, route } from '../route.ts';

/** The routes of the export of a person's data (docs/behavior/accounts.md#export). */
export const exportsRoutes: readonly Route[] = [
  route({
    operationId: 'requestExport',
    tag: 'Account',
    method: 'POST',
    path: '/api/users/@me/export',
    auth: 'person',
    summary:
      'Requests an archive with the caller’s data, which is made in the background. While one is being made, returns that one. A direct message of the system account tells when it is ready. With two-factor authentication it needs a code. A wrong password is 400 and counts as a login does.',
    body: json(ExportInput),
    reply: { status: 202, body: Export },
    errors: [
      'invalid_request',
      'unauthorized',
      'bots_not_allowed',
      'exported_recently',
      'rate_limited',
      'two_factor_locked',
      'unavailable',
    ],
    admit: (platform, actor, input) => admitLogin(platform, actor.account.username, input),
    run: (platform, actor, { body, client }) => requestExport(platform, actor, body, client),
  }),
  route({
    operationId: 'getExport',
    tag: 'Account',
    method: 'GET',
    path: '/api/users/@me/export',
    auth: 'person',
    summary: 'Returns the caller’s export, or null if there is none.',
    reply: { status: 200, body: Nullable(Export) },
    errors: ['unauthorized', 'bots_not_allowed', 'rate_limited'],
    run: (platform, actor) => getExport(platform, actor),
  }),
  route({
    operationId: 'deleteExport',
    tag: 'Account',
    method: 'DELETE',
    path: '/api/users/@me/export',
    auth: 'person',
    summary: 'Deletes the caller’s export, also while it is being made.',
    reply: { status: 204 },
    errors: ['unauthorized', 'bots_not_allowed', 'not_found', 'rate_limited'],
    run: (platform, actor) => deleteExport(platform, actor),
  }),
  route({
    operationId: 'downloadExport',
    tag: 'Account',
    method: 'GET',
    path: '/api/users/@me/export/file',
    auth: 'person',
    summary: 'Downloads the archive of the caller’s export, a zip file. 404 until it is ready.',
    reply: { status: 200, file: 'application/zip' },
    errors: ['unauthorized', 'bots_not_allowed', 'not_found', 'rate_limited', 'unavailable'],
    run: async (platform, actor) => {
      const { stream, bytes, createdAt } = await openExport(platform, actor);
      return new FileBody(stream, bytes, `parlance-${createdAt.toISOString().slice(0, 10)}.zip`);
    },
  }),
];
