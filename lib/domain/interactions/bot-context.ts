import { Refusal, refuse } from '../../base/errors.ts';
import type { InteractionDoc } from '../../store/mongo/models/interaction.ts';
import type { Platform } from '../../store/platform.ts';
import { type Bot, loadBot } from '../applications/bots.ts';
import { type ChannelContext, requireMessageChannel } from '../channels/context.ts';

type BotPlace = Pick<InteractionDoc, 'botId' | 'serverId' | 'channelId'>;

/** The bot of an interaction, as it is now; null if it no longer exists. Reads the versions of what `requireAnswerContext` needs of it, too. */
export async function loadInteractionBot(platform: Platform, { botId, serverId }: BotPlace): Promise<Bot | null> {
  const ids = serverId === null ? [botId] : [botId, serverId];
  const versions = await platform.accessVersions.read(ids);
  return loadBot(platform, botId, new Map(ids.map((id, at) => [id, versions?.[at] ?? null])));
}

/** Whether the bot of an interaction may still view its channel. */
export async function canBotView(platform: Platform, { channelId }: BotPlace, bot: Bot): Promise<boolean> {
  try {
    await requireMessageChannel(platform, bot.actor, channelId);
    return true;
  } catch (error) {
    if (error instanceof Refusal) return false;
    throw error;
  }
}

/**
 * The channel of an answer, with the bot's permissions in it. The bot needs View Channel but not Send Messages, because a person asked
 * (docs/behavior/interactions.md#answer-credential). 404 if the channel or the bot no longer exists, or the bot has left the server;
 * `account_suspended` while the application's owner is suspended.
 */
export async function requireAnswerContext(platform: Platform, interaction: BotPlace): Promise<ChannelContext> {
  const bot = (await loadInteractionBot(platform, interaction)) ?? refuse('not_found', { what: 'bot' });
  if (bot.isSuspended) refuse('account_suspended');
  return requireMessageChannel(platform, bot.actor, interaction.channelId);
}
