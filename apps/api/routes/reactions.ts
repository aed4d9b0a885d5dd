import { limits } from '../../../lib/base/limits.ts';
import { UserSummary } from '../../../lib/contract/user.ts';
import { addReaction, listReactors, removeReaction } from '../../../lib/domain/messages/reactions.ts';
import { List, type Route, route } from '../route.ts';

/** The routes of reactions (docs/behavior/messages.md#reactions). `{emoji}` is a URL-encoded emoji, or a custom one as `name:id`; a malformed one is 400. */
export const reactionsRoutes: readonly Route[] = [
  route({
    operationId: 'listReactions',
    tag: 'Reactions',
    method: 'GET',
    path: '/api/channels/{channelId}/messages/{messageId}/reactions/{emoji}',
    auth: 'account',
    summary: `Lists the first ${limits.reactorsShown} accounts that reacted with an emoji, oldest reaction first.`,
    reply: { status: 200, body: List(UserSummary, 'reactorsShown') },
    errors: ['invalid_request', 'missing_permission', 'not_found'],
    run: (platform, actor, { params }) => listReactors(platform, actor, params.channelId, params.messageId, params.emoji),
  }),
  route({
    operationId: 'addReaction',
    tag: 'Reactions',
    method: 'PUT',
    path: '/api/channels/{channelId}/messages/{messageId}/reactions/{emoji}',
    auth: 'account',
    summary: 'Reacts with an emoji. An emoji that is not on the message yet needs Add Reactions.',
    reply: { status: 204 },
    errors: ['invalid_request', 'too_many_reactions', 'missing_permission', 'not_found'],
    run: (platform, actor, { params }) => addReaction(platform, actor, params.channelId, params.messageId, params.emoji),
  }),
  route({
    operationId: 'removeOwnReaction',
    tag: 'Reactions',
    method: 'DELETE',
    path: '/api/channels/{channelId}/messages/{messageId}/reactions/{emoji}',
    auth: 'account',
    summary: 'Removes the caller’s own reaction.',
    reply: { status: 204 },
    errors: ['invalid_request', 'missing_permission', 'not_found'],
    run: (platform, actor, { params }) => removeReaction(platform, actor, params.channelId, params.messageId, params.emoji),
  }),
];
