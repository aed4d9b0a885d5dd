import { Client } from '@parlance/bot';

const bot = new Client(); // reads PARLANCE_URL and PARLANCE_TOKEN

bot.on('messageCreate', async ({ id, channelId, content }) => {
  if (content === '!ping') await bot.api.createMessage(channelId, { content: 'pong', replyTo: id });
});

bot.command('hello', { description: 'Says hello.' }, (interaction) => interaction.reply(`Hello, ${interaction.user.displayName}!`));

await bot.start();
console.log('The bot is online.');
