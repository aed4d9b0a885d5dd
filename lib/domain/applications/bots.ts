import type { Command } from '../../contract/command.ts';
import { readById } from '../../store/mongo/batched-reads.ts';
import type { AccountDoc, ApplicationDoc } from '../../store/mongo/models/account.ts';
import type { Platform } from '../../store/platform.ts';
import { type Actor, loadUnder } from '../access/checks.ts';
import { createActor, isSuspended } from '../access/credentials.ts';

/** What the use of a command needs of an application. A write that changes it, or the application's commands, runs in `changeBot`. */
type BotApplication = Pick<ApplicationDoc, '_id' | 'botId' | 'ownerId' | 'interactionsEndpointUrl' | 'signingSecret'>;

interface StoredBot {
  account: AccountDoc;
  application: BotApplication;
  /** Whether the owner of its application is suspended. */
  isSuspended: boolean;
}

/** A bot with its application, as they are under the current access version of the bot. */
export interface Bot extends Omit<StoredBot, 'account'> {
  actor: Actor;
}

async function readBot(platform: Platform, botId: string): Promise<StoredBot | null> {
  const account = await readById(platform.db.accounts, botId);
  const application = account?.applicationId ? await readById(platform.db.applications, account.applicationId) : null;
  return account && application && { account, application, isSuspended: await isSuspended(platform, account) };
}

/**
 * Loads a bot; null if it no longer exists. `versions` are access versions that were just read, among them the bot's: if the bot is cached under that version,
 * nothing is read.
 */
export async function loadBot(platform: Platform, botId: string, versions: ReadonlyMap<string, string | null>): Promise<Bot | null> {
  const found = await loadUnder(platform, `bot:${botId}`, versions.get(botId) ?? null, () => readBot(platform, botId));
  return found && { application: found.application, isSuspended: found.isSuspended, actor: createActor(platform, found.account, versions) };
}

/** The id of the list of an application's commands for everywhere (null), or for one server. */
export const toCommandListId = (applicationId: string, serverId: string | null): string => `${applicationId}:${serverId ?? 'all'}`;

/** The commands of a bot for everywhere (null), or for one server. Nothing is read if they are cached under the access version of the bot. */
export async function loadCommands(platform: Platform, { actor, application }: Bot, serverId: string | null): Promise<readonly Command[]> {
  const id = toCommandListId(application._id, serverId);
  const read = async () => (await readById(platform.db.commands, id)) ?? { commands: [] };
  return (await loadUnder(platform, `commands:${id}`, actor.version, read))?.commands ?? [];
}

/** Runs a write that changes a bot's application or commands, so that every process reads them again. */
export const changeBot = <T>({ accessVersions }: Platform, botId: string, write: () => Promise<T>): Promise<T> =>
  accessVersions.runChange({ accounts: [botId] }, write);

/** The bot that the command `commandId` belongs to, which never changes; undefined if this process does not know it. */
export const getCachedBotId = (platform: Platform, commandId: string): string | undefined =>
  (platform.accessCache.get(`command:${commandId}`) as { botId: string } | undefined)?.botId;

/** The bot that the command `commandId` belongs to, or belonged to before it was deleted; null if there is no such command. */
export async function findBotOfCommand(platform: Platform, commandId: string): Promise<string | null> {
  const cached = getCachedBotId(platform, commandId);
  if (cached !== undefined) return cached;
  const list = await platform.db.commands.findOne({ 'commands.id': commandId }, { projection: { applicationId: 1 } });
  const application = list && (await readById(platform.db.applications, list.applicationId));
  if (application) platform.accessCache.set(`command:${commandId}`, { botId: application.botId });
  return application?.botId ?? null;
}
