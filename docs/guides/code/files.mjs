import { Client } from '@parlance/bot';

const bot = new Client();

bot.on('messageCreate', async ({ id, channelId, content, author, attachments }) => {
  if (author.tag === 'bot') return;
  if (content === '!members.csv') {
    const files = [{ name: 'members.csv', data: 'name,joined\nAda,2026-01-31\n' }];
    await bot.api.createMessage(channelId, { content: 'Here is the list.', replyTo: id }, { files });
  }
  for (const { filename, size, url } of attachments) {
    const bytes = await (await fetch(url)).arrayBuffer();
    await bot.api.createMessage(channelId, { content: `${filename}: ${size} bytes, of which I read ${bytes.byteLength}.` });
  }
});

await bot.start();
console.log('The bot is online.');
