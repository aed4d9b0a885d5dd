import { Message } from '../../../lib/contract/message.ts';
import { listPins, pinMessage, unpinMessage } from '../../../lib/domain/messages/pins.ts';
import { List, type Route, route } from '../route.ts';

/** The routes of pins (docs/behavior/messages.md#pins). */
export const pinsRoutes: readonly Route[] = [
  route({
    operationId: 'listPins',
    tag: 'Pins',
    method: 'GET',
    path: '/api/channels/{channelId}/pins',
    auth: 'account',
    summary: 'Lists the pinned messages, newest pin first.',
    reply: { status: 200, body: List(Message, 'pinsPerChannel') },
    errors: ['invalid_request', 'missing_permission', 'not_found'],
    run: (platform, actor, { params }) => listPins(platform, actor, params.channelId),
  }),
  route({
    operationId: 'pinMessage',
    tag: 'Pins',
    method: 'PUT',
    path: '/api/channels/{channelId}/pins/{messageId}',
    auth: 'account',
    summary: 'Pins a message. Needs Manage Messages; in a DM, either participant can.',
    reply: { status: 204 },
    errors: ['invalid_request', 'too_many_pins', 'missing_permission', 'not_found'],
    run: (platform, actor, { params }) => pinMessage(platform, actor, params.channelId, params.messageId),
  }),
  route({
    operationId: 'unpinMessage',
    tag: 'Pins',
    method: 'DELETE',
    path: '/api/channels/{channelId}/pins/{messageId}',
    auth: 'account',
    summary: 'Unpins a message. Needs Manage Messages; in a DM, either participant can.',
    reply: { status: 204 },
    errors: ['invalid_request', 'missing_permission', 'not_found'],
    run: (platform, actor, { params }) => unpinMessage(platform, actor, params.channelId, params.messageId),
  }),
];
