import type { Command, PickerCommand } from '../../../lib/contract/command.ts';
import type { TestApi } from '../../harness/api.ts';
import type { Bot } from '../../harness/factories.ts';
import { type Caller, send } from '../../harness/requests.ts';

/** The input of a slash command, or of an option of one. */
export const slash = (name: unknown, more: object = {}) => ({ name, description: 'x', ...more });

/** The input of a prefix command. */
export const prefix = (name: unknown, more: object = {}) => ({ name, kind: 'prefix', prefix: '!', ...more });

/** The path of an application's global commands, or of its commands for a server. */
export const commandsPath = ({ applicationId }: { applicationId: string }, server?: { id: string }): string =>
  `/api/applications/${applicationId}${server ? `/servers/${server.id}` : ''}/commands`;

/** Replaces a bot's global commands, or its commands for a server. */
export const putCommands = (api: TestApi, bot: Bot, commands: unknown, server?: { id: string }): Promise<Command[]> =>
  send(api, 200, bot, 'PUT', commandsPath(bot, server), commands);

/** The commands that a channel's picker lists, for the search text `q`. */
export const pickCommands = (api: TestApi, as: Caller, { id }: { id: string }, q?: string): Promise<PickerCommand[]> =>
  send(api, 200, as, 'GET', `/api/channels/${id}/commands${q === undefined ? '' : `?q=${encodeURIComponent(q)}`}`);

/** The id of the command with this name. */
export const idOf = (commands: readonly Command[], name: string): string | undefined => commands.find((one) => one.name === name)?.id;
