import { channelKinds } from '../../base/channel-kinds.ts';
import { refuse } from '../../base/errors.ts';
import { isId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import { computePermissions, hasPermission } from '../../base/permissions.ts';
import { foldSearch } from '../../base/text.ts';
import type { Command, PickerCommand } from '../../contract/command.ts';
import type { ApplicationDoc } from '../../store/mongo/models/account.ts';
import type { Platform } from '../../store/platform.ts';
import { type Actor, computeChannelPermissions, loadOverwrites, loadOwnMember, type ServerAccess } from '../access/checks.ts';
import { type ChannelContext, requireChannel } from '../channels/context.ts';
import { type Bot, findBotOfCommand, loadBot, loadCommands } from './bots.ts';

/** A slash or prefix command that can be used in a channel, with the bot it belongs to. */
interface UsableCommand {
  command: Command;
  bot: Bot;
}

/** The bots of a server that may view one of its channels. */
async function findBotsThatView(access: ServerAccess, channelId: string): Promise<string[]> {
  const channel = await access.channel(channelId);
  if (!channel) return [];
  const overwrites = await loadOverwrites(access, channel);
  const bots = (await access.bots()).filter((bot) => hasPermission(computePermissions(access.server, bot, overwrites), 'View Channel'));
  return bots.map(({ userId }) => userId);
}

/** The bots whose commands `actor` can use in a channel: those that can view it. In a DM: the other participant, if it is a bot. */
async function findBots({ access, channelId, dm }: ChannelContext, actor: Actor): Promise<readonly string[]> {
  if (dm) return dm.bots.filter((id) => id !== actor.id);
  return access ? findBotsThatView(access, channelId) : [];
}

/** Matches the command lists that apply in a channel: those for everywhere (null) and those for its server. */
const scopeFilter = ({ serverId }: ChannelContext) => ({ $in: [null, serverId] });

/** The applications whose commands `actor` can use in a channel, by id. */
async function findApplications(platform: Platform, context: ChannelContext, actor: Actor): Promise<Map<string, ApplicationDoc>> {
  const botIds = await findBots(context, actor);
  if (botIds.length === 0) return new Map();
  const found = await platform.db.applications.find({ botId: { $in: botIds } }).toArray();
  return new Map(found.map((one) => [one._id, one]));
}

/**
 * Returns the commands for the picker (docs/behavior/interactions.md#picker): commands whose name contains `q` in any case, of the bots that can view the
 * channel, for everywhere and for this server. Names that begin with `q` come first, then by name; at most 500. In a DM: the commands for everywhere of the
 * other participant, if it is a bot. They are read in every call, so changes show at once. A server's list applies only while the bot is in the server. Refuses
 * as reading the channel does.
 */
export async function listPickerCommands(
  platform: Platform,
  actor: Actor,
  { channelId, q = '' }: { channelId: string; q?: string | undefined },
): Promise<PickerCommand[]> {
  const context = await requireChannel(platform, actor, channelId);
  if (context.channel && !channelKinds[context.channel.kind].hasMessages) return []; // no messages, so no commands
  const applications = await findApplications(platform, context, actor);
  const query = foldSearch(q.trim().replace(/^\//, ''));
  const rank = (command: Command): number => (foldSearch(command.name).startsWith(query) ? 0 : 1);
  const compareCommands = (a: Command, b: Command): number =>
    rank(a) - rank(b) || (a.name < b.name ? -1 : a.name > b.name ? 1 : a.id < b.id ? -1 : 1);
  let commands: PickerCommand[] = [];
  // Reads the lists through a cursor, so that those of many bots are not all in memory at once.
  const lists = platform.db.commands
    .find({ applicationId: { $in: [...applications.keys()] }, serverId: scopeFilter(context) })
    .sort({ _id: 1 })
    .batchSize(20);
  for await (const list of lists) {
    const application = applications.get(list.applicationId);
    if (!application) continue;
    const { _id: id, name, iconUrl } = application;
    for (const command of list.commands)
      if (foldSearch(command.name).includes(query)) commands.push({ ...command, application: { id, name, iconUrl } });
    if (commands.length > 2 * limits.pickerCommands) commands = commands.sort(compareCommands).slice(0, limits.pickerCommands);
  }
  return commands.sort(compareCommands).slice(0, limits.pickerCommands);
}

/** Whether a bot may view the channel, or is the other participant of the DM. */
async function isBotIn(platform: Platform, { channelId, access, channel, dm }: ChannelContext, bot: Actor): Promise<boolean> {
  if (dm) return dm.bots.includes(bot.id);
  const member = access && (await loadOwnMember(platform, bot, access.server._id));
  const seen = channel ?? (await access?.channel(channelId));
  return Boolean(access && member && seen && hasPermission(await computeChannelPermissions(access, member, seen), 'View Channel'));
}

/**
 * Returns the command `commandId`, with its bot, if `actor` can use it in `context`: the bot can view the channel or is the other participant of the DM, and the
 * command is for everywhere or for this server. Refuses with 404 otherwise.
 */
export async function requireUsableCommand(
  platform: Platform,
  context: ChannelContext,
  commandId: string,
  actor: Actor,
): Promise<UsableCommand> {
  const botId = isId(commandId) ? await findBotOfCommand(platform, commandId) : null;
  const bot = botId === null ? null : await loadBot(platform, botId, new Map([[botId, await actor.versionOf(botId)]]));
  const scopes = context.serverId === null ? [null] : [null, context.serverId];
  const lists = bot ? await Promise.all(scopes.map((serverId) => loadCommands(platform, bot, serverId))) : [];
  const command = lists.flat().find(({ id }) => id === commandId);
  if (!bot || !command || !(await isBotIn(platform, context, bot.actor))) return refuse('not_found', { what: 'command' });
  return { command, bot };
}
