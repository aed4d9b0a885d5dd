import { ApiError, Client, computePermissions, hasPermissions } from '@parlance/bot';

const bot = new Client();
const forbidden = /\bfree coins\b/i;

bot.on('messageCreate', async ({ id, channelId, content, author }) => {
  if (author.tag === 'bot' || !forbidden.test(content)) return;
  await bot.api.deleteMessage(channelId, id);
  await bot.api.createMessage(channelId, { content: `<@${author.id}>, no advertising here, please.` });
});

const kickOptions = { who: { description: 'Who is removed.', type: 'user', required: true } };
bot.command('kick', { description: 'Removes a member.', options: kickOptions }, async (interaction) => {
  const { serverId, user, options } = interaction;
  const say = (content) => interaction.reply({ content, ephemeral: true });
  if (serverId === null) return say('Use this command in a server.');
  const server = await bot.api.getServer(serverId);
  if (!hasPermissions(computePermissions(server, user), 'Kick Members')) return say('You may not remove members.');
  try {
    await bot.api.kickMember(serverId, options.who);
    return await say('Removed.');
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return say(error.code === 'role_hierarchy' ? 'That member is not below me.' : error.message);
  }
});

await bot.start();
console.log('The bot is online.');
