import { Client, computePermissions, toPermissionNames } from '@parlance/bot';

const bot = new Client();
const { id: botId } = await bot.api.getMe();

bot.command('can', { description: 'Lists what this bot may do in this channel.' }, async (interaction) => {
  if (interaction.serverId === null) return interaction.reply('Use this command in a server.');
  const server = await bot.api.getServer(interaction.serverId);
  const channel = server.channels.find(({ id }) => id === interaction.channelId);
  const bits = computePermissions(server, { id: botId, roles: server.myRoles }, channel);
  return interaction.reply(toPermissionNames(bits).join(', '));
});

await bot.start();
console.log('The bot is online.');
