import { Follower, FollowInput } from '../../../lib/contract/follower.ts';
import { Message } from '../../../lib/contract/message.ts';
import { findServerIdOfChannel } from '../../../lib/domain/access/management-writes.ts';
import { crosspostMessage } from '../../../lib/domain/messages/crossposts.ts';
import { followChannel, listFollowers, unfollowChannel } from '../../../lib/domain/messages/followers.ts';
import { json } from '../bodies/json.ts';
import { List, Reply, type Route, route } from '../route.ts';

/** The routes of crossposts (docs/behavior/community.md#crossposts) and followers (docs/behavior/community.md#followers). */
export const crosspostsRoutes: readonly Route[] = [
  route({
    operationId: 'crosspostMessage',
    tag: 'Announcements',
    method: 'POST',
    path: '/api/channels/{channelId}/messages/{messageId}/crosspost',
    auth: 'account',
    summary:
      'Publishes a message of an announcement channel to every following channel, once. Needs Send Messages for the caller’s own messages, Manage Messages for others’.',
    reply: { status: 200, body: Message },
    errors: ['invalid_request', 'already_crossposted', 'missing_permission', 'not_found'],
    run: (platform, actor, { params }) => crosspostMessage(platform, actor, params.channelId, params.messageId),
  }),
  route({
    operationId: 'followChannel',
    tag: 'Announcements',
    method: 'POST',
    path: '/api/channels/{channelId}/followers',
    auth: 'account',
    manages: (platform, _params, { channelId }) => findServerIdOfChannel(platform, channelId),
    summary: 'Makes a text channel of any server follow an announcement channel. Needs Manage Webhooks in the text channel.',
    body: json(FollowInput),
    reply: { status: 201, body: Follower, alternative: { status: 200, description: 'The channel already follows; nothing changed.' } },
    creates: 'resource',
    errors: ['invalid_request', 'too_many_followers', 'missing_permission', 'not_found', 'idempotency_conflict'],
    run: async (platform, actor, { params, body, newId }) => {
      const { isNew, follower } = await followChannel(platform, actor, params.channelId, body, newId);
      return isNew ? follower : new Reply(follower, { status: 200 });
    },
  }),
  route({
    operationId: 'listFollowers',
    tag: 'Announcements',
    method: 'GET',
    path: '/api/channels/{channelId}/followers',
    auth: 'account',
    summary:
      'Lists the followers of an announcement channel, oldest first: all of them with Manage Webhooks there, otherwise those in which the caller has Manage Webhooks.',
    reply: { status: 200, body: List(Follower, 'followersPerChannel') },
    errors: ['invalid_request', 'missing_permission', 'not_found'],
    run: (platform, actor, { params }) => listFollowers(platform, actor, params.channelId),
  }),
  route({
    operationId: 'unfollowChannel',
    tag: 'Announcements',
    method: 'DELETE',
    path: '/api/channels/{channelId}/followers/{targetId}',
    auth: 'account',
    manages: (platform, { targetId }) => findServerIdOfChannel(platform, targetId),
    summary: 'Stops following a channel. Needs Manage Webhooks in the following channel.',
    reply: { status: 204 },
    errors: ['missing_permission', 'not_found'],
    run: (platform, actor, { params }) => unfollowChannel(platform, actor, params.channelId, params.targetId),
  }),
];
