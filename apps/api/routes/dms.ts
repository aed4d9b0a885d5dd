import { limits } from '../../../lib/base/limits.ts';
import { DmChannel, DmInput } from '../../../lib/contract/dm.ts';
import { listDms, openDm } from '../../../lib/domain/channels/dms.ts';
import { json } from '../bodies/json.ts';
import { List, Reply, type Route, route } from '../route.ts';

/** The routes of direct messages (docs/behavior/accounts.md#direct-messages). */
export const dmsRoutes: readonly Route[] = [
  route({
    operationId: 'openDirectMessage',
    tag: 'Direct messages',
    method: 'POST',
    path: '/api/users/@me/channels',
    auth: 'account',
    summary: 'Opens a direct message channel with someone who shares a server with the caller, or returns the existing one.',
    body: json(DmInput),
    reply: { status: 201, body: DmChannel, alternative: { status: 200, description: 'The channel already existed.' } },
    creates: 'resource',
    errors: ['invalid_request', 'unauthorized', 'no_shared_server', 'idempotency_conflict', 'rate_limited'],
    run: async (platform, actor, { body, newId }) => {
      const { dm, isCreated: made } = await openDm(platform, actor, { recipientId: body.recipientId, newId });
      return made ? dm : new Reply(dm, { status: 200 });
    },
  }),
  route({
    operationId: 'listDirectMessages',
    tag: 'Direct messages',
    method: 'GET',
    path: '/api/users/@me/channels',
    auth: 'account',
    summary: `Lists the caller’s direct message channels, most recent activity first, at most ${limits.dmsListed}.`,
    reply: { status: 200, body: List(DmChannel, 'dmsListed') },
    errors: ['unauthorized', 'rate_limited'],
    run: (platform, actor) => listDms(platform, actor),
  }),
];
