import { Channel, ChannelInput, ChannelPatch, OverwriteInput } from '../../../lib/contract/channel.ts';
import { createChannel, deleteChannel, getChannel, updateChannel } from '../../../lib/domain/channels/channels.ts';
import { deleteOverwrite, setOverwrite } from '../../../lib/domain/channels/overwrites.ts';
import { type Route, route } from '../route.ts';

const changeErrors = ['unauthorized', 'missing_permission', 'not_found', 'rate_limited'] as const;

/** The routes of channels (docs/behavior/servers.md#channels) and their overwrites (docs/behavior/servers.md#overwrites). */
export const channelsRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/api/servers/{serverId}/channels',
    auth: 'account',
    manages: true,
    summary: 'Creates a channel, last in its category. Needs Manage Channels, and for `overwrites` Manage Roles.',
    body: ChannelInput,
    reply: { status: 201, body: Channel },
    creates: 'resource',
    errors: ['invalid_request', 'too_many_channels', 'role_hierarchy', 'idempotency_conflict', ...changeErrors],
    run: (platform, actor, { params, body, newId }) => createChannel(platform, actor, params.serverId, body, newId),
  }),
  route({
    method: 'GET',
    path: '/api/channels/{channelId}',
    auth: 'account',
    summary: 'Returns a channel. Needs View Channel.',
    reply: { status: 200, body: Channel },
    errors: changeErrors,
    run: (platform, actor, { params }) => getChannel(platform, actor, params.channelId),
  }),
  route({
    method: 'PATCH',
    path: '/api/channels/{channelId}',
    auth: 'account',
    manages: true,
    summary: 'Updates a channel. Needs Manage Channels.',
    body: ChannelPatch,
    reply: { status: 200, body: Channel },
    errors: ['invalid_request', ...changeErrors],
    run: (platform, actor, { params, body }) => updateChannel(platform, actor, params.channelId, body),
  }),
  route({
    method: 'DELETE',
    path: '/api/channels/{channelId}',
    auth: 'account',
    manages: true,
    summary: 'Deletes a channel with its messages and threads. Deleting a category keeps its channels. Needs Manage Channels.',
    reply: { status: 204 },
    errors: changeErrors,
    run: (platform, actor, { params }) => deleteChannel(platform, actor, params.channelId),
  }),
  route({
    method: 'PUT',
    path: '/api/channels/{channelId}/overwrites/{roleOrUserId}',
    auth: 'account',
    manages: true,
    summary: 'Sets the permission overwrite of a channel for a role or member below the caller’s highest role. Needs Manage Roles.',
    body: OverwriteInput,
    reply: { status: 200, body: Channel },
    errors: ['invalid_request', 'too_many_overwrites', 'role_hierarchy', ...changeErrors],
    run: (platform, actor, { params, body }) => setOverwrite(platform, actor, params.channelId, params.roleOrUserId, body),
  }),
  route({
    method: 'DELETE',
    path: '/api/channels/{channelId}/overwrites/{roleOrUserId}',
    auth: 'account',
    manages: true,
    summary: 'Deletes the permission overwrite of a channel for a role or member. Needs Manage Roles.',
    reply: { status: 204 },
    errors: ['invalid_request', 'role_hierarchy', ...changeErrors],
    run: (platform, actor, { params }) => deleteOverwrite(platform, actor, params.channelId, params.roleOrUserId),
  }),
];
