import { ApiError, Client, ConnectionError } from '@parlance/bot';

const bot = new Client();

bot.prefixCommand('!', 'pin', 'Pins the message that this one replies to.', async ({ message, reply }) => {
  if (!message.reply) return reply('Reply to the message that you want to pin.');
  try {
    await bot.api.pinMessage(message.channelId, message.reply.id);
    return await reply('Pinned.');
  } catch (error) {
    if (error instanceof ConnectionError) return console.error('Parlance does not respond.');
    if (!(error instanceof ApiError)) throw error;
    if (error.code === 'missing_permission') return reply(`I lack a permission: ${error.missing.join(', ')}.`);
    if (error.code === 'too_many_pins') return reply('This channel has as many pins as it can have.');
    console.error(error.message, error.requestId);
    return reply('That did not work.');
  }
});

await bot.start();
console.log('The bot is online.');
