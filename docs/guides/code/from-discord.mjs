import { Client } from '@parlance/bot';

const bot = new Client(); // no intents: listeners ask for the events

bot.on('memberAdd', async ({ serverId, member }) => {
  const { channels } = await bot.api.getServer(serverId);
  const channel = channels.find(({ kind }) => kind === 'text');
  if (channel) await bot.api.createMessage(channel.id, { content: `Welcome, <@${member.user.id}>!` });
});

const options = { text: { description: 'What the bot says.', required: true } };
bot.command('say', { description: 'Says something.', options }, async (interaction) => {
  const embeds = [{ title: interaction.user.displayName, description: interaction.options.text, color: 0x2f6f4f }];
  await interaction.reply({ embeds });
});

await bot.start();
console.log('The bot is online.');
