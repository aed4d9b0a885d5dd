import { refuse } from '../../base/errors.ts';
import { isId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import { holds, permissionsOf } from '../../base/permissions.ts';
import type { Command, PickerCommand } from '../../contract/command.ts';
import { trusted } from '../../store/mongo/database.ts';
import type { ApplicationDoc } from '../../store/mongo/models/account.ts';
import type { Platform } from '../../store/platform.ts';
import { inAnyPlace, type Place } from '../channels/channel-context.ts';
import { type Actor, overwritesOf, type ServerAccess } from '../members/access.ts';

/** A slash or prefix command that can be used in a channel, with the application it belongs to. */
export interface UsableCommand {
  command: Command;
  application: ApplicationDoc;
}

/** The bots of a server that may view one of its channels. */
async function botsThatView(access: ServerAccess, channelId: string): Promise<string[]> {
  const channel = await access.channel(channelId);
  if (!channel) return [];
  const overwrites = await overwritesOf(access, channel);
  const bots = (await access.bots()).filter((bot) => holds(permissionsOf(access.server, bot, overwrites), 'View Channel'));
  return bots.map(({ userId }) => userId);
}

/** The bots whose commands `actor` can use in a channel: those that can view it. In a DM: the other participant, if it is a bot. */
async function botsIn({ access, channelId, dm }: Place, actor: Actor): Promise<readonly string[]> {
  if (dm) return dm.bots.filter((id) => id !== actor.id);
  return access ? botsThatView(access, channelId) : [];
}

/** Matches the command lists that apply in a channel: those for everywhere (null) and those for its server. */
const scopesOf = ({ serverId }: Place) => trusted({ $in: [null, serverId] });

/** The applications whose commands `actor` can use in a channel, by id. */
async function applicationsIn(platform: Platform, place: Place, actor: Actor): Promise<Map<string, ApplicationDoc>> {
  const botIds = await botsIn(place, actor);
  if (botIds.length === 0) return new Map();
  const found = await platform.db.applications.find({ botId: trusted({ $in: botIds }) }).lean();
  return new Map(found.map((one) => [one._id, one]));
}

/**
 * Returns the commands for the picker (docs/behavior/interactions.md#picker): commands whose name contains `q` in any case, of the bots that can view the
 * channel, for everywhere and for this server. Names that begin with `q` come first, then by name; at most 500. In a DM: the commands for everywhere of the
 * other participant, if it is a bot. They are read in every call, so changes show at once. A server's list applies only while the bot is in the server. Refuses
 * as reading the channel does.
 */
export async function pickCommands(
  platform: Platform,
  actor: Actor,
  { channelId, q = '' }: { channelId: string; q?: string | undefined },
): Promise<PickerCommand[]> {
  const place = await inAnyPlace(platform, actor, channelId);
  if (place.channel?.kind === 'category' || place.channel?.kind === 'voice') return []; // no messages, so no commands
  const applications = await applicationsIn(platform, place, actor);
  const wanted = q.trim().replace(/^\//, '').toLowerCase();
  const rank = (command: Command): number => (command.name.toLowerCase().startsWith(wanted) ? 0 : 1);
  const order = (a: Command, b: Command): number =>
    rank(a) - rank(b) || (a.name < b.name ? -1 : a.name > b.name ? 1 : a.id < b.id ? -1 : 1);
  let found: PickerCommand[] = [];
  // Reads the lists through a cursor, so that those of many bots are not all in memory at once.
  const lists = platform.db.commands
    .find({ applicationId: trusted({ $in: [...applications.keys()] }), serverId: scopesOf(place) })
    .sort({ _id: 1 })
    .lean()
    .cursor({ batchSize: 20 });
  for await (const list of lists) {
    const application = applications.get(list.applicationId);
    if (!application) continue;
    const { _id: id, name, iconUrl } = application;
    for (const command of list.commands)
      if (command.name.toLowerCase().includes(wanted)) found.push({ ...command, application: { id, name, iconUrl } });
    if (found.length > 2 * limits.commandsPicked) found = found.sort(order).slice(0, limits.commandsPicked);
  }
  return found.sort(order).slice(0, limits.commandsPicked);
}

/**
 * Returns the command `commandId` if `actor` can use it in `place`: its bot can view the channel or is the other participant of the DM, and the command is for
 * everywhere or for this server. Refuses with 404 otherwise.
 */
export async function usableCommand(platform: Platform, actor: Actor, place: Place, commandId: string): Promise<UsableCommand> {
  const list = isId(commandId) ? await platform.db.commands.findOne({ 'commands.id': commandId, serverId: scopesOf(place) }).lean() : null;
  const command = list?.commands.find((one) => one.id === commandId);
  const application = list && (await platform.db.applications.findOne({ _id: list.applicationId }).lean());
  if (!command || !application) return refuse('not_found', { what: 'command' });
  if (!(await botsIn(place, actor)).includes(application.botId)) refuse('not_found', { what: 'command' });
  return { command, application };
}
