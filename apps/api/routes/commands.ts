import { Command, CommandsInput, InvokeInput, PickerCommand, PickerQuery } from '../../../lib/contract/command.ts';
import { InvokeResult } from '../../../lib/contract/interaction.ts';
import { listPickerCommands } from '../../../lib/domain/applications/command-picker.ts';
import { findCommandErrors, listCommands, removeCommand, replaceCommands } from '../../../lib/domain/applications/commands.ts';
import { useCommand } from '../../../lib/domain/interactions/interactions.ts';
import { json } from '../bodies/json.ts';
import { List, type Route, route } from '../route.ts';

const commandErrors = ['unauthorized', 'not_owner', 'not_found', 'rate_limited', 'unavailable'] as const;

/** The routes of commands (docs/behavior/interactions.md#command-lists), with the picker and the use of a command (docs/behavior/interactions.md#picker). */
export const commandsRoutes: readonly Route[] = [
  route({
    operationId: 'listCommands',
    tag: 'Commands',
    method: 'GET',
    path: '/api/applications/{applicationId}/commands',
    auth: 'account',
    summary: 'Lists the global commands. For the bot or the application’s owner.',
    reply: { status: 200, body: List(Command, 'commandsPerScope') },
    errors: commandErrors,
    run: (platform, actor, { params }) => listCommands(platform, actor, { applicationId: params.applicationId, serverId: null }),
  }),
  route({
    operationId: 'replaceCommands',
    tag: 'Commands',
    method: 'PUT',
    path: '/api/applications/{applicationId}/commands',
    auth: 'account',
    summary: 'Replaces all global commands and returns the saved list.',
    body: json(CommandsInput, { findErrors: findCommandErrors }),
    reply: { status: 200, body: List(Command, 'commandsPerScope') },
    errors: [...commandErrors, 'invalid_request'],
    run: (platform, actor, { params, body }) =>
      replaceCommands(platform, actor, { applicationId: params.applicationId, serverId: null, commands: body }),
  }),
  route({
    operationId: 'listServerCommands',
    tag: 'Commands',
    method: 'GET',
    path: '/api/applications/{applicationId}/servers/{serverId}/commands',
    auth: 'account',
    summary: 'Lists the commands of one server, which the bot must be in.',
    reply: { status: 200, body: List(Command, 'commandsPerScope') },
    errors: commandErrors,
    run: (platform, actor, { params }) => listCommands(platform, actor, { applicationId: params.applicationId, serverId: params.serverId }),
  }),
  route({
    operationId: 'replaceServerCommands',
    tag: 'Commands',
    method: 'PUT',
    path: '/api/applications/{applicationId}/servers/{serverId}/commands',
    auth: 'account',
    manages: true,
    summary: 'Replaces all commands of one server and returns the saved list.',
    body: json(CommandsInput, { findErrors: findCommandErrors }),
    reply: { status: 200, body: List(Command, 'commandsPerScope') },
    errors: [...commandErrors, 'invalid_request'],
    run: (platform, actor, { params, body }) =>
      replaceCommands(platform, actor, { applicationId: params.applicationId, serverId: params.serverId, commands: body }),
  }),
  route({
    operationId: 'deleteCommand',
    tag: 'Commands',
    method: 'DELETE',
    path: '/api/applications/{applicationId}/commands/{commandId}',
    auth: 'account',
    summary: 'Deletes one command, global or of a server.',
    reply: { status: 204 },
    errors: commandErrors,
    run: (platform, actor, { params }) =>
      removeCommand(platform, actor, { applicationId: params.applicationId, commandId: params.commandId }),
  }),
  route({
    operationId: 'listChannelCommands',
    tag: 'Commands',
    method: 'GET',
    path: '/api/channels/{channelId}/commands',
    auth: 'account',
    summary:
      'Lists the slash and prefix commands that can be used in this channel, each with its application. `q` filters by a part of the name.',
    query: PickerQuery,
    reply: { status: 200, body: List(PickerCommand, 'pickerCommands') },
    errors: ['unauthorized', 'invalid_request', 'missing_permission', 'not_found', 'rate_limited', 'unavailable'],
    run: (platform, actor, { params, query }) => listPickerCommands(platform, actor, { channelId: params.channelId, q: query.q }),
  }),
  route({
    operationId: 'invokeCommand',
    tag: 'Commands',
    method: 'POST',
    path: '/api/channels/{channelId}/commands/{commandId}/invoke',
    auth: 'person',
    summary: 'Uses a slash command. Send its options as the text typed after the name, or as a list.',
    body: json(InvokeInput, { isOptional: true }),
    reply: { status: 202, body: InvokeResult },
    creates: 'resource',
    errors: [
      'unauthorized',
      'bots_not_allowed',
      'invalid_request',
      'invalid_options',
      'missing_permission',
      'no_shared_server',
      'not_found',
      'bot_offline',
      'idempotency_conflict',
      'rate_limited',
      'unavailable',
    ],
    run: (platform, actor, { params, body, newId }) =>
      useCommand(platform, actor, { id: newId, channelId: params.channelId, commandId: params.commandId, input: body ?? {} }),
  }),
];
