import { limits } from '../../../lib/base/limits.ts';
import { Channel, ThreadInput } from '../../../lib/contract/channel.ts';
import { createThread, listThreads } from '../../../lib/domain/channels/threads.ts';
import { json } from '../bodies/json.ts';
import { List, type Route, route } from '../route.ts';

const path = '/api/channels/{channelId}/threads';

/** The routes of threads (docs/behavior/messages.md#threads). */
export const threadsRoutes: readonly Route[] = [
  route({
    operationId: 'createThread',
    tag: 'Threads',
    method: 'POST',
    path,
    auth: 'account',
    manages: true,
    summary: `Creates a thread in a text or announcement channel, optionally from one of its messages. Needs Send Messages. At most ${limits.threadsPerMinute} a minute of one account in a channel, and ${limits.threadsPerServerPerMinute} in a server.`,
    body: json(ThreadInput),
    reply: { status: 201, body: Channel },
    creates: 'resource',
    errors: ['invalid_request', 'thread_exists', 'missing_permission', 'not_found', 'rate_limited', 'idempotency_conflict'],
    run: (platform, actor, { params, body, newId }) => createThread(platform, actor, params.channelId, body, newId),
  }),
  route({
    operationId: 'listThreads',
    tag: 'Threads',
    method: 'GET',
    path,
    auth: 'account',
    summary: 'Lists the threads of a channel, most recent activity first, including archived ones.',
    reply: { status: 200, body: List(Channel, 'threadsListed') },
    errors: ['invalid_request', 'missing_permission', 'not_found'],
    run: (platform, actor, { params }) => listThreads(platform, actor, params.channelId),
  }),
];
