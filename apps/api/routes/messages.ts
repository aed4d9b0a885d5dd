import { formatMib, limits } from '../../../lib/base/limits.ts';
import { Message, MessageEdit, MessageInput } from '../../../lib/contract/message.ts';
import { MessagesQuery } from '../../../lib/contract/shared.ts';
import { countChannelPost } from '../../../lib/domain/messages/channel-rate.ts';
import { checkPostBeforeUpload, deleteMessage, editMessage, getMessage, postMessage } from '../../../lib/domain/messages/messages.ts';
import { listMessages } from '../../../lib/domain/messages/pages.ts';
import { json } from '../bodies/json.ts';
import { upload } from '../bodies/upload.ts';
import { List, type Route, route } from '../route.ts';

/** The routes of messages (docs/behavior/messages.md#posting). */
export const messageRoutes: readonly Route[] = [
  route({
    operationId: 'listMessages',
    tag: 'Messages',
    method: 'GET',
    path: '/api/channels/{channelId}/messages',
    auth: 'account',
    summary: 'Lists a page of messages, oldest first: the newest, those before an ID, or those after an ID.',
    query: MessagesQuery,
    readsMessages: true,
    reply: { status: 200, body: List(Message, 'pageMax') },
    errors: ['invalid_request', 'missing_permission', 'not_found'],
    run: (platform, actor, { params, query, page }) => listMessages(platform, actor, params.channelId, query, page),
  }),
  route({
    operationId: 'createMessage',
    tag: 'Messages',
    method: 'POST',
    path: '/api/channels/{channelId}/messages',
    auth: 'account',
    summary: `Posts a message. To attach up to ${limits.filesPerMessage} files of up to ${formatMib(limits.fileBytes)} each, send multipart/form-data.`,
    body: upload(MessageInput, (platform, actor, { channelId }: { channelId: string }, keyed) =>
      checkPostBeforeUpload(platform, actor, channelId, keyed),
    ),
    reply: { status: 201, body: Message },
    creates: 'resource',
    errors: [
      'invalid_request',
      'missing_permission',
      'no_shared_server',
      'not_found',
      'slowmode',
      'images_waiting',
      'storage_full',
      'idempotency_conflict',
    ],
    admit: async (platform, actor, { params }) => ({
      rates: await countChannelPost(platform, actor, params.channelId),
      found: undefined,
    }),
    run: (platform, actor, { params, body: { fields, files }, newId: id, isRepeatable }) =>
      postMessage(platform, actor, params.channelId, fields, { id, isRepeatable }, files),
  }),
  route({
    operationId: 'getMessage',
    tag: 'Messages',
    method: 'GET',
    path: '/api/channels/{channelId}/messages/{messageId}',
    auth: 'account',
    summary: 'Returns one message.',
    reply: { status: 200, body: Message },
    errors: ['missing_permission', 'not_found'],
    run: (platform, actor, { params }) => getMessage(platform, actor, params.channelId, params.messageId),
  }),
  route({
    operationId: 'editMessage',
    tag: 'Messages',
    method: 'PATCH',
    path: '/api/channels/{channelId}/messages/{messageId}',
    auth: 'account',
    summary: 'Edits the caller’s own message. Fields that are left out are kept.',
    body: json(MessageEdit),
    reply: { status: 200, body: Message },
    errors: ['invalid_request', 'not_author', 'missing_permission', 'not_found'],
    run: (platform, actor, { params, body }) => editMessage(platform, actor, params.channelId, params.messageId, body),
  }),
  route({
    operationId: 'deleteMessage',
    tag: 'Messages',
    method: 'DELETE',
    path: '/api/channels/{channelId}/messages/{messageId}',
    auth: 'account',
    summary: 'Deletes the caller’s own message, or anyone’s with Manage Messages.',
    reply: { status: 204 },
    errors: ['missing_permission', 'not_found'],
    run: (platform, actor, { params }) => deleteMessage(platform, actor, params.channelId, params.messageId),
  }),
];
