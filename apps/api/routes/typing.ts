import { limits } from '../../../lib/base/limits.ts';
import { startTyping } from '../../../lib/domain/channels/typing.ts';
import { type Route, route } from '../route.ts';

/** The route of the typing indicator (docs/behavior/messages.md#typing). */
export const typingRoutes: readonly Route[] = [
  route({
    operationId: 'startTyping',
    tag: 'Channels',
    method: 'POST',
    path: '/api/channels/{channelId}/typing',
    auth: 'account',
    summary: `Shows others for about ${limits.typingMs / 1000} seconds that the caller is typing, or until the caller posts. Needs Send Messages.`,
    reply: { status: 204 },
    usesClockId: true,
    errors: ['invalid_request', 'missing_permission', 'no_shared_server', 'not_found'],
    run: (platform, actor, { params, newId }) => startTyping(platform, actor, params.channelId, newId),
  }),
];
