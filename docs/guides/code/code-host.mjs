import { Client } from '@parlance/bot';

const bot = new Client();

bot.command('repository', { description: 'Creates a webhook for a repository.' }, async (interaction) => {
  const { url } = await bot.api.createWebhook(interaction.channelId, { name: 'Repository' });
  const content = `Add this webhook to your repository, with an empty secret: ${url}/codehost`;
  await interaction.reply({ content, ephemeral: true });
});

await bot.start();
console.log('The bot is online.');
