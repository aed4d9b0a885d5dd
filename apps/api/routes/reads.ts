import { ReadInput, ReadState } from '../../../lib/contract/read.ts';
import { listReads, markRead } from '../../../lib/domain/channels/reads.ts';
import { json } from '../bodies/json.ts';
import { List, type Route, route } from '../route.ts';

/** The routes of read marks (docs/behavior/messages.md#read-marks). */
export const readsRoutes: readonly Route[] = [
  route({
    operationId: 'markChannelRead',
    tag: 'Channels',
    method: 'PUT',
    path: '/api/channels/{channelId}/read',
    auth: 'person',
    summary: 'Marks a channel, thread or DM as read up to a message, which may have been deleted. The mark never moves back.',
    body: json(ReadInput),
    reply: { status: 204 },
    errors: ['invalid_request', 'missing_permission', 'not_found'],
    run: (platform, actor, { params, body }) => markRead(platform, actor, params.channelId, body.messageId),
  }),
  route({
    operationId: 'listReadStates',
    tag: 'Account',
    method: 'GET',
    path: '/api/users/@me/reads',
    auth: 'person',
    summary:
      'Lists how far the caller has read, newest message first: text and announcement channels that the caller can view, DMs, and threads that the caller has marked as read, unless archived.',
    reply: { status: 200, body: List(ReadState, 'readsListed') },
    isCostly: true,
    errors: [],
    run: (platform, actor) => listReads(platform, actor),
  }),
];
